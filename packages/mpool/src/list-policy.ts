import { NONE } from './descriptor.js';
import { giveNow } from './give-now.js';
import type { Growth } from './growth.js';
import { LEASE } from './lease.js';
import { mpoolLayout } from './mpool.layout.js';
import type { Policy } from './policy.js';
import type { PoolWords } from './pool-words.js';
import type { Shard } from './shard.js';

const { closed } = mpoolLayout.offsets;

/**
 * One free list under one guard: the fix that people first reach for. What it costs depends on the guard.
 *
 * **States**, **ownership**, **death**: those of the one {@link Shard}.
 *
 * **Cost**, in Atomics calls, with a latch where nobody else has it: `take` 2, and 1 load more where the pool is
 * exhausted; `give` 3, and 2 more where somebody sleeps.
 *
 * **When not to use it**: where several threads get and put at once. They take turns.
 */
export class ListPolicy implements Policy {
  readonly #pool: PoolWords;
  readonly #growth: Growth;
  readonly #shard: Shard;
  readonly #shards: readonly Shard[];
  readonly #words: Int32Array;

  constructor(pool: PoolWords, growth: Growth) {
    this.#pool = pool;
    this.#growth = growth;
    this.#shard = growth.shard;
    this.#shards = [growth.shard];
    this.#words = pool.words;
  }

  take(): number {
    for (;;) {
      const descriptor = this.#takeListed();
      // Each turn of this loop finds the pool grown by a chunk, of which there are so many.
      if (descriptor !== NONE || !this.#growth.grow()) return descriptor;
    }
  }

  #takeListed(): number {
    this.#shard.acquire();
    const descriptor = this.#words[closed] === 0 ? this.#shard.lease(LEASE.held, this.#pool.me.id) : NONE;
    this.#shard.release();
    return descriptor;
  }

  give(descriptor: number): boolean {
    return giveNow(this.#pool, this.#shards, descriptor);
  }

  assertMayUse(): void {}

  hasPut(): boolean {
    return false;
  }

  flush(): void {}

  empty(): void {}
}
