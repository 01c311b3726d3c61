import { assertMayBlock, type Platform, realPlatform } from '@heddle/memory';
import type { Guard } from './guard.js';

/** Set while somebody may sleep on the latch. Tokens have 24 bits. */
const CONTENDED = 2 ** 24;
const TOKEN_MASK = CONTENDED - 1;

/** How often a thread looks before it parks. */
export const LATCH_SPINS = 100;
/** How often a thread that must not park looks before it gives up: some milliseconds. */
const SPINS_WITHOUT_PARKING = 100_000;

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
 * wakes all on every death.
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
  readonly #spins: number;
  readonly #atomics: Platform['atomics'];

  /**
   * @param index of the latch's word.
   * @param token of this thread.
   * @param spins how often to look before parking.
   */
  constructor(
    words: Int32Array,
    index: number,
    token: number,
    isAlive: IsAlive,
    platform: Platform = realPlatform,
    spins = LATCH_SPINS,
  ) {
    this.#spins = spins;
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
   *   looking did not help. Nothing has changed then.
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
    let left = this.#platform.canBlock() ? this.#spins : SPINS_WITHOUT_PARKING;
    let mine = this.#token;
    let word = seen;
    for (;;) {
      if (word === 0) {
        word = atomics.compareExchange(this.#words, this.#index, 0, mine);
        if (word === 0) return false;
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
        atomics.wait(this.#words, this.#index, word);
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
