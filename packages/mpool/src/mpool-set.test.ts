import { Segment } from '@heddle/memory';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { mpoolLayout } from './mpool.layout.js';
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

  it('detaches once where it is disposed of twice', () => {
    const { handle } = MpoolSet.create(segment, { name: 'messages', sizes: [64] });
    const opened = MpoolSet.from(handle);
    opened[Symbol.dispose]();
    opened[Symbol.dispose]();
    expect(segment.attached).toBe(true);
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

  it('has exact limits: the largest size, names and sizes as pools have them, 32 sizes', () => {
    const sizes = Array.from({ length: 32 }, (_, i) => i + 1);
    expect(create(sizes).poolFor(32).elemSize).toBe(32);
    expect(() => create([...sizes, 33])).toThrow(RangeError);
    expect(() => create([64, 64.5])).toThrow(RangeError);
    expect(() => create([64, '128' as never])).toThrow(TypeError);
    expect(() => create([Number.NaN])).toThrow(RangeError);
    expect(() => create(undefined as never)).toThrow(TypeError);
    expect(() => MpoolSet.create(segment, { name: 'x'.repeat(63), sizes: [1, 2] })).toThrow(RangeError);
    expect(segment.directory.list().filter(({ name }) => name.startsWith('x'))).toEqual([]);
  });

  it('leaves nothing behind where it cannot be made or opened as a whole', () => {
    const first = create([64]);
    first.close();
    const { used } = segment.space.usage();
    const taken = MpoolSet.create(segment, { name: 'set', sizes: [128], maxElems: 4 });
    // The smaller one is made before the name of the larger one is found taken.
    expect(() => create([64, 128])).toThrow(/set\/128/);
    taken.close();
    expect(segment.space.usage().used).toBe(used);
    const init = () => {};
    const set = MpoolSet.create(segment, { name: 'set', sizes: [64, 128], maxElems: 4, init });
    const { handle } = set;
    set[Symbol.dispose]();
    // This thread has the function already; what it opened ends with the set that was opened.
    const opened = MpoolSet.from(handle);
    opened.close();
    expect(segment.space.usage().used).toBe(used);
  });

  it('gives up what it opened where one of its pools cannot be opened', () => {
    const set = create([64, 128]);
    const [small, large] = set.pools;
    const descriptor = large!.get();
    large!.close({ force: true });
    expect(() => MpoolSet.open(segment, 'set')).toThrow(
      expect.objectContaining({ code: 'ERR_HEDDLE_CLOSED' }),
    );
    small![Symbol.dispose]();
    const { byteOffset, byteLength } = segment.openStructure('set/64', mpoolLayout);
    expect(segment.wordsAt(byteOffset, byteLength)[mpoolLayout.offsets.users]).toBe(0);
    large!.put(descriptor);
  });

  it('that some of whose elements are out is closed as far as that goes, and then whole', () => {
    const set = create([64, 128, 256]);
    const descriptor = set.poolFor(128).get();
    expect(() => set.close()).toThrow(expect.objectContaining({ code: 'ERR_HEDDLE_OUTSTANDING' }));
    expect(set.pools.map(({ closed }) => closed)).toEqual([true, false, false]);
    set.poolFor(128).put(descriptor);
    expect(set.close()).toHaveLength(3);
    expect(set.pools.every(({ closed }) => closed)).toBe(true);
    expect(() => MpoolSet.open(segment, 'set')).toThrow(/no set/);
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
