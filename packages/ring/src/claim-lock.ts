import type { Platform, Step } from '@heddle/memory';
import { LOCK_CLOSED, LOCK_TOKEN, LOCK_WAITING, mpscRingLayout } from './mpsc-ring.layout.js';
import { closedError } from './ring-errors.js';

const { lock } = mpscRingLayout.offsets;

/** How often a thread looks at a taken lock before it gives up or sleeps. It is held for some ten instructions. */
const LOOKS = 64;

/**
 * The lock under which producers claim room: held for the few instructions between reading the position and moving
 * it, never while a record is written.
 *
 * **States** of its word, by (token, waiting, closed):
 *
 * | token | waiting | closed | meaning |
 * |---|---|---|---|
 * | 0 | 0 | 0 | free |
 * | t | 0 | 0 | held by t |
 * | t | 1 | 0 | held by t, and others sleep on the word, or are about to |
 * | t | 0, 1 | 1 | held by t, which claimed before the close |
 * | 0 | 0 | 1 | closed, and no claim is made any more |
 *
 * `waiting` is never set on a free lock: it is set by CAS on a held one and goes when that is released, by an
 * instruction after which everyone is woken. Whoever loses again sets it again.
 *
 * **Death** of the holder: recovery releases it, when it has seen to the claim.
 *
 * **Cost**, in Atomics calls: acquire 1 CAS, release 1 and.
 */
export class ClaimLock {
  readonly #words: Int32Array;
  readonly #token: number;
  readonly #platform: Platform;
  readonly #atomics: Platform['atomics'];
  readonly #looks: number;

  constructor(words: Int32Array, token: number, platform: Platform, looks = LOOKS) {
    this.#words = words;
    this.#token = token;
    this.#platform = platform;
    this.#atomics = platform.atomics;
    this.#looks = looks;
  }

  /** @returns whether it was taken. @throws HeddleError `ERR_HEDDLE_CLOSED`. */
  tryAcquire(): boolean {
    const seen = this.#atomics.compareExchange(this.#words, lock, 0, this.#token);
    return seen === 0 || this.#acquireTaken(seen);
  }

  #acquireTaken(word: number): boolean {
    let seen = word;
    for (let look = 0; look < this.#looks; look++) {
      if (seen & LOCK_CLOSED) throw closedError('The ring');
      this.#platform.pause();
      seen = this.#atomics.load(this.#words, lock);
      if (seen === 0) {
        seen = this.#atomics.compareExchange(this.#words, lock, 0, this.#token);
        if (seen === 0) return true;
      }
    }
    return false;
  }

  /** @returns whether the ring was closed while the lock was held: then wake who waits for the end. */
  release(): boolean {
    const before = this.#atomics.and(this.#words, lock, LOCK_CLOSED);
    if (before === this.#token) return false;
    if (before & LOCK_WAITING) this.#atomics.notify(this.#words, lock);
    return (before & LOCK_CLOSED) !== 0;
  }

  /** Announces a sleep on a taken lock. @returns undefined where it is free, else what to sleep on. */
  lookBeforeSleep(): Step<boolean> | undefined {
    let word = this.#atomics.load(this.#words, lock);
    // Each round but the last is one in which the lock changed hands.
    for (;;) {
      if (word & LOCK_CLOSED) throw closedError('The ring');
      if ((word & LOCK_TOKEN) === 0) return undefined;
      if (word & LOCK_WAITING) return { done: false, index: lock, expected: word };
      const seen = this.#atomics.compareExchange(this.#words, lock, word, word | LOCK_WAITING);
      if (seen === word) return { done: false, index: lock, expected: word | LOCK_WAITING };
      word = seen;
    }
  }

  /** Whether the ring is closed. 1 load. */
  get closed(): boolean {
    return (this.#atomics.load(this.#words, lock) & LOCK_CLOSED) !== 0;
  }
}
