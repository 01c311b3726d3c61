import { Segment } from '@heddle/memory';
import { countingPlatform } from '@heddle/memory/counting';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Mpool } from './mpool.js';
import type { MpoolOptions } from './pool-options.js';

describe('what it costs, in Atomics calls', () => {
  const platform = countingPlatform();
  let segment: Segment;

  beforeEach(() => {
    segment = Segment.create({ byteLength: 2 ** 22, platform });
  });

  afterEach(() => {
    segment.detach();
  });

  const poolOf = (options: Partial<MpoolOptions>) =>
    Mpool.create(segment, { name: 'p', elemSize: 8, maxElems: 64, ...options });

  const costOf = (action: () => unknown) => {
    platform.reset();
    action();
    return platform.counts();
  };

  /** Brings a pool to its usual state: grown, and everything put. */
  const warm = (pool: Mpool) => {
    const got: number[] = [];
    pool.getMany(64, got);
    pool.putMany(got);
    return pool;
  };

  it.each<Partial<MpoolOptions>>([{ policy: 'locked' }, { policy: 'sharded', magazine: 0 }])(
    'of %o: 2 to get, 3 to put',
    (options) => {
      const pool = warm(poolOf(options));
      const got: number[] = [];
      expect(costOf(() => pool.getMany(1, got))).toEqual({
        compareExchange: 1,
        exchange: 1,
      });
      expect(costOf(() => pool.put(got[0]!))).toEqual({ compareExchange: 1, exchange: 1, load: 1 });
    },
  );

  it('of owner: none', () => {
    const pool = warm(poolOf({ policy: 'owner' }));
    const got: number[] = [];
    expect(costOf(() => pool.getMany(2, got))).toEqual({});
    expect(costOf(() => pool.put(got[0]!))).toEqual({});
  });

  it('of sharded: none, and 3 once in as many puts as a magazine holds', () => {
    const pool = warm(poolOf({ policy: 'sharded', magazine: 32, threads: 1 }));
    const held: number[] = [];
    pool.getMany(33, held);
    for (const descriptor of held.splice(0, 32)) pool.put(descriptor);
    const cycle = () => {
      for (let i = 0; i < 32; i++) pool.put(pool.tryGet()!);
    };
    cycle();
    expect(costOf(cycle)).toEqual({ compareExchange: 1, exchange: 1, load: 1 });
  });

  it("of checked: 'exact': 1 load and 1 CAS more to put, none to get", () => {
    const pool = warm(poolOf({ policy: 'sharded', magazine: 32, threads: 1, checked: 'exact' }));
    const held: number[] = [];
    pool.getMany(33, held);
    for (const descriptor of held.splice(0, 32)) pool.put(descriptor);
    const cycle = () => {
      for (let i = 0; i < 32; i++) pool.put(pool.tryGet()!);
    };
    cycle();
    expect(costOf(cycle)).toEqual({ compareExchange: 1 + 32, exchange: 1, load: 1 + 32 });
  });

  it('of counters: 1 add to get, 1 sub to put', () => {
    const pool = warm(poolOf({ policy: 'locked', counters: true }));
    const descriptor = pool.tryGet()!;
    expect(costOf(() => pool.put(descriptor))).toEqual({ compareExchange: 1, exchange: 1, load: 1, sub: 1 });
    expect(costOf(() => pool.tryGet())).toEqual({ compareExchange: 1, exchange: 1, add: 1 });
  });

  it('of detach and adopt: 1 CAS, and loads', () => {
    const pool = warm(poolOf({ policy: 'locked' }));
    const descriptor = pool.tryGet()!;
    pool.offset(descriptor);
    expect(costOf(() => pool.detach(descriptor))).toEqual({ compareExchange: 1 });
    expect(costOf(() => pool.adopt(descriptor))).toEqual({ compareExchange: 1, load: 1 });
    expect(costOf(() => pool.detach(descriptor, segment.thread.token))).toMatchObject({ compareExchange: 1 });
    expect(costOf(() => pool.adopt(descriptor))).toEqual({ compareExchange: 1, load: 1 });
    expect(costOf(() => void pool.offset(descriptor))).toEqual({});
  });
});
