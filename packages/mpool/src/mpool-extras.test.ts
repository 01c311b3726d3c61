import { Segment } from '@heddle/memory';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Mpool } from './mpool.js';

describe('Mpool', () => {
  let segment: Segment;

  beforeEach(() => {
    segment = Segment.create({ byteLength: 2 ** 22 });
  });

  afterEach(() => {
    segment.detach();
  });

  describe('a wait that can lose its point', () => {
    it('ends with what its check throws, when it is woken', async () => {
      const pool = Mpool.create(segment, { name: 'p', elemSize: 8, maxElems: 1 });
      const descriptor = pool.get();
      let pointless = false;
      const check = () => {
        if (pointless) throw new Error('no point');
      };
      const waiting = pool.getAsync({ check });
      pointless = true;
      Mpool.wake(segment, 'p');
      await expect(waiting).rejects.toThrow('no point');
      expect(() => pool.get({ check })).toThrow('no point');
      pool.put(descriptor);
      expect(pool.get({ check })).not.toBe(descriptor);
    });
  });

  it('loses nothing where a wait is aborted as an element comes, and wakes the others', async () => {
    const pool = Mpool.create(segment, { name: 'p', elemSize: 8, maxElems: 1 });
    let descriptor = pool.get();
    for (const abortFirst of [true, false]) {
      for (const turns of [0, 1, 2, 3]) {
        const controller = new AbortController();
        const aborted = pool.getAsync({ signal: controller.signal }).catch((reason) => reason);
        const waiting = pool.getAsync();
        for (let turn = 0; turn < turns; turn++) await Promise.resolve();
        if (abortFirst) controller.abort('enough');
        pool.put(descriptor);
        if (!abortFirst) {
          for (let turn = 0; turn < turns; turn++) await Promise.resolve();
          controller.abort('enough');
        }
        const outcome = await aborted;
        // Where it was quicker than its end it has the element, and the other one waits for it.
        if (outcome !== 'enough') pool.put(outcome);
        descriptor = await waiting;
        expect(pool.audit()).toMatchObject({ outstanding: 1, consistent: true });
      }
    }
    pool.put(descriptor);
    pool.close();
  });

  it('says whether a descriptor is out, in its generation', () => {
    const pool = Mpool.create(segment, { name: 'p', elemSize: 8, maxElems: 1 });
    const first = pool.get();
    expect([pool.isOut(first), pool.isOut(first + 0.5)]).toEqual([true, false]);
    pool.detach(first);
    expect(pool.isOut(first)).toBe(true);
    pool.put(first);
    expect(pool.isOut(first)).toBe(false);
    const second = pool.get();
    expect([pool.isOut(first), pool.isOut(second)]).toEqual([false, true]);
  });

  it('is recovered and woken by name, for who recovers something around it; nothing where there is no such pool', () => {
    const pool = Mpool.create(segment, { name: 'p', elemSize: 8, maxElems: 1 });
    const descriptor = pool.get();
    const dead = { id: segment.thread.id + 1, token: 99 };
    for (const name of ['p', 'q']) {
      Mpool.recover(segment, name, dead);
      Mpool.wake(segment, name);
    }
    // It is not the dead thread's.
    expect(pool.isOut(descriptor)).toBe(true);
    expect(pool.audit()).toMatchObject({ outstanding: 1, recovered: 0 });
  });

  describe('init, cleanup and describe', () => {
    const hooks = {
      init: (bytes: Uint8Array) => bytes.set([7]),
      describe: (bytes: Uint8Array) => `holds ${bytes[0]}`,
    };

    it('prepare each slot once, end it once, and say what it holds', () => {
      let cleaned = 0;
      const cleanup = () => {
        cleaned++;
      };
      const pool = Mpool.create(segment, {
        name: 'p',
        elemSize: 8,
        maxElems: 4,
        elemsPerChunk: 2,
        ...hooks,
        cleanup,
      });
      const descriptor = pool.get();
      expect(pool.bytes(descriptor)[0]).toBe(7);
      pool.bytes(descriptor)[0] = 9;
      expect(pool.report()).toContain('holds 9');
      pool.put(descriptor);
      pool.close();
      pool.close();
      expect(cleaned).toBe(2);
    });

    it('are needed by every thread that may make the pool grow', () => {
      Mpool.create(segment, { name: 'p', elemSize: 8, maxElems: 4, ...hooks });
      // The thread that made it has them already.
      expect(Mpool.open(segment, 'p').bytes(Mpool.open(segment, 'p').get())[0]).toBe(7);
      expect(() => Mpool.create(segment, { name: 'q', elemSize: 8, init: 1 as never })).toThrow(TypeError);
    });

    it('leave nothing behind when init throws', () => {
      const pool = Mpool.create(segment, {
        name: 'p',
        elemSize: 8,
        maxElems: 4,
        init: () => {
          throw new Error('no');
        },
      });
      const { used } = segment.space.usage();
      expect(() => pool.tryGet()).toThrow('no');
      expect(segment.space.usage().used).toBe(used);
      expect(pool.audit()).toMatchObject({ outstanding: 0, slots: 0, consistent: true });
    });
  });

  it('has room for as many as before when chunks were given back', () => {
    // The last chunk has one element, and the next one after it would.
    const pool = Mpool.create(segment, { name: 'p', elemSize: 8, maxElems: 4, elemsPerChunk: 3 });
    for (let round = 0; round < 3; round++) {
      const descriptors: number[] = [];
      expect(pool.getMany(5, descriptors)).toBe(4);
      pool.putMany(descriptors);
      expect(pool.shrink()).toBeGreaterThan(0);
    }
  });

  it.each([
    { elemSize: 100, maxElems: 7 },
    { elemSize: 65_536, maxElems: 300, align: 4096 },
    { elemSize: 3, maxElems: 1000, growFactor: 2, debug: true },
    { elemSize: 1000, maxElems: 500, elemsPerChunk: 1, magazine: 8 },
  ])('makes a segment of its own for %o, with space for all elements', (options) => {
    const pool = Mpool.create(options);
    const descriptors: number[] = [];
    const { capacity } = pool.audit();
    expect(pool.getMany(capacity + 1, descriptors)).toBe(capacity);
    const other = Mpool.from(pool.handle);
    other.putMany(descriptors);
    expect(pool.audit()).toMatchObject({ outstanding: 0, put: capacity });
    other[Symbol.dispose]();
    expect(pool.segment.attached).toBe(true);
    pool[Symbol.dispose]();
    expect(pool.segment.attached).toBe(false);
  });

  it('makes a segment of its own of 64 MiB where it is not said how many elements there are', () => {
    for (const elemSize of [1000, 2 ** 20]) {
      const pool = Mpool.create({ elemSize });
      expect(pool.segment.byteLength).toBeGreaterThanOrEqual(2 ** 26);
      expect(pool.segment.byteLength).toBeLessThan(2 ** 28);
      expect(pool.tryGet()).not.toBeNull();
      pool[Symbol.dispose]();
    }
    expect(() => Mpool.create({ elemSize: 0 })).toThrow(RangeError);
    expect(() => Mpool.create(undefined as never)).toThrow(TypeError);
  });

  it('gets and puts many', () => {
    const pool = Mpool.create(segment, { name: 'p', elemSize: 8, maxElems: 8 });
    const descriptors: number[] = [];
    expect(pool.getMany(5, descriptors)).toBe(5);
    expect(pool.getMany(5, descriptors)).toBe(3);
    expect(new Set(descriptors).size).toBe(8);
    pool.putMany(descriptors);
    expect(pool.audit()).toMatchObject({ got: 8, put: 8, unsent: 0 });
    expect(() => pool.getMany(-1, [])).toThrow(RangeError);
    expect(() => pool.putMany(descriptors)).toThrow(/put already/);
  });

  it('gives leases, which are released once', () => {
    const pool = Mpool.create(segment, { name: 'p', elemSize: 8, maxElems: 1 });
    const lease = pool.lease();
    expect(pool.tryLease()).toBeNull();
    expect(lease.bytes).toBe(lease.bytes);
    lease.release();
    lease[Symbol.dispose]();
    expect(() => lease.bytes).toThrow(/put already/);
    const number = pool.get();
    pool.leaseOf(number).release();
    expect(pool.audit()).toMatchObject({ got: 2, put: 2, refused: 0 });
  });

  it('gives chunks back that nobody uses, and grows again', () => {
    const pool = Mpool.create(segment, { name: 'p', elemSize: 1024, maxElems: 8, elemsPerChunk: 2 });
    const { used } = segment.space.usage();
    const other = Mpool.open(segment, 'p');
    const got: number[] = [];
    pool.getMany(8, got);
    expect(got.map((descriptor) => other.offset(descriptor))).toHaveLength(8);
    expect(pool.shrink()).toBe(0);
    const first = got.shift()!;
    pool.putMany(got);
    const slotsLeft = pool.audit().slots - pool.shrink() / 1024;
    expect(pool.audit()).toMatchObject({ slots: slotsLeft, outstanding: 1, consistent: true });
    pool.put(first);
    pool.shrink();
    expect(segment.space.usage().used).toBe(used);
    expect(pool.audit()).toMatchObject({ slots: 0, capacity: 8, consistent: true });
    // Something else takes the memory, so that the slots come back elsewhere.
    segment.allocate(2048);
    const again: number[] = [];
    expect(pool.getMany(9, again)).toBe(8);
    for (const descriptor of again) {
      expect(other.offset(descriptor)).toBe(pool.offset(descriptor));
      pool.bytes(descriptor).set([descriptor & 0xff]);
    }
    for (const descriptor of again) expect(other.bytes(descriptor)[0]).toBe(descriptor & 0xff);
    expect(() => pool.put(first)).toThrow(/generation/);
    pool.putMany(again);
    expect(pool.audit()).toMatchObject({ outstanding: 0, put: 16, consistent: true });
  });

  it('PF-03 sees what another object of the pool made it grow by, at once', () => {
    const pool = Mpool.create(segment, { name: 'p', elemSize: 64, maxElems: 8, elemsPerChunk: 1 });
    const handle = pool.handle;
    const other = Mpool.from(handle);
    const first = pool.get();
    expect(other.offset(first)).toBe(pool.offset(first));
    const later = [pool.get(), pool.get(), pool.get()];
    for (const descriptor of later) {
      other.bytes(descriptor).set([descriptor & 0xff], 63);
      expect(pool.bytes(descriptor)[63]).toBe(descriptor & 0xff);
      expect(other.bytes(descriptor)).toHaveLength(64);
    }
    expect(other.offset(first)).toBe(pool.offset(first));
    other[Symbol.dispose]();
  });
});
