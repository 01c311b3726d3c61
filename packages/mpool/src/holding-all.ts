import type { Shard } from './shard.js';

/**
 * Does something while no slot moves between a list and a thread. Latches are taken in the order of the shards, by
 * everyone who takes more than one, so that two cannot wait for each other.
 *
 * Cost: 2 Atomics calls a shard; threads that need a latch wait meanwhile.
 */
export function holdingAll<Result>(shards: readonly Shard[], action: () => Result): Result {
  let held = 0;
  try {
    for (const shard of shards) {
      shard.acquire();
      held++;
    }
    return action();
  } finally {
    while (held > 0) shards[--held]!.release();
  }
}
