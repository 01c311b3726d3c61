import { realPlatform, Segment } from '@heddle/memory';
import { expect, it } from 'vitest';
import { Mpool } from './mpool.js';
import type { SlotOffsets } from './slot-offsets.js';

/** Atomics that call something after each call. */
function watchedPlatform(after: () => void) {
  const names = Object.getOwnPropertyNames(Atomics) as (keyof Atomics)[];
  const watched = names
    .filter((name) => typeof Atomics[name] === 'function')
    .map((name) => [
      name,
      (...args: never[]) => {
        const result = (Atomics[name] as (...args: never[]) => unknown)(...args);
        after();
        return result;
      },
    ]);
  return { ...realPlatform, atomics: Object.fromEntries(watched) as typeof realPlatform.atomics };
}

/** What a thread knows of where the elements of a pool lie. */
function offsetsOf(pool: Mpool): SlotOffsets {
  return (pool as unknown as { thread: { offsets: SlotOffsets } }).thread.offsets;
}

it('knows where elements lie, whenever it looked while another one gave chunks back and took others (PF-03)', () => {
  const options = { name: 'p', elemSize: 64, maxElems: 4, elemsPerChunk: 1, policy: 'locked' } as const;
  for (let step = 1, last = false; !last; step++) {
    let calls = Number.NEGATIVE_INFINITY;
    let look = () => {};
    const platform = watchedPlatform(() => {
      if (++calls === step) look();
    });
    const segment = Segment.create({ byteLength: 2 ** 20 });
    const pool = Mpool.create(segment, options);
    const other = Mpool.open(Segment.attach(segment.handle, { platform }), 'p');
    const first: number[] = [];
    pool.getMany(4, first);
    pool.putMany(first);
    look = () => offsetsOf(pool).of(3);
    calls = 0;
    other.shrink();
    // So that the slots come back elsewhere.
    segment.allocate(64);
    const again: number[] = [];
    expect(other.getMany(4, again)).toBe(4);
    last = calls < step;
    for (const descriptor of again) expect(pool.offset(descriptor)).toBe(other.offset(descriptor));
    expect(new Set(again.map((descriptor) => pool.offset(descriptor))).size).toBe(4);
    other.segment.detach();
    segment.detach();
  }
});
