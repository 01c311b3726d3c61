import { HeddleError, Segment } from '@heddle/memory';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Mpool } from './mpool.js';
import type { MpoolOptions } from './pool-options.js';

/** What one step does; `index` chooses among the descriptors that there are. */
const step = fc.record({
  action: fc.constantFrom('get', 'put', 'put again', 'detach', 'adopt', 'flush', 'shrink', 'audit'),
  index: fc.nat(),
});

const variants: Partial<MpoolOptions>[] = [
  { policy: 'sharded', magazine: 2, threads: 1 },
  { policy: 'sharded', magazine: 2, threads: 1, debug: true, counters: true },
  { policy: 'sharded', magazine: 2, threads: 2, checked: 'exact' },
  { policy: 'sharded', exact: true },
  { policy: 'locked' },
  { policy: 'owner' },
];

/** Takes one of a list out, by any number. */
function takeOne(list: number[], index: number): number | undefined {
  return list.splice(index % Math.max(list.length, 1), 1)[0];
}

describe.each(variants)('any sequence of operations on a pool of %o', (variant) => {
  it('does what a list of descriptors does', () => {
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 120 }),
        fc.integer({ min: 1, max: 9 }),
        fc.nat(8),
        (steps, maxElems, more) => {
          const segment = Segment.create({ byteLength: 2 ** 18, maxRanges: 64 });
          try {
            const pool = Mpool.create(segment, {
              name: 'p',
              elemSize: 16,
              maxElems,
              elemsPerChunk: 1 + (more % maxElems),
              ...variant,
            });
            run(pool, steps);
          } finally {
            segment.detach();
          }
        },
      ),
      { numRuns: 60 },
    );
  });
});

function run(pool: Mpool, steps: readonly { action: string; index: number }[]): void {
  const held: number[] = [];
  const detached: number[] = [];
  const past: number[] = [];
  const { capacity } = pool.audit();
  for (const { action, index } of steps) {
    if (action === 'get') {
      const descriptor = pool.tryGet();
      const out = held.length + detached.length;
      if (descriptor === null) {
        expect(out).toBe(capacity);
      } else {
        expect([...held, ...detached, ...past]).not.toContain(descriptor);
        const offsets = [...held].map((other) => pool.offset(other));
        expect(offsets).not.toContain(pool.offset(descriptor));
        held.push(descriptor);
      }
    } else if (action === 'put') {
      const descriptor = takeOne(held, index);
      if (descriptor === undefined) continue;
      pool.put(descriptor);
      past.push(descriptor);
    } else if (action === 'put again') {
      const descriptor = past[index % Math.max(past.length, 1)];
      if (descriptor === undefined) continue;
      expect(() => pool.put(descriptor)).toThrow(HeddleError);
      expect(() => pool.bytes(descriptor)).toThrow(HeddleError);
    } else if (action === 'detach') {
      const descriptor = takeOne(held, index);
      if (descriptor === undefined) continue;
      pool.detach(descriptor);
      detached.push(descriptor);
    } else if (action === 'adopt') {
      const descriptor = takeOne(detached, index);
      if (descriptor === undefined) continue;
      pool.adopt(descriptor);
      held.push(descriptor);
    } else if (action === 'flush') {
      pool.flush();
    } else if (action === 'shrink') {
      pool.shrink();
    } else {
      const audit = pool.audit();
      expect(audit.consistent).toBe(true);
      expect(audit.holders.map(({ descriptor }) => descriptor).sort()).toEqual([...held, ...detached].sort());
      expect(audit.put).toBe(past.length);
    }
  }
  for (const descriptor of [...held, ...detached]) pool.put(descriptor);
  pool.close();
}
