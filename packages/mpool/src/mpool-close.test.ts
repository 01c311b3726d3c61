import { HeddleError, Segment } from '@heddle/memory';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Mpool } from './mpool.js';
import { mpoolLayout } from './mpool.layout.js';
import type { MpoolOptions } from './pool-options.js';

const outstanding = expect.objectContaining({ code: 'ERR_HEDDLE_OUTSTANDING' });
const closed = expect.objectContaining({ code: 'ERR_HEDDLE_CLOSED' });
const detached = expect.objectContaining({ code: 'ERR_HEDDLE_DETACHED' });

describe.each<Partial<MpoolOptions>>([
  { policy: 'sharded', magazine: 2 },
  { policy: 'locked' },
  { policy: 'owner' },
  { policy: 'sharded', magazine: 2, debug: true, counters: true },
])('a pool of %o is closed', (variant) => {
  let segment: Segment;
  let used: number;

  const poolOf = (options: Partial<MpoolOptions> = {}) =>
    Mpool.create(segment, { name: 'p', elemSize: 64, maxElems: 4, ...variant, ...options });

  beforeEach(() => {
    segment = Segment.create({ byteLength: 2 ** 22 });
    // What all pools of a segment share stays.
    poolOf().close();
    used = segment.space.usage().used;
  });

  afterEach(() => {
    segment.detach();
  });

  const isGone = () => segment.directory.find('p') === undefined && segment.space.usage().used === used;

  it('RC-08 by force while elements are out, which can be put still', () => {
    const pool = poolOf();
    const descriptors = [pool.get(), pool.get()];
    const view = pool.bytes(descriptors[0]!);
    view.fill(7);
    expect(() => pool.close()).toThrow(outstanding);
    const { outstanding: left, usedBy } = pool.close({ force: true });
    expect(left.map(({ descriptor }) => descriptor).sort()).toEqual([...descriptors].sort());
    expect(usedBy).toEqual([]);
    expect(() => pool.tryGet()).toThrow(closed);
    expect(() => poolOf()).toThrow(expect.objectContaining({ code: 'ERR_HEDDLE_NAME_TAKEN' }));
    // Their memory stays as long as they are out.
    segment.allocate(4096);
    expect(pool.bytes(descriptors[0]!)).toEqual(new Uint8Array(64).fill(7));
    for (const descriptor of descriptors) pool.put(descriptor);
    expect(() => pool.tryGet()).toThrow(closed);
    expect(segment.directory.find('p')).toBeUndefined();
    expect(() => pool.put(descriptors[0]!)).toThrow(closed);
    poolOf().close();
  });

  it('by force, and ends those that are not out', () => {
    const ended: number[] = [];
    const pool = poolOf({ elemsPerChunk: 4, cleanup: (bytes) => ended.push(bytes.byteOffset) });
    const offsets = [pool.get(), pool.get(), pool.get()].map((descriptor) => ({
      descriptor,
      offset: pool.offset(descriptor),
    }));
    pool.put(offsets[0]!.descriptor);
    pool.close({ force: true });
    expect(ended).toContain(offsets[0]!.offset);
    expect(ended).not.toContain(offsets[1]!.offset);
  });

  it('when the last element is back, waiting on the event loop', async () => {
    const pool = poolOf();
    const descriptor = pool.get();
    const spare = pool.get();
    const closing = pool.closeAsync();
    pool.put(spare);
    expect(pool.closed).toBe(false);
    const opened = Mpool.open(segment, 'p');
    expect(() => opened.tryGet()).toThrow(closed);
    opened.put(descriptor);
    expect(await closing).toEqual({ outstanding: [], usedBy: [] });
    expect(isGone()).toBe(true);
    expect(await pool.closeAsync()).toEqual({ outstanding: [], usedBy: [] });
  });

  it('not, when the time is up or the wait is aborted', async () => {
    const pool = poolOf();
    const descriptor = pool.get();
    expect(() => pool.close({ wait: 1 })).toThrow(outstanding);
    await expect(pool.closeAsync({ timeout: 1 })).rejects.toEqual(outstanding);
    const controller = new AbortController();
    const closing = pool.closeAsync({ signal: controller.signal });
    controller.abort('enough');
    await expect(closing).rejects.toBe('enough');
    expect(() => pool.close({ wait: Number.NaN })).toThrow(RangeError);
    pool.put(descriptor);
    expect(pool.close({ wait: true })).toEqual({ outstanding: [], usedBy: [] });
    expect(isGone()).toBe(true);
  });

  it('while it is waited for until all is put: getters are refused until the wait is given up', async () => {
    const pool = poolOf({ maxElems: 1, exact: true, ...(variant.magazine && { magazine: 0 }) });
    const descriptor = pool.get();
    const waiting = pool.getAsync();
    const [first, second] = [new AbortController(), new AbortController()];
    const closing = [first, second].map(({ signal }) => pool.closeAsync({ signal }));
    await expect(waiting).rejects.toEqual(closed);
    expect(() => pool.tryGet()).toThrow(closed);
    expect(() => pool.get({ timeout: 0 })).toThrow(/is being closed/);
    expect(pool.audit()).toMatchObject({ outstanding: 1, consistent: true });
    first.abort('enough');
    await expect(closing[0]).rejects.toBe('enough');
    await expect(pool.getAsync()).rejects.toEqual(closed);
    second.abort('enough');
    await expect(closing[1]).rejects.toBe('enough');
    expect(() => pool.close({ wait: 0 })).toThrow(outstanding);
    pool.put(descriptor);
    pool.put(pool.get());
    pool.close();
    expect(isGone()).toBe(true);
  });

  it.each([0, -1])(
    'not with a wait of %d ms while something is out: who waits for an element waits on',
    async (wait) => {
      const pool = poolOf();
      const descriptors: number[] = [];
      for (let got = pool.tryGet(); got !== null; got = pool.tryGet()) descriptors.push(got);
      const waiting = pool.getAsync();
      const { byteOffset } = segment.directory.find('p')!;
      const wakeup = () => segment.words[byteOffset / 4 + mpoolLayout.offsets.wakeup];
      const before = wakeup();
      expect(() => pool.close({ wait })).toThrow(outstanding);
      await expect(pool.closeAsync({ timeout: wait })).rejects.toThrow(outstanding);
      expect(wakeup()).toBe(before);
      pool.put(descriptors.pop()!);
      pool.put(await waiting);
      pool.putMany(descriptors);
      pool.close({ wait });
      expect(isGone()).toBe(true);
    },
  );

  it('by a task of an object that was disposed meanwhile', async () => {
    const pool = poolOf();
    const other = Mpool.open(segment, 'p');
    const descriptor = pool.get();
    const controller = new AbortController();
    const closing = other.closeAsync({ signal: controller.signal });
    other[Symbol.dispose]();
    pool.detach(descriptor);
    pool[Symbol.dispose]();
    controller.abort('enough');
    await expect(closing).rejects.toBe('enough');
    // Nobody uses it.
    const { byteOffset, byteLength } = segment.openStructure('p', mpoolLayout);
    expect(segment.wordsAt(byteOffset, byteLength)[mpoolLayout.offsets.users]).toBe(0);
    const again = Mpool.open(segment, 'p');
    again.put(descriptor);
    again.put(again.get());
    expect(again.close()).toEqual({ outstanding: [], usedBy: [] });
    expect(isGone()).toBe(true);
  });

  it('under tasks that wait for an element, which get an error', async () => {
    const pool = poolOf({ maxElems: 1, exact: true, ...(variant.magazine && { magazine: 0 }) });
    const descriptor = pool.get();
    const waiting = [pool.getAsync(), pool.getAsync({ timeout: 1e6 })];
    pool.close({ force: true });
    await expect(waiting[0]).rejects.toEqual(closed);
    await expect(waiting[1]).rejects.toEqual(closed);
    pool.put(descriptor);
    pool.close();
    expect(isGone()).toBe(true);
  });

  it('for all objects of a thread', () => {
    const pool = poolOf();
    const other = Mpool.open(segment, 'p');
    const third = Mpool.open(segment, 'p');
    third[Symbol.dispose]();
    expect(() => third.tryGet()).toThrow(detached);
    expect(third.closed).toBe(true);
    const descriptor = other.get();
    other.put(descriptor);
    pool.close();
    expect(isGone()).toBe(true);
    expect(() => other.put(descriptor)).toThrow(closed);
    expect(() => other.audit()).toThrow(closed);
    other[Symbol.dispose]();
    other[Symbol.dispose]();
    expect(() => Mpool.open(segment, 'p')).toThrow(HeddleError);
  });

  it('not by the end of its objects, which give the thread up as a user', () => {
    const pool = poolOf();
    const descriptor = pool.get();
    pool[Symbol.dispose]();
    const again = Mpool.open(segment, 'p');
    again.put(descriptor);
    expect(again.audit()).toMatchObject({ outstanding: 0, put: 1, consistent: true });
    again.close();
    expect(isGone()).toBe(true);
  });

  it('10 000 times under other names, in flat memory', () => {
    const kept = Mpool.create(segment, { name: 'kept', elemSize: 8, maxElems: 1 });
    const usages = Array.from({ length: variant.debug ? 1000 : 10_000 }, (_, i) => {
      const pool = poolOf({ name: `p${i}` });
      pool.put(pool.get());
      pool.close();
      return i % 500 === 499 ? segment.space.usage() : undefined;
    }).filter((usage) => usage !== undefined);
    expect(new Set(usages.map((usage) => usage.used + usage.ranges * 2 ** 32)).size).toBe(1);
    expect(segment.directory.list()).toHaveLength(2);
    kept.close();
  });

  it('and its place used for another one, which objects of the first one do not touch', () => {
    const first = poolOf();
    const disposed = Mpool.open(segment, 'p');
    const descriptor = first.get();
    first.put(descriptor);
    disposed[Symbol.dispose]();
    const { slot } = segment.openStructure('p', mpoolLayout);
    first.close();
    const second = Mpool.create(segment, { name: 'p', elemSize: 64, maxElems: 4, ...variant });
    expect(segment.openStructure('p', mpoolLayout).slot).toBe(slot);
    const other = second.get();
    expect(() => first.put(other)).toThrow(closed);
    expect(() => first.tryGet()).toThrow(closed);
    expect(() => disposed.put(other)).toThrow(detached);
    expect(Mpool.open(segment, 'p').audit()).toMatchObject({ outstanding: 1, refused: 0, consistent: true });
    second.put(other);
    second.close();
    expect(isGone()).toBe(true);
  });

  it('after its thread had given it up, and its place used for another one, which the thread can open', () => {
    const pool = poolOf();
    const info = segment.openStructure('p', mpoolLayout);
    pool[Symbol.dispose]();
    // What the last user does, on another thread.
    segment.removeStructure(info);
    const other = poolOf();
    expect(segment.openStructure('p', mpoolLayout).slot).toBe(info.slot);
    other.put(other.get());
    other.close();
    expect(isGone()).toBe(true);
  });

  it('again and again under one name', () => {
    for (let i = 0; i < 20; i++) {
      const pool = poolOf();
      const descriptors: number[] = [];
      pool.getMany(4, descriptors);
      pool.putMany(descriptors);
      pool.close();
    }
    expect(isGone()).toBe(true);
  });
});
