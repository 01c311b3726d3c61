import { HeddleError, Segment } from '@heddle/memory';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Mpool } from './mpool.js';
import { LOCKS, type MpoolOptions } from './pool-options.js';

/** The code and facts of what `action` throws. */
function failure(action: () => unknown): HeddleError {
  try {
    action();
  } catch (error) {
    if (error instanceof HeddleError) return error;
    throw error;
  }
  throw new Error('Nothing was thrown');
}

const VARIANTS: Partial<MpoolOptions>[] = [
  { policy: 'sharded' },
  { policy: 'sharded', exact: true },
  { policy: 'sharded', magazine: 3 },
  { policy: 'sharded', magazine: 3, checked: 'exact' },
  { policy: 'sharded', magazine: 3, debug: true },
  { policy: 'locked', debug: true, counters: true },
  { policy: 'sharded', magazine: 3, counters: true },
  { policy: 'serialized' },
  { policy: 'owner' },
  ...LOCKS.map((lock) => ({ policy: 'locked', lock }) as const),
];

describe.each(VARIANTS)('Mpool of %o', (variant) => {
  let segment: Segment;

  beforeEach(() => {
    segment = Segment.create({ byteLength: 2 ** 22 });
  });

  afterEach(() => {
    segment.detach();
  });

  const poolOf = (options: Partial<MpoolOptions> = {}) =>
    Mpool.create(segment, { name: 'blocks', elemSize: 100, maxElems: 8, ...variant, ...options });

  /** Gets all that there are. */
  const drain = (pool: Mpool) => {
    const got: number[] = [];
    for (let descriptor = pool.tryGet(); descriptor !== null; descriptor = pool.tryGet())
      got.push(descriptor);
    return got;
  };

  it('gets as many different elements as it was made for, then null', () => {
    const pool = poolOf();
    const got = drain(pool);
    expect(got.length).toBeGreaterThanOrEqual(8);
    expect(got.length).toBe(pool.audit().capacity);
    expect(new Set(got.map((descriptor) => pool.offset(descriptor))).size).toBe(got.length);
    expect(pool.tryGet()).toBeNull();
    for (const descriptor of got) pool.put(descriptor);
    expect(drain(pool)).toHaveLength(got.length);
  });

  it('gives each element memory of its own, aligned, and keeps what is written to it', () => {
    const pool = poolOf({ align: 64 });
    const got = Array.from({ length: 8 }, () => pool.get());
    for (const descriptor of got) pool.bytes(descriptor).fill(descriptor & 0xff);
    const offsets = got.map((descriptor) => pool.offset(descriptor)).sort((a, b) => a - b);
    for (const [i, offset] of offsets.entries()) {
      expect(offset % 64).toBe(0);
      if (i > 0) expect(offset - offsets[i - 1]!).toBeGreaterThanOrEqual(100);
    }
    for (const descriptor of got) {
      const bytes = pool.bytes(descriptor);
      expect(bytes).toHaveLength(100);
      expect(bytes.every((byte) => byte === (descriptor & 0xff))).toBe(true);
    }
  });

  it('aligns the byte at alignOffset', () => {
    const pool = poolOf({ align: 256, alignOffset: 20 });
    expect((pool.offset(pool.get()) + 20) % 256).toBe(0);
  });

  it('gives an element out again after it was put, under another number', () => {
    const pool = poolOf({ maxElems: 1 });
    const first = pool.get();
    pool.put(first);
    const second = pool.get();
    expect(second).not.toBe(first);
    expect(pool.offset(second)).toBeGreaterThan(0);
  });

  it('takes no memory for elements before the first is got, then chunk by chunk', () => {
    const pool = poolOf({ elemSize: 1024, maxElems: 63, elemsPerChunk: 16 });
    const { used } = segment.space.usage();
    pool.get();
    expect(segment.space.usage().used - used).toBe(16 * (variant.debug ? 1024 + 2 * 64 : 1024));
    expect(pool.audit()).toMatchObject({ slots: 16, outstanding: 1 });
  });

  it('is exhausted, not broken, when the segment has no more space', () => {
    const pool = poolOf({ elemSize: 2 ** 20, maxElems: 64, elemsPerChunk: 1 });
    const got = [];
    for (let descriptor = pool.tryGet(); descriptor !== null; descriptor = pool.tryGet())
      got.push(descriptor);
    expect(got.length).toBeGreaterThan(1);
    expect(got.length).toBeLessThan(4);
    for (const descriptor of got) pool.put(descriptor);
    expect(pool.audit()).toMatchObject({ outstanding: 0, consistent: true });
  });

  describe('refuses to put', () => {
    it('PL-03 a descriptor twice', () => {
      const pool = poolOf();
      const descriptor = pool.get();
      pool.put(descriptor);
      const error = failure(() => pool.put(descriptor));
      expect(error.code).toBe('ERR_HEDDLE_STALE_DESCRIPTOR');
      expect(error.message).toContain(`${descriptor}`);
      expect(error.message).toContain('put already');
      expect(error.facts).toMatchObject({ pool: 'blocks', descriptor, thread: segment.thread.id });
      expect(pool.audit()).toMatchObject({ outstanding: 0, put: 1, refused: 1, consistent: true });
    });

    it('PL-03 a descriptor whose slot was handed to somebody else, who keeps it', () => {
      const pool = poolOf({ maxElems: 1 });
      const first = pool.get();
      pool.put(first);
      const second = pool.get();
      const error = failure(() => pool.put(first));
      expect(error.code).toBe('ERR_HEDDLE_STALE_DESCRIPTOR');
      expect(error.facts['holder']).toBe(segment.thread.id);
      expect(pool.audit().holders).toMatchObject([
        { descriptor: second, threadId: segment.thread.id, state: 'held', gotBy: segment.thread.id },
      ]);
      pool.put(second);
    });

    it.each([
      -1,
      0.5,
      Number.NaN,
      2 ** 31,
      2 ** 40,
      Infinity,
      '1',
      null,
      undefined,
      {},
      7, // a slot that nobody got
      8, // beyond the slots
      (1 << 3) | 0, // a generation that nobody got
    ])('PL-03 the made-up descriptor %s', (value) => {
      const pool = poolOf({ elemsPerChunk: 1 });
      const descriptor = pool.get();
      const error = failure(() => pool.put(value as number));
      expect(['ERR_HEDDLE_BAD_DESCRIPTOR', 'ERR_HEDDLE_STALE_DESCRIPTOR']).toContain(error.code);
      expect(pool.audit()).toMatchObject({ outstanding: 1, put: 0, consistent: true });
      pool.put(descriptor);
    });
  });

  it('PL-03 refuses the descriptors of another pool', () => {
    const pool = poolOf();
    const other = poolOf({ name: 'other' });
    const mine = drain(pool);
    const theirs = drain(other);
    // The generations of two pools begin at random, so that hardly any two of these are alike.
    for (const descriptor of theirs.filter((number) => !mine.includes(number))) {
      expect(() => pool.put(descriptor)).toThrow(HeddleError);
    }
    expect(theirs.filter((number) => mine.includes(number)).length).toBeLessThan(theirs.length);
    expect(pool.audit().outstanding).toBe(mine.length);
  });

  it('refuses to use what is not out', () => {
    const pool = poolOf();
    const descriptor = pool.get();
    pool.put(descriptor);
    expect(failure(() => pool.bytes(descriptor)).code).toBe('ERR_HEDDLE_STALE_DESCRIPTOR');
    expect(['ERR_HEDDLE_BAD_DESCRIPTOR', 'ERR_HEDDLE_STALE_DESCRIPTOR']).toContain(
      failure(() => pool.offset(3)).code,
    );
  });

  it('is named in JSON, and not written out', () => {
    const pool = poolOf();
    expect(JSON.parse(JSON.stringify(pool))).toEqual({
      name: pool.name,
      segment: { id: segment.id, byteLength: segment.byteLength },
    });
  });

  describe('detach and adopt', () => {
    it('hand a descriptor over once', () => {
      const pool = poolOf();
      const descriptor = pool.get();
      expect(failure(() => pool.adopt(descriptor))).toMatchObject({
        code: 'ERR_HEDDLE_NOT_HOLDER',
        message: expect.stringMatching(/is held by thread \d+\. That thread has to detach it/),
      });
      pool.detach(descriptor);
      expect(pool.audit().holders[0]).toMatchObject({ state: 'detached', threadId: segment.thread.id });
      expect(failure(() => pool.detach(descriptor)).code).toBe('ERR_HEDDLE_NOT_HOLDER');
      pool.adopt(descriptor);
      expect(pool.audit().holders[0]).toMatchObject({ state: 'held' });
      pool.put(descriptor);
    });

    it('do not send a descriptor to a thread that is not attached', () => {
      const pool = poolOf();
      const descriptor = pool.get();
      expect(failure(() => pool.detach(descriptor, 60)).code).toBe('ERR_HEDDLE_WRONG_THREAD');
      expect(pool.audit().holders[0]).toMatchObject({ state: 'held', threadId: segment.thread.id });
      pool.put(descriptor);
    });

    it('let whoever was given a descriptor put it without adopting', () => {
      const pool = poolOf();
      const descriptor = pool.get();
      pool.detach(descriptor, segment.thread.token);
      pool.put(descriptor);
      expect(pool.audit()).toMatchObject({ outstanding: 0, put: 1 });
    });
  });

  it('says when the time is up', async () => {
    const pool = poolOf({ maxElems: 1 });
    drain(pool);
    expect(failure(() => pool.get({ timeout: 0 })).code).toBe('ERR_HEDDLE_TIMED_OUT');
    expect(failure(() => pool.get({ timeout: 5 })).code).toBe('ERR_HEDDLE_TIMED_OUT');
    await expect(pool.getAsync({ timeout: 5 })).rejects.toMatchObject({ code: 'ERR_HEDDLE_TIMED_OUT' });
    expect(() => pool.get({ timeout: Number.NaN })).toThrow(RangeError);
  });

  it('waits on the event loop for a put, and can be aborted', async () => {
    const pool = poolOf({ maxElems: 1 });
    const all = drain(pool);
    const descriptor = all.pop()!;
    const waiting = pool.getAsync();
    const controller = new AbortController();
    const aborted = pool.getAsync({ signal: controller.signal });
    controller.abort('enough');
    await expect(aborted).rejects.toBe('enough');
    pool.put(descriptor);
    pool.put(await waiting);
    for (const other of all) pool.put(other);
    expect(pool.audit()).toMatchObject({ got: all.length + 2, put: all.length + 2, outstanding: 0 });
  });

  describe('close', () => {
    it('refuses while elements are out, and lists them', () => {
      const pool = poolOf();
      const descriptor = pool.get();
      const error = failure(() => pool.close());
      expect(error.code).toBe('ERR_HEDDLE_OUTSTANDING');
      expect(error.facts['holders']).toMatchObject([{ descriptor }]);
      expect(error.message).toContain(`descriptor ${descriptor}`);
      pool.put(descriptor);
      pool.close();
    });

    it('gives memory and name back, once, and is final', async () => {
      // What all pools of a segment share stays.
      poolOf().close();
      const { used } = segment.space.usage();
      const pool = poolOf({ elemSize: 1024 });
      const descriptor = pool.get();
      expect(segment.space.usage().used).toBeGreaterThan(used);
      pool.put(descriptor);
      expect(pool.close()).toEqual({ outstanding: [], usedBy: [] });
      expect(pool.close()).toEqual({ outstanding: [], usedBy: [] });
      expect(segment.space.usage().used).toBe(used);
      expect(segment.directory.find('blocks')).toBeUndefined();
      expect(pool.closed).toBe(true);
      expect(failure(() => pool.tryGet()).code).toBe('ERR_HEDDLE_CLOSED');
      expect(failure(() => pool.get()).code).toBe('ERR_HEDDLE_CLOSED');
      await expect(pool.getAsync()).rejects.toMatchObject({ code: 'ERR_HEDDLE_CLOSED' });
    });

    it('makes a late put harmless', () => {
      const pool = poolOf();
      const descriptor = pool.get();
      pool.put(descriptor);
      pool.close();
      const after = poolOf();
      const again = after.get();
      for (const action of ['put', 'bytes', 'detach', 'adopt'] as const) {
        expect(failure(() => pool[action](descriptor)).code).toBe('ERR_HEDDLE_CLOSED');
      }
      expect(failure(() => pool.report()).code).toBe('ERR_HEDDLE_CLOSED');
      after.put(again);
      expect(after.audit()).toMatchObject({ outstanding: 0, put: 1, refused: 0, consistent: true });
    });
  });

  it('is opened by name and by handle', () => {
    const pool = poolOf();
    const descriptor = pool.get();
    const opened = Mpool.open(segment, 'blocks');
    expect(opened.elemSize).toBe(100);
    opened.put(descriptor);
    const other = Mpool.from(pool.handle);
    expect(other.tryGet()).not.toBeNull();
    other[Symbol.dispose]();
    expect(segment.attached).toBe(true);
    expect(() => Mpool.from({} as never)).toThrow(TypeError);
    expect(failure(() => Mpool.open(segment, 'none')).code).toBe('ERR_HEDDLE_NAME_UNKNOWN');
    expect(failure(() => poolOf()).code).toBe('ERR_HEDDLE_NAME_TAKEN');
  });

  it('reports who holds what as text', () => {
    const pool = poolOf();
    const descriptor = pool.get();
    pool.detach(descriptor, segment.thread.token);
    expect(pool.report()).toContain(
      `outstanding: descriptor ${descriptor}, sent to thread ${segment.thread.id}`,
    );
  });

  it.each([
    [{ elemSize: 0 }, RangeError],
    [{ elemSize: 1.5 }, RangeError],
    [{ elemSize: '8' }, TypeError],
    [{ align: 3 }, RangeError],
    [{ alignOffset: 101 }, RangeError],
    [{ maxElems: 0 }, RangeError],
    [{ maxElems: 2 ** 24 + 1 }, RangeError],
    [{ elemsPerChunk: 0 }, RangeError],
    [{ elemsPerChunk: 9 }, RangeError],
    [{ growFactor: 0.5 }, RangeError],
    [{ growFactor: Number.NaN }, RangeError],
    [{ maxChunkBytes: 100 }, RangeError],
    [{ policy: 'nothing' }, RangeError],
    [{ maxElems: 2 ** 20, elemsPerChunk: 1 }, RangeError],
  ])('refuses to be made with %o', (options, error) => {
    expect(() => poolOf(options as never)).toThrow(error);
    expect(segment.directory.find('blocks')).toBeUndefined();
  });
});
