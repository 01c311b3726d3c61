import { generationOfLease } from './lease.js';
import { mpoolLayout } from './mpool.layout.js';
import { isGuarded, POLICIES } from './policy.js';
import type { PoolWords } from './pool-words.js';
import type { Shard } from './shard.js';

const { everSlots, firstGeneration, policy } = mpoolLayout.offsets;

/**
 * Counts the puts that were done by somebody who died, or was cut short, before it had counted them: at most as many as
 * one lane or one seat holds, each time.
 *
 * Each put, and each slot that comes back from a dead thread, moves a generation on by one. So the sum of all generations
 * is what there was, modulo the number of generations. It is exact where what is missing is less than that: always, with
 * lanes of 128 puts (the default) up to 2^23 slots, and with the longest, of 4096, up to 2^18.
 *
 * All latches must be held. Cost: a load for each slot.
 */
export function countMissedPuts(pool: PoolWords, shards: readonly Shard[]): void {
  // Where no latch holds it, its one thread puts meanwhile, and counts each put by itself.
  if (!isGuarded(POLICIES[pool.words[policy]!])) return;
  const { generationMask } = pool.format;
  const first = pool.words[firstGeneration]!;
  const slots = pool.words[everSlots]!;
  let moved = 0;
  for (let slot = 0; slot < slots; slot++) {
    moved += (generationOfLease(pool.lease(slot)) - first) & generationMask;
  }
  let counted = 0;
  for (const shard of shards) {
    const { put, recovered } = shard.counts();
    counted += put + recovered;
  }
  const generations = generationMask + 1;
  const missing = (((moved - counted) % generations) + generations) % generations;
  if (missing > 0) shards[0]!.countPut(missing, 0);
}
