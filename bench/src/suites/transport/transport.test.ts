import { describe, expect, it } from 'vitest';
import { CannotRunHere, type Comparison, type RoundResult, type Variant } from '../../core/suite.js';
import { ThreadGroup } from '../../core/thread-group.js';
import suite from '../transport.suite.js';

const pinning = { available: false, detail: 'a test', cores: [] };
const comparisons = suite.comparisons({ cores: 2 });

/** Two short rounds; null where the variant cannot run here. */
async function play(comparison: Comparison, variant: Variant): Promise<RoundResult[] | null> {
  try {
    const runner =
      'open' in variant ? await variant.open([]) : await ThreadGroup.open(comparison, variant, pinning);
    try {
      return [await runner.round(2), await runner.round(10)];
    } finally {
      await runner.close();
    }
  } catch (error) {
    if (error instanceof CannotRunHere) return null;
    throw error;
  }
}

const named = (prefix: string) => comparisons.filter(({ name }) => name.startsWith(prefix));
const cases = (prefix: string) =>
  named(prefix).flatMap((comparison) =>
    comparison.variants.map((variant) => ({
      name: `${comparison.name}/${variant.name}`,
      comparison,
      variant,
    })),
  );

/** Messages that the driver sent, and those that its partner got, in each round. */
async function counts(comparison: Comparison, variant: Variant) {
  const rounds = (await play(comparison, variant)) ?? [];
  for (const { work, driving } of rounds) {
    expect(driving.slice(0, 2)).toEqual([true, false]);
    expect(work[0]).toBeGreaterThan(0);
  }
  return rounds.map(({ work }) => ({ sent: work[0]!, got: work[1]! }));
}

describe('the targets', () => {
  it('are judged, in each comparison that has one', () => {
    const aimed = comparisons.filter(({ variants }) =>
      variants.some(({ targets = [] }) => targets.length > 0),
    );
    expect(aimed.map(({ name }) => name)).toEqual([
      'lat-8',
      'rate-8',
      'rate-64',
      'bandwidth-64KiB',
      'bandwidth-1MiB',
      'loan',
      'round-trip-64',
      'event-loop-rate-64',
      'senders',
    ]);
  });
});

describe('messages that come back', () => {
  it.each([...cases('lat-8'), ...cases('loan')])(
    '$name counts both ways',
    async ({ comparison, variant }) => {
      for (const { sent, got } of await counts(comparison, variant)) {
        expect(sent).toBe('open' in variant ? got : 2 * got);
      }
    },
  );

  it.each(cases('round-trip'))('$name counts the pair once', async ({ comparison, variant }) => {
    for (const { sent, got } of await counts(comparison, variant)) expect(got).toBe(sent);
  });
});

describe('messages after each other', () => {
  it.each([...cases('rate-8'), ...cases('bandwidth-64KiB'), ...cases('event-loop-rate')])(
    '$name all arrive',
    async ({ comparison, variant }) => {
      // Of one thread alone.
      if (variant.name === 'copy' || variant.name === 'set') return;
      const rounds = await counts(comparison, variant);
      const sent = rounds.reduce((sum, round) => sum + round.sent, 0);
      const got = rounds.reduce((sum, round) => sum + round.got, 0);
      // Those that are on their way when a round is over are counted in the next one, or not at all.
      if (variant.name.startsWith('post-message')) expect(got).toBeLessThanOrEqual(sent);
      else expect(got).toBe(sent);
    },
  );
});

describe('many senders', () => {
  it.each(cases('senders'))('$name lose nothing, and end their rounds', async ({ comparison, variant }) => {
    const rounds = (await play(comparison, variant)) ?? [];
    const all = rounds.flatMap(({ work, driving }) =>
      work.map((count, index) => (driving[index] ? count : -count)),
    );
    expect(rounds).toHaveLength(2);
    expect(all.reduce((sum, count) => sum + count, 0)).toBe(0);
  });
});
