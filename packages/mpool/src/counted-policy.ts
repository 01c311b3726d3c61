import { NONE } from './descriptor.js';
import { gotByOf } from './link-word.js';
import { counterLayout, mpoolLayout } from './mpool.layout.js';
import type { Policy, SlowCounts } from './policy.js';
import { PolicyLayer } from './policy-layer.js';
import type { PoolWords } from './pool-words.js';
import { noteGotAt } from './slot-times.js';
import { addWide } from './wide-word.js';

const { out: outCount, peak } = mpoolLayout.offsets;
const { gotLow, putLow, acrossLow, batchesLow, stealsLow, waitsLow } = counterLayout.offsets;

/**
 * Counts what each thread does, where every thread can read it.
 *
 * **Layout**: a row for each id of a thread, {@link counterLayout}. A thread that has the id of one that ended counts
 * on in its row.
 *
 * **Ownership**: each row by its thread, with plain stores; `out` and `peak` by everyone.
 *
 * **Death** leaves what was counted; `out` may be off by one then, and by each put that is refused late.
 *
 * **Cost**, in Atomics calls, more than the policy within: `take` 1 add, 1 CAS more where a new peak is reached;
 * `give` 1 sub. And a look at the clock for each get.
 *
 * **When not to use it**: where nobody reads it. `audit()` has sums that cost nothing.
 */
export class CountedPolicy extends PolicyLayer {
  readonly #pool: PoolWords;
  readonly #row: number;
  /** Counted in private memory, and not written to the row yet. */
  readonly #slow: SlowCounts = { batches: 0, steals: 0, waits: 0 };

  constructor(inner: Policy, pool: PoolWords) {
    super(inner);
    this.#pool = pool;
    this.#row = pool.regions.counters + pool.me.id * counterLayout.wordCount;
    inner.countSlow?.(this.#slow);
  }

  override take(): number {
    const descriptor = this.inner.take();
    this.#writeSlow();
    if (descriptor === NONE) return NONE;
    const { format, platform, words } = this.#pool;
    addWide(words, this.#row + gotLow, 1);
    noteGotAt(this.#pool, format.slotOf(descriptor));
    this.#notePeak(platform.atomics.add(words, outCount, 1) + 1);
    return descriptor;
  }

  override give(descriptor: number): boolean {
    const { format, me, platform, regions, words } = this.#pool;
    const gotBy = gotByOf(words[regions.links + format.slotOf(descriptor)]!);
    if (!this.inner.give(descriptor)) return false;
    addWide(words, this.#row + putLow, 1);
    if (gotBy !== me.id) addWide(words, this.#row + acrossLow, 1);
    platform.atomics.sub(words, outCount, 1);
    this.#writeSlow();
    return true;
  }

  override flush(): void {
    this.inner.flush();
    this.#writeSlow();
  }

  override empty(): void {
    this.inner.empty();
    this.#writeSlow();
  }

  override countWait(): void {
    this.#slow.waits++;
    this.#writeSlow();
  }

  #notePeak(out: number): void {
    const { atomics } = this.#pool.platform;
    // A hint; the loop ends, since the word only goes up.
    for (let seen = this.#pool.words[peak]!; seen < out; ) {
      const found = atomics.compareExchange(this.#pool.words, peak, seen, out);
      if (found === seen) return;
      seen = found;
    }
  }

  #writeSlow(): void {
    const slow = this.#slow;
    if (slow.batches + slow.steals + slow.waits === 0) return;
    const { words } = this.#pool;
    addWide(words, this.#row + batchesLow, slow.batches);
    addWide(words, this.#row + stealsLow, slow.steals);
    addWide(words, this.#row + waitsLow, slow.waits);
    slow.batches = slow.steals = slow.waits = 0;
  }
}
