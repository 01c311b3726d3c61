import { Segment } from '@heddle/memory';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Mpool } from './mpool.js';

describe('the counters of a pool', () => {
  let segment: Segment;

  beforeEach(() => {
    segment = Segment.create({ byteLength: 2 ** 22 });
  });

  afterEach(() => {
    segment.detach();
  });

  it('say what each thread did', () => {
    const pool = Mpool.create(segment, {
      name: 'p',
      elemSize: 8,
      maxElems: 4,
      magazine: 2,
      threads: 1,
      counters: true,
    });
    expect(pool.counters()).toMatchObject({ got: 0, put: 0, peak: 0, threads: [] });
    const descriptors: number[] = [];
    pool.getMany(3, descriptors);
    for (const descriptor of descriptors) pool.put(descriptor);
    pool.put(pool.get());
    expect(() => pool.put(descriptors[0]!)).toThrow(/put already/);
    const row = {
      threadId: segment.thread.id,
      got: 4,
      put: 4,
      putAcrossThreads: 0,
      batches: 2,
      steals: 0,
      waits: 0,
    };
    expect(pool.counters()).toMatchObject({ got: 4, put: 4, batches: 2, peak: 3, threads: [row] });
    expect(pool.audit().put).toBe(4);
  });

  it('count the sleeps of getters', async () => {
    const pool = Mpool.create(segment, { name: 'p', elemSize: 8, maxElems: 1, counters: true });
    const descriptor = pool.get();
    expect(() => pool.get({ timeout: 1 })).toThrow(/in time/);
    const waiting = pool.getAsync();
    pool.put(descriptor);
    await waiting;
    expect(pool.counters()!.waits).toBeGreaterThanOrEqual(2);
    const [holding] = pool.audit().holders;
    expect(holding!.ageMs).toBeGreaterThanOrEqual(0);
    expect(holding!.place).toBeUndefined();
  });

  it('are absent unless they are asked for', () => {
    const pool = Mpool.create(segment, { name: 'p', elemSize: 8 });
    expect(pool.counters()).toBeUndefined();
    pool.get();
    expect(pool.audit().holders[0]).not.toHaveProperty('ageMs');
  });
});
