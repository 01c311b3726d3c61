import { describe, expect, it } from 'vitest';
import type { Comparison, ThreadVariant } from '../../core/suite.js';
import { ThreadGroup } from '../../core/thread-group.js';
import { manyWriters } from './many-writers.js';
import { latency, rate } from './two-threads.js';

const pinning = { available: false, detail: 'a test', cores: [] };

/** The work of each thread in two short rounds. */
async function play(comparison: Comparison, variant: ThreadVariant): Promise<number[][]> {
  const group = await ThreadGroup.open(comparison, variant, pinning);
  try {
    return [[...(await group.round(2)).work], [...(await group.round(10)).work]];
  } finally {
    await group.close();
  }
}

const cases = (...comparisons: readonly Comparison[]) =>
  comparisons.flatMap((comparison) =>
    comparison.variants.map((given) => {
      const variant = given as ThreadVariant;
      return { name: `${comparison.name}/${variant.name}`, comparison, variant };
    }),
  );

describe('messages that come back', () => {
  it.each(cases(latency(1024)))('$name counts both ways', async ({ comparison, variant }) => {
    for (const [sent, got] of await play(comparison, variant)) {
      expect(sent).toBe(2 * got!);
      expect(got).toBeGreaterThan(0);
    }
  });
});

describe('messages after each other', () => {
  it.each(cases(rate(8)))('$name all arrive', async ({ comparison, variant }) => {
    for (const [sent, got] of await play(comparison, variant)) {
      expect(sent).toBeGreaterThan(0);
      expect(got).toBe(sent);
    }
  });
});

describe('many writers', () => {
  it.each(cases(manyWriters(3)))(
    '$name lose nothing, and end their rounds',
    async ({ comparison, variant }) => {
      for (const work of await play(comparison, variant)) {
        const [got] = work.splice(-1);
        expect(work).toHaveLength(3);
        expect(work.reduce((sum, written) => sum + written, 0)).toBe(got);
      }
    },
  );
});
