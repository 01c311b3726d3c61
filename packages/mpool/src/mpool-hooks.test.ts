import { Segment } from '@heddle/memory';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Mpool } from './mpool.js';
import type { MpoolOptions } from './pool-options.js';

const MOST = 6;

/** A function that throws at its n-th call, and only then. */
function throwingAt(n: number) {
  let calls = 0;
  return () => {
    if (++calls === n) throw new Error('thrown by a hook');
  };
}

/** Does it; again where a hook throws. Returns how often one did. */
function insist(action: () => void): number {
  for (let thrown = 0; ; thrown++) {
    try {
      action();
      return thrown;
    } catch (error) {
      expect((error as Error).message).toBe('thrown by a hook');
    }
  }
}

describe.each<Partial<MpoolOptions>>([
  { policy: 'sharded', magazine: 2, threads: 1 },
  { policy: 'sharded', magazine: 2, threads: 1, checked: 'exact', counters: true },
  { policy: 'sharded', exact: true },
  { policy: 'locked' },
  { policy: 'locked', lock: 'mutex' },
  { policy: 'serialized' },
  { policy: 'owner', counters: true },
  { policy: 'sharded', magazine: 2, threads: 1, debug: true, counters: true },
  { policy: 'locked', debug: true },
  { policy: 'owner', debug: true },
])('where a function of a pool of %o throws', (variant) => {
  let segment: Segment;
  let used: number;

  const poolOf = (options: Partial<MpoolOptions>) =>
    Mpool.create(segment, {
      name: 'p',
      elemSize: 8,
      maxElems: MOST,
      elemsPerChunk: 2,
      ...variant,
      ...options,
    });

  beforeEach(() => {
    segment = Segment.create({ byteLength: 2 ** 20 });
    poolOf({}).close();
    used = segment.space.usage().used;
  });

  afterEach(() => {
    segment.detach();
  });

  it.each(Array.from({ length: 20 }, (_, i) => i + 1))(
    'at call %d of init, nothing is lost and every element can be got',
    (n) => {
      const pool = poolOf({ init: throwingAt(n) });
      const { capacity } = pool.audit();
      let thrown = 0;
      for (let round = 0; round < 2; round++) {
        const got: number[] = [];
        while (got.length < capacity) {
          thrown += insist(() => got.push(pool.get({ timeout: 0 })));
          expect(pool.audit()).toMatchObject({ outstanding: got.length, consistent: true });
        }
        expect(new Set(got.map((descriptor) => pool.offset(descriptor))).size).toBe(capacity);
        expect(pool.tryGet()).toBeNull();
        for (const descriptor of got) pool.put(descriptor);
      }
      expect(thrown).toBeLessThanOrEqual(1);
      const { put, ...audit } = pool.audit();
      expect(audit).toMatchObject({ outstanding: 0, refused: 0, consistent: true, damage: [] });
      // In debug mode what was got and could not be prepared was put.
      expect(put - 2 * capacity).toBe(variant.debug && n > capacity ? thrown : 0);
      pool.close();
      expect(segment.space.usage().used).toBe(used);
    },
  );

  it.each([1, 2, MOST])('at call %d of cleanup, all others are ended, and the pool is closed', (n) => {
    const throwing = throwingAt(n);
    const ended = new Set<number>();
    const pool = poolOf({
      cleanup: (bytes) => {
        ended.add(bytes.byteOffset);
        throwing();
      },
    });
    const got: number[] = [];
    pool.getMany(MOST, got);
    const offsets = got.map((descriptor) => pool.offset(descriptor));
    pool.putMany(got);
    expect(() => pool.close()).toThrow('thrown by a hook');
    expect([...ended]).toEqual(expect.arrayContaining(offsets));
    expect(pool.closed).toBe(true);
    expect(() => pool.tryGet()).toThrow(/closed/);
    expect(pool.close()).toEqual({ outstanding: [], usedBy: [] });
    expect(segment.space.usage().used).toBe(used);
  });

  it('nothing, but uses or ends the pool in cleanup: all are ended before the memory goes back', () => {
    const pools: Mpool[] = [];
    let ended = 0;
    const cleanup = () => {
      ended++;
      expect(segment.space.usage().used).toBe(before);
      const [pool, other] = pools;
      expect(() => pool!.tryGet()).toThrow(/closed/);
      expect(pool!.close()).toEqual({ outstanding: [], usedBy: [] });
      other![Symbol.dispose]();
      expect(segment.space.usage().used).toBe(before);
    };
    pools.push(poolOf({ cleanup }), Mpool.open(segment, 'p'));
    const got: number[] = [];
    pools[0]!.getMany(MOST, got);
    pools[0]!.putMany(got);
    const before = segment.space.usage().used;
    pools[0]!.close();
    expect(ended).toBeGreaterThanOrEqual(MOST);
    expect(segment.space.usage().used).toBe(used);
  });

  it('in describe, reports go without', () => {
    const pool = poolOf({ describe: throwingAt(1) as () => string });
    const descriptor = pool.get();
    expect(() => pool.close()).toThrow(expect.objectContaining({ code: 'ERR_HEDDLE_OUTSTANDING' }));
    pool.put(descriptor);
    pool.close();
  });

  it('none, but there is no space: nothing is lost', () => {
    const pool = poolOf({ elemSize: 2 ** 17, maxElems: 32 });
    const got: number[] = [];
    pool.getMany(33, got);
    expect(got.length).toBeGreaterThan(0);
    expect(got.length).toBeLessThan(32);
    expect(pool.audit()).toMatchObject({ outstanding: got.length, consistent: true });
    pool.putMany(got);
    const again: number[] = [];
    expect(pool.getMany(33, again)).toBe(got.length);
    pool.putMany(again);
    pool.close();
    expect(segment.space.usage().used).toBe(used);
  });
});
