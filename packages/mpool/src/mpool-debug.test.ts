import { HeddleError, Segment } from '@heddle/memory';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Mpool } from './mpool.js';
import type { MpoolOptions } from './pool-options.js';

function failure(action: () => unknown): HeddleError {
  try {
    action();
  } catch (error) {
    if (error instanceof HeddleError) return error;
    throw error;
  }
  throw new Error('Nothing was thrown');
}

describe('a pool in debug mode', () => {
  let segment: Segment;

  beforeEach(() => {
    segment = Segment.create({ byteLength: 2 ** 22 });
  });

  afterEach(() => {
    segment.detach();
  });

  const poolOf = (options: Partial<MpoolOptions> = {}) =>
    Mpool.create(segment, { name: 'p', elemSize: 100, maxElems: 2, debug: true, ...options });

  it('finds out at the put that bytes behind the element were written', () => {
    const pool = poolOf();
    const descriptor = pool.get();
    segment.bytesAt(pool.offset(descriptor), 101)[100] = 1;
    const error = failure(() => pool.put(descriptor));
    expect(error.code).toBe('ERR_HEDDLE_DAMAGED');
    expect(error.facts).toMatchObject({
      pool: 'p',
      descriptor,
      kind: 'overrun',
      threadId: segment.thread.id,
    });
    expect(error.message).toMatch(/got it at mpool-debug\.test\.[jt]s:\d+:\d+/);
    expect(pool.report()).toContain(`overrun: descriptor ${descriptor}, by thread ${segment.thread.id}`);
    // It was put all the same, and its guard was mended.
    expect(pool.audit()).toMatchObject({ outstanding: 0, put: 1, consistent: true });
    for (let i = 0; i < 4; i++) pool.put(pool.get());
  });

  it('finds out at the put that bytes before the element were written', () => {
    const pool = poolOf({ align: 256, alignOffset: 20 });
    const descriptor = pool.get();
    expect((pool.offset(descriptor) + 20) % 256).toBe(0);
    segment.bytesAt(pool.offset(descriptor) - 1, 1)[0] = 1;
    expect(failure(() => pool.put(descriptor)).facts).toMatchObject({ kind: 'underrun', descriptor });
    expect(pool.audit().damage).toMatchObject([{ kind: 'underrun', descriptor }]);
  });

  it('lets all of the element be written', () => {
    const pool = poolOf();
    const descriptors = [pool.get(), pool.get()];
    for (const descriptor of descriptors) pool.bytes(descriptor).fill(1);
    pool.putMany(descriptors);
    expect(pool.audit()).toMatchObject({ damage: [], outstanding: 0 });
  });

  it('overwrites what was put, and finds out at the next get that it was used after that', () => {
    const pool = poolOf({ maxElems: 1 });
    const first = pool.get();
    const view = pool.bytes(first);
    view.fill(1);
    pool.put(first);
    expect(view).not.toContain(1);
    view[99] = 1;
    const error = failure(() => pool.get());
    expect(error.code).toBe('ERR_HEDDLE_DAMAGED');
    expect(error.facts).toMatchObject({ kind: 'used after put', threadId: segment.thread.id });
    expect(error.message).toMatch(/put it at mpool-debug\.test\.[jt]s:\d+:\d+/);
    expect(pool.audit()).toMatchObject({ outstanding: 0, consistent: true });
    pool.put(pool.get());
    expect(pool.audit().damage).toHaveLength(1);
  });

  it('says since when, and where, an element is out', () => {
    const pool = poolOf();
    const descriptor = pool.lease().descriptor;
    const [holding] = pool.audit().holders;
    expect(holding).toMatchObject({
      descriptor,
      place: expect.stringMatching(/^mpool-debug\.test\.[jt]s:\d+:\d+$/),
    });
    expect(holding!.ageMs).toBeGreaterThanOrEqual(0);
    expect(holding!.ageMs).toBeLessThan(60_000);
    expect(holding!.stack).toContain('mpool-debug.test');
    expect(pool.report()).toMatch(
      /held by thread \d+, got \d+ ms ago at mpool-debug\.test\.[jt]s:\d+:\d+\n +at /,
    );
  });

  it('prepares an element again for each who gets it, since it was overwritten', () => {
    const pool = poolOf({ maxElems: 1, init: (bytes) => bytes.set([7]) });
    for (let i = 0; i < 3; i++) {
      const descriptor = pool.get();
      expect(pool.bytes(descriptor)[0]).toBe(7);
      pool.bytes(descriptor)[0] = 9;
      pool.put(descriptor);
    }
  });

  it('takes memory that came back after it was given away for no damage', () => {
    const pool = poolOf({ elemsPerChunk: 1 });
    pool.putMany([pool.get(), pool.get()]);
    expect(pool.shrink()).toBeGreaterThan(0);
    segment.bytesAt(segment.allocate(4096).byteOffset, 4096).fill(3);
    pool.putMany([pool.get(), pool.get()]);
    expect(pool.audit().damage).toEqual([]);
  });

  it.each([{ debug: 1 }, { checked: 'sometimes' }, { policy: 'unsafe' }, { counters: 'yes' }])(
    'is not made with %o',
    (options) => {
      expect(() => poolOf(options as never)).toThrow(/debug|checked|unsafe|counters/);
    },
  );
});
