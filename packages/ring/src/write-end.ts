import type { Platform, Step } from '@heddle/memory';
import { CLOSED, FLAGS, SLEEPING } from './position.js';
import { closedError } from './ring-errors.js';
import { isClosedSpsc } from './spsc-close.js';
import { spscRingLayout } from './spsc-ring.layout.js';

const { tail, head } = spscRingLayout.offsets;

/**
 * The writing end of a ring between two threads: where to write next, how far there is room, and publishing.
 *
 * **Ownership**: `tail` is moved by this end alone; the reading end and `close` set flags in it. `head` is moved
 * by the reading end; this end sets `sleeping` in it.
 *
 * **Ordering**: W1: plain stores of what is written, before the CAS of `tail` ↔ the load of `tail` before plain
 * reads of it. W2: plain reads, before the exchange of `head` ↔ the load of `head` before it is written over.
 *
 * **Cost**, in Atomics calls: room is known from the last look at `head`: 0, else 1 load. Publishing: 1 CAS, and
 * 1 CAS and 1 notify more where the reader sleeps.
 */
export class WriteEnd {
  /** Of what is written next. Ahead of `tail` by what is not published yet. */
  position: number;
  /** Positions of the whole ring. */
  readonly capacity: number;
  readonly #words: Int32Array;
  readonly #atomics: Platform['atomics'];
  readonly #what: string;
  /** As `tail` says it to the reader. */
  #published: number;
  /** The position up to which there is room, as far as this end knows. */
  #limit: number;

  /**
   * @param capacity positions of the whole ring.
   * @param what it is the end of, for errors.
   */
  constructor(words: Int32Array, capacity: number, platform: Platform, what = 'The ring') {
    this.#words = words;
    this.#atomics = platform.atomics;
    this.#what = what;
    this.capacity = capacity;
    this.#published = platform.atomics.load(words, tail) & ~FLAGS;
    this.position = this.#published;
    // As full as can be: the first look tells.
    this.#limit = this.position;
  }

  /** Whether there is room for so many positions, at most `capacity`. */
  hasRoom(positions: number): boolean {
    if (((this.#limit - this.position - positions) | 0) >= 0) return true;
    this.#see(this.#atomics.load(this.#words, head));
    return ((this.#limit - this.position - positions) | 0) >= 0;
  }

  /** Positions that are free: looks where fewer than so many are known of. */
  roomUpTo(positions: number): number {
    this.hasRoom(positions);
    return (this.#limit - this.position) | 0;
  }

  /**
   * Makes everything before `position` visible to the reader: the one commit of writing.
   *
   * @throws HeddleError `ERR_HEDDLE_CLOSED` where the ring was closed: nothing is published then.
   */
  publish(): void {
    if (!this.tryPublish()) throw closedError(this.#what);
  }

  /** As {@link publish}. @returns false where the ring was closed. */
  tryPublish(): boolean {
    const before = this.#published;
    const next = this.position;
    if (before === next) return true;
    const seen = this.#atomics.compareExchange(this.#words, tail, before, next);
    if (seen !== before && !this.#publishFlagged(seen, next)) return false;
    this.#published = next;
    return true;
  }

  /** The word has flags. Each is set once while the position stays, so this ends after two rounds. */
  #publishFlagged(word: number, next: number): boolean {
    let flagged = word;
    for (;;) {
      if (flagged & CLOSED) return false;
      const seen = this.#atomics.compareExchange(this.#words, tail, flagged, next);
      if (seen === flagged) break;
      flagged = seen;
    }
    this.#atomics.notify(this.#words, tail);
    return true;
  }

  /** Whether the ring is closed. 1 load. */
  get closed(): boolean {
    return isClosedSpsc(this.#words, this.#atomics);
  }

  /** @throws HeddleError `ERR_HEDDLE_CLOSED` where the ring is closed. 1 load. */
  assertOpen(): void {
    if (this.closed) throw closedError(this.#what);
  }

  /**
   * One look for room before a sleep: announces the sleep first, and then looks whether the ring was closed, so
   * that whoever makes room or closes afterwards wakes this end.
   *
   * @returns undefined where there is room, else what to sleep on.
   * @throws HeddleError `ERR_HEDDLE_CLOSED`.
   */
  lookBeforeSleep(positions: number): Step<boolean> | undefined {
    let word = this.#atomics.load(this.#words, head);
    // Each round but the last is one in which the reader moved on: at most as many as there are records.
    for (;;) {
      this.#see(word);
      if (((this.#limit - this.position - positions) | 0) >= 0) return undefined;
      if (word & SLEEPING) break;
      const seen = this.#atomics.compareExchange(this.#words, head, word, word | SLEEPING);
      if (seen === word) {
        word |= SLEEPING;
        break;
      }
      word = seen;
    }
    this.assertOpen();
    return { done: false, index: head, expected: word };
  }

  #see(headWord: number): void {
    this.#limit = ((headWord & ~FLAGS) + this.capacity) | 0;
  }
}
