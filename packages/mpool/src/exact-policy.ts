import { isHeldIn } from './lease.js';
import type { Policy } from './policy.js';
import { PolicyLayer } from './policy-layer.js';
import type { PoolWords } from './pool-words.js';
import { isPutIn, markOf, putMark } from './put-mark.js';

/** How often a put looks again, while others put the same slot in other generations. */
const TRIES = 8;

/**
 * Refuses a second put at its call, whoever makes it, also while the first one waits in a batch.
 *
 * **Layout**: a mark for each slot: the generation that was put last, and by whom.
 *
 * **One commit**: the CAS of the mark decides between two threads that put one descriptor; the policy within does the
 * put then, and nobody is in its way.
 *
 * **Ordering**: E1: a put reads the mark, then the lease ↔ E2: another one writes the mark, then frees the slot. So
 * where the lease still says held, and the mark has not changed since, nobody has put it.
 *
 * **Death** between the CAS and the put within leaves a mark of the dead on a slot that is held. Recovery takes it
 * back: the put did not happen, as with a death before it.
 *
 * **Cost**, in Atomics calls, more than the policy within: `take` 0, `give` 1 load and 1 CAS.
 *
 * **When not to use it**: where a double put may as well be reported somewhat later, which costs nothing.
 */
export class ExactPolicy extends PolicyLayer {
  protected readonly pool: PoolWords;

  constructor(inner: Policy, pool: PoolWords) {
    super(inner);
    this.pool = pool;
  }

  override give(descriptor: number): boolean {
    this.inner.assertMayUse();
    const { format, me, platform, regions, words } = this.pool;
    if (!format.isDescriptor(descriptor)) return false;
    const slot = format.slotOf(descriptor);
    const generation = format.generationOf(descriptor);
    const at = markOf(this.pool, slot);
    const mine = putMark(generation, me.id);
    for (let tries = 0; tries < TRIES; tries++) {
      const before = platform.atomics.load(words, at); // E1
      if (isPutIn(before, generation)) return false;
      // A hint: whoever changes it after this has marked the slot.
      if (!isHeldIn(words[regions.leases + slot]!, generation)) return false;
      if (platform.atomics.compareExchange(words, at, before, mine) !== before) continue;
      if (this.#giveMarked(descriptor, at, mine)) return true;
    }
    return false;
  }

  /** Takes the mark back where the put did not happen. */
  #giveMarked(descriptor: number, at: number, mine: number): boolean {
    let given = false;
    try {
      given = this.giveMarked(descriptor);
    } finally {
      if (!given) this.pool.platform.atomics.compareExchange(this.pool.words, at, mine, 0);
    }
    return given;
  }

  /** The put, where no other thread can put the same. */
  protected giveMarked(descriptor: number): boolean {
    return this.inner.give(descriptor);
  }

  override hasPut(descriptor: number): boolean {
    const { format, words } = this.pool;
    const mark = words[markOf(this.pool, format.slotOf(descriptor))]!;
    return isPutIn(mark, format.generationOf(descriptor)) || this.inner.hasPut(descriptor);
  }
}
