import { describe, expect, it } from 'vitest';
import { CannotRunHere, type Comparison, type RoundResult, type Variant } from '../../core/suite.js';
import { ThreadGroup } from '../../core/thread-group.js';
import { allToAll } from './all-to-all.js';
import { elsewhere } from './elsewhere.js';

const pinning = { available: false, detail: 'a test', cores: [] };

/** Two short rounds; null where the variant cannot run here. */
async function play(comparison: Comparison, variant: Variant): Promise<RoundResult[] | null> {
  try {
    const runner =
      'open' in variant ? await variant.open([]) : await ThreadGroup.open(comparison, variant, pinning);
    try {
      return [await runner.round(5), await runner.round(20)];
    } finally {
      await runner.close();
    }
  } catch (error) {
    if (error instanceof CannotRunHere) return null;
    throw error;
  }
}

describe('got here and put there', () => {
  const comparison = elsewhere(32);
  it.each(comparison.variants)('$name puts every element that was got', async (variant) => {
    for (const { work, driving } of (await play(comparison, variant)) ?? []) {
      expect(driving).toEqual([true, false]);
      // Messages may be on their way still when the round is over.
      if (variant.name !== 'new-buffer') expect(work[1]).toBe(work[0]);
      expect(work[0]).toBeGreaterThan(0);
    }
  });
});

describe('all to all', () => {
  const comparison = allToAll(3);
  it.each(comparison.variants)('$name ends its rounds, whoever leaves first', async (variant) => {
    for (const { work } of (await play(comparison, variant)) ?? []) {
      expect(work).toHaveLength(3);
      expect(Math.min(...work)).toBeGreaterThan(0);
    }
  });
});
