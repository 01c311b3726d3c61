import { assertMayBlock, HeddleError, idOf, type Platform, realPlatform } from '@heddle/memory';
import type { Guard } from './guard.js';

/** Set while somebody may sleep on the latch. Tokens have 24 bits. */
const CONTENDED = 2 ** 24;
const TOKEN_MASK = CONTENDED - 1;

/** How a thread waits for a latch. */
export interface Patience {
  /** How often it looks before it parks. */
  readonly spins: number;
  /** Milliseconds of a sleep after which it looks whether anything has changed. */
  readonly sleepMs: number;
}

export const PATIENCE: Patience = { spins: 100, sleepMs: 3000 };

/** Sleeps in a row after which a latch that did not move is given up. */
const MOST_SLEEPS = 10;
/** The same for who recovers a dead thread: one, of so many milliseconds. */
const HURRIED_SLEEP_MS = 20;
/** How often a thread that must not park looks before it gives up: some milliseconds. */
const SPINS_WITHOUT_PARKING = 100_000;

let hurried = false;

/**
 * Does something in which this thread gives a latch up after some milliseconds, with `ERR_HEDDLE_STALLED`: recovery. Its
 * holder may have died, and it may be this thread's event loop that has to notice.
 */
export function inHurry<Result>(action: () => Result): Result {
  const before = hurried;
  hurried = true;
  try {
    return action();
  } finally {
    hurried = before;
  }
}

export function isInHurry(): boolean {
  return hurried;
}

/** Whether the thread of a token lives. */
export type IsAlive = (token: number) => boolean;

/**
 * A lock for a few dozen instructions, which survives its holder.
 *
 * **Layout**: one word: token of the holder | contended mark.
 *
 * | word                | meaning                                                                             |
 * |---------------------|-------------------------------------------------------------------------------------|
 * | 0                   | free                                                                                |
 * | token               | held                                                                                |
 * | token \| contended  | held, somebody may sleep: the release wakes one                                     |
 *
 * **Ownership**: by CAS from 0, or from the token of a dead thread; released by one exchange.
 *
 * **Ordering**: L1: what is guarded, before the release's exchange ↔ the next acquire's CAS, before what is guarded.
 *
 * **Death** of the holder leaves its token. Whoever comes next takes the word over and is told to repair what the
 * latch guards. One who slept and was woken and died before it came has eaten a wake, so recovery
 * wakes all on every death. Where nobody notices a death, a waiter gives up after 30 seconds in which the word did not
 * change. An error that cut the holder short (the engine may throw one anywhere, when the stack is full) leaves its token
 * likewise: the same thread finds it and repairs.
 *
 * **Cost**, in Atomics calls: `acquire` 1 CAS, `release` 1 exchange, where nobody else is there.
 *
 * **When not to use it**: for anything that a program's own code runs in. It is not fair.
 */
export class Latch implements Guard {
  readonly #words: Int32Array;
  readonly #index: number;
  readonly #token: number;
  readonly #isAlive: IsAlive;
  readonly #platform: Platform;
  readonly #patience: Patience;
  readonly #atomics: Platform['atomics'];

  /**
   * @param index of the latch's word.
   * @param token of this thread.
   */
  constructor(
    words: Int32Array,
    index: number,
    token: number,
    isAlive: IsAlive,
    platform: Platform = realPlatform,
    patience = PATIENCE,
  ) {
    this.#patience = patience;
    this.#words = words;
    this.#index = index;
    this.#token = token;
    this.#isAlive = isAlive;
    this.#platform = platform;
    this.#atomics = platform.atomics;
  }

  /**
   * Takes the latch; waits while a living thread has it.
   *
   * @throws HeddleError `ERR_HEDDLE_MUST_NOT_BLOCK` on a thread that must not block, when some milliseconds of
   *   looking did not help; `ERR_HEDDLE_STALLED` where another thread has it and did not move for 30 seconds. Nothing
   *   has changed then.
   */
  acquire(repair: () => void): void {
    const word = this.#atomics.compareExchange(this.#words, this.#index, 0, this.#token);
    if (word !== 0 && this.#acquireSlow(word)) repair();
  }

  /**
   * @param seen the word as the fast path found it.
   * @returns whether the last holder died in it.
   */
  #acquireSlow(seen: number): boolean {
    const atomics = this.#atomics;
    let left = this.#platform.canBlock() ? this.#patience.spins : SPINS_WITHOUT_PARKING;
    let sleeps = 0;
    let mine = this.#token;
    let word = seen;
    for (;;) {
      if (word === 0) {
        word = atomics.compareExchange(this.#words, this.#index, 0, mine);
        if (word === 0) return false;
      } else if ((word & TOKEN_MASK) === this.#token) {
        // An error cut this thread short.
        if (this.#inherit(word)) return true;
        word = atomics.load(this.#words, this.#index);
      } else if (left > 0) {
        left--;
        this.#platform.pause();
        word = atomics.load(this.#words, this.#index);
      } else if ((word & CONTENDED) === 0) {
        assertMayBlock(this.#platform);
        const before = atomics.compareExchange(this.#words, this.#index, word, word | CONTENDED);
        word = before === word ? word | CONTENDED : before;
      } else if (this.#isAlive(word & TOKEN_MASK)) {
        assertMayBlock(this.#platform);
        if (sleeps === (hurried ? 1 : MOST_SLEEPS)) throw stalled(word & TOKEN_MASK);
        const sleepMs = hurried ? HURRIED_SLEEP_MS : this.#patience.sleepMs;
        const slept = atomics.wait(this.#words, this.#index, word, sleepMs);
        // Whoever lets go of a contended latch wakes somebody: so it did not move in a sleep that lasted to its end.
        sleeps = slept === 'timed-out' ? sleeps + 1 : 0;
        // Others may sleep still: whoever has slept holds the latch as contended.
        mine = this.#token | CONTENDED;
        word = 0;
      } else {
        if (this.#inherit(word)) return true;
        word = atomics.load(this.#words, this.#index);
      }
    }
  }

  recover(deadToken: number, repair: () => void): void {
    for (;;) {
      const word = this.#atomics.load(this.#words, this.#index);
      if ((word & TOKEN_MASK) !== deadToken) break;
      // Fails where a waiter put its mark on the word, or somebody else inherits.
      if (this.#inherit(word)) {
        repair();
        this.release();
        break;
      }
    }
    this.#atomics.notify(this.#words, this.#index);
  }

  #inherit(word: number): boolean {
    const taken = this.#token | CONTENDED;
    return this.#atomics.compareExchange(this.#words, this.#index, word, taken) === word;
  }

  release(): void {
    if (this.#atomics.exchange(this.#words, this.#index, 0) & CONTENDED) {
      this.#atomics.notify(this.#words, this.#index, 1);
    }
  }
}

/** @param token of the thread that has what is waited for, 0 where that is not known. */
export function stalled(token = 0): HeddleError {
  const holder = idOf(token);
  return new HeddleError(
    'ERR_HEDDLE_STALLED',
    `Thread ${holder || 'unknown'} has a latch and did not move for ${hurried ? 'a while' : '30 seconds'}. If it is stopped, let it go on; if it is dead, nobody has noticed: watch workers or have a janitor, or call segment.declareDead with its number from segment.threads()`,
    { holder, token },
  );
}
