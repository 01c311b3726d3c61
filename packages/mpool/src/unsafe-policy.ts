import { NONE } from './descriptor.js';
import type { Growth } from './growth.js';
import { generationOfLease, LEASE } from './lease.js';
import { gotByOf } from './link-word.js';
import type { Policy } from './policy.js';
import type { PoolWords } from './pool-words.js';

/**
 * What a pool does that was not made for several threads: one list, nothing that guards it, and no check at the put.
 *
 * It is here to show the failure: with a put on another thread than the getter's, slots are lost and slots are given
 * out twice, and nothing says so. A put of what is free already does it on one thread.
 *
 * **When not to use it**: always.
 */
export class UnsafePolicy implements Policy {
  readonly #pool: PoolWords;
  readonly #growth: Growth;

  constructor(pool: PoolWords, growth: Growth) {
    this.#pool = pool;
    this.#growth = growth;
  }

  take(): number {
    for (;;) {
      const descriptor = this.#growth.shard.lease(LEASE.held, this.#pool.me.id);
      if (descriptor !== NONE || !this.#growth.grow()) return descriptor;
    }
  }

  give(descriptor: number): boolean {
    const { format, regions, words, me } = this.#pool;
    if (!format.isDescriptor(descriptor)) return false;
    const slot = format.slotOf(descriptor);
    const gotBy = gotByOf(words[regions.links + slot]!);
    const generation = generationOfLease(words[regions.leases + slot]!);
    this.#growth.shard.free(slot, format.next(generation));
    this.#growth.shard.countPut(1, gotBy === me.id ? 0 : 1);
    this.#pool.wakeSleepers();
    return true;
  }

  hasPut(): boolean {
    return false;
  }

  assertMayUse(): void {}

  flush(): void {}

  empty(): void {}
}
