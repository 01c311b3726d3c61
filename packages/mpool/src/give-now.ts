import { idOfLease, isHeldIn } from './lease.js';
import { gotByOf } from './link-word.js';
import type { PoolWords } from './pool-words.js';
import type { Shard } from './shard.js';

/** How often a put looks for the latch that governs the slot, while others hand it on. */
const TRIES = 8;

/**
 * Puts one descriptor: checks it under the latch that governs its slot, and frees the slot there.
 *
 * Cost, in Atomics calls: 3 where nobody else has the latch, 2 more where somebody sleeps.
 *
 * @param descriptor any number.
 * @returns false where it is refused. Nothing has changed then.
 */
export function giveNow(pool: PoolWords, shards: readonly Shard[], descriptor: number): boolean {
  const { format, me, regions, words } = pool;
  if (!format.isDescriptor(descriptor)) return false;
  const slot = format.slotOf(descriptor);
  const generation = format.generationOf(descriptor);
  for (let tries = 0; tries < TRIES; tries++) {
    const hint = words[regions.leases + slot]!;
    if (!isHeldIn(hint, generation)) return false;
    const shard = shards[idOfLease(hint) & (shards.length - 1)]!;
    shard.acquire();
    const lease = words[regions.leases + slot]!;
    const governed = isHeldIn(lease, generation) && (idOfLease(lease) & (shards.length - 1)) === shard.number;
    if (governed) {
      const gotBy = gotByOf(words[regions.links + slot]!);
      shard.free(slot, format.next(generation));
      shard.countPut(1, gotBy === me.id ? 0 : 1);
    }
    shard.release();
    if (governed) {
      pool.wakeSleepers();
      return true;
    }
  }
  return false;
}
