import { Segment } from '@heddle/memory';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MpoolSet } from './mpool-set.js';

describe('MpoolSet', () => {
  let segment: Segment;

  beforeEach(() => {
    segment = Segment.create({ byteLength: 2 ** 22 });
  });

  afterEach(() => {
    segment.detach();
  });

  const create = (sizes: readonly number[]) => MpoolSet.create(segment, { name: 'set', sizes, maxElems: 4 });

  it('gives the smallest size that holds a request, and exactly the size that is asked for', () => {
    const set = create([1024, 64, 100]);
    expect(set.pools.map(({ elemSize }) => elemSize)).toEqual([64, 100, 1024]);
    for (const [asked, given] of [
      [0, 64],
      [1, 64],
      [64, 64],
      [65, 100],
      [100, 100],
      [101, 1024],
      [1024, 1024],
    ] as const) {
      expect(set.poolFor(asked).elemSize).toBe(given);
    }
    expect(() => set.poolFor(1025)).toThrow(/1024 bytes, too few for 1025/);
    expect(() => set.poolFor(-1)).toThrow(RangeError);
  });

  it('is opened by name and by handle', () => {
    const descriptor = create([64, 1024]).poolFor(100).get();
    const opened = MpoolSet.open(segment, 'set');
    expect(opened.pools.map(({ elemSize }) => elemSize)).toEqual([64, 1024]);
    opened.poolFor(100).put(descriptor);
    const other = MpoolSet.from(opened.handle);
    expect(other.report()).toContain('"set/1024": 0 outstanding');
    other[Symbol.dispose]();
    expect(() => MpoolSet.open(segment, 'se')).toThrow(/no set of pools named "se"/);
  });

  it('closes all of its pools, and those that it made before it failed', () => {
    expect(() => create([64, 64])).toThrow(RangeError);
    expect(() => create([])).toThrow(RangeError);
    expect(() => create([64, -1])).toThrow(RangeError);
    const set = create([64, 128]);
    set.close();
    expect(set.pools.every((pool) => pool.closed)).toBe(true);
  });
});
