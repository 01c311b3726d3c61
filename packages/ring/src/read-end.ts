import type { Platform, Step } from '@heddle/memory';
import { CLOSED, FLAGS, SLEEPING } from './position.js';
import { closedError } from './ring-errors.js';
import { isClosedSpsc } from './spsc-close.js';
import { spscRingLayout } from './spsc-ring.layout.js';

const { tail, head, begun } = spscRingLayout.offsets;

/**
 * The reading end of a ring between two threads: where to read next, how far there is something, and giving space
 * back. The pairs of its ordering are those of {@link WriteEnd}.
 *
 * **Ownership**: `head` and `begun` are moved by this end alone; the writing end sets `sleeping` in `head`. This
 * end sets `sleeping` in `tail`.
 *
 * **Death**: `begun` says what the dead reader had begun to read. The next one goes on behind it, so nothing is
 * read twice.
 *
 * **Cost**, in Atomics calls: what is known from the last look at `tail`: 0, else 1 load. Giving back: 1 exchange,
 * and 1 notify more where the writer sleeps.
 */
export class ReadEnd {
  /** Of what is read next. */
  position: number;
  readonly #words: Int32Array;
  readonly #atomics: Platform['atomics'];
  readonly #what: string;
  /** As `head` says it to the writer. */
  #released: number;
  /** Position up to which there is something, as far as this end knows. */
  #tail: number;

  /** @param what it is the end of, for errors. */
  constructor(words: Int32Array, platform: Platform, what = 'The ring') {
    this.#words = words;
    this.#atomics = platform.atomics;
    this.#what = what;
    this.#released = platform.atomics.load(words, head) & ~FLAGS;
    this.#tail = platform.atomics.load(words, tail) & ~FLAGS;
    this.position = this.#released;
  }

  /** Positions from here to behind what the last reader had begun to read: 0 unless it died there. */
  get begunByOthers(): number {
    return Math.max(0, (this.#words[begun]! - this.position) | 0);
  }

  /** Whether there is something to read. */
  hasMore(): boolean {
    return this.position !== this.#tail || this.#look();
  }

  /** Positions that are there to read: looks where fewer than so many are known of. */
  availableUpTo(positions: number): number {
    if (this.available < positions) this.#tail = this.#atomics.load(this.#words, tail) & ~FLAGS;
    return this.available;
  }

  /** Whether the ring is closed. 1 load. */
  get closed(): boolean {
    return isClosedSpsc(this.#words, this.#atomics);
  }

  /** Positions that are there to read, as far as this end knows: a lower bound. */
  get available(): number {
    return (this.#tail - this.position) | 0;
  }

  #look(): boolean {
    const word = this.#atomics.load(this.#words, tail);
    this.#tail = word & ~FLAGS;
    if (this.position !== this.#tail) return true;
    if (word & CLOSED) throw closedError(this.#what);
    return false;
  }

  /**
   * Notes that reading up to `next` begins. Plain: a thread dies between Atomics calls, and who reads this word
   * afterwards learned of the death by one.
   */
  begin(next: number): void {
    this.#words[begun] = next;
  }

  /** Gives the space of everything before `position` back to the writer. */
  release(): void {
    if (this.position === this.#released) return;
    this.#released = this.position;
    if (this.#atomics.exchange(this.#words, head, this.position) & SLEEPING) {
      this.#atomics.notify(this.#words, head);
    }
  }

  /**
   * One look before a sleep: announces it in the word that the writer will change.
   *
   * @param positions how much is waited for.
   * @returns undefined where there is so much to read, else what to sleep on.
   * @throws HeddleError `ERR_HEDDLE_CLOSED` where the ring is closed, and so much does not come any more.
   */
  lookBeforeSleep(positions = 1): Step<boolean> | undefined {
    let word = this.#atomics.load(this.#words, tail);
    // Each round but the last is one in which the writer moved on, or `closed` was set.
    for (;;) {
      this.#tail = word & ~FLAGS;
      if (this.available >= positions) return undefined;
      if (word & CLOSED) throw closedError(this.#what);
      if (word & SLEEPING) return { done: false, index: tail, expected: word };
      const seen = this.#atomics.compareExchange(this.#words, tail, word, word | SLEEPING);
      if (seen === word) return { done: false, index: tail, expected: word | SLEEPING };
      word = seen;
    }
  }
}
