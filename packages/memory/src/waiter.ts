import { runAsync, type WaitAsyncOptions } from './async-wait.js';
import { assertMayBlock, parkWhile } from './park.js';
import { type Platform, realPlatform } from './platform.js';
import type { Steps } from './steps.js';
import { deadlineAfter, timeoutOf } from './timeout.js';

/** How often a waiter looks before it parks, unless told otherwise. About a microsecond. */
export const DEFAULT_SPINS = 64;

const MAX_SPINS = 65_536;

/** @throws RangeError where it is not a whole number from 0 to 65,536. */
export function assertSpins(spins: number): void {
  if (Number.isInteger(spins) && spins >= 0 && spins <= MAX_SPINS) return;
  throw new RangeError(`"spins" is a whole number from 0 to ${MAX_SPINS}, not ${spins}`);
}

export interface WaitOptions {
  /** Milliseconds. 0 and negative try once, absent and `Infinity` wait for ever, NaN is a RangeError. */
  readonly timeout?: number | undefined;
  /** How often to look before parking: a whole number from 0 to 65,536. Default {@link DEFAULT_SPINS}. */
  readonly spins?: number | undefined;
}

/**
 * Waits for a word to change: spin, then park, or wait on the event loop.
 *
 * A waiter holds no state of its own and is not shared: each thread makes one over the same word.
 *
 * **Stray wakes** never end a wait: every form looks at the word again and keeps its deadline.
 *
 * **Abandoned waits** swallow nothing. A pending `Atomics.waitAsync` cannot be taken back, and would eat the
 * wake of somebody who still waits; so a wait that is given up notifies everyone on the word: its own entry
 * leaves the engine's list at once, even when this thread's event loop does not turn for long, and the others
 * look again and sleep on. All tasks of one thread on one word share one pending `waitAsync`.
 *
 * **Death.** A thread that was woken and died before it acted has eaten a wake; so whoever recovers a thread
 * wakes the words of the structures it scans.
 *
 * **Cost**, in Atomics calls: `wait` 1 load a look, then 1 wait and 1 load a park; `waitAsync` 1 load where the word
 * differs already, else 1 waitAsync (1 load where another task of this thread waits) and 1 load a wake; `wake` 1 notify.
 */
export class Waiter {
  readonly #words: Int32Array;
  readonly #index: number;
  readonly #platform: Platform;

  /** @throws RangeError where `index` is not a word of `words`. */
  constructor(words: Int32Array, index: number, platform: Platform = realPlatform) {
    if (!Number.isSafeInteger(index) || index < 0 || index >= words.length) {
      throw new RangeError(`Word ${index} is outside of the ${words.length} words given`);
    }
    this.#words = words;
    this.#index = index;
    this.#platform = platform;
  }

  /**
   * Blocks while the word is `expected`.
   *
   * @returns true as soon as it differs, false when the time is up.
   * @throws HeddleError `ERR_HEDDLE_MUST_NOT_BLOCK` on a thread that must not block, whatever the word is;
   *   RangeError or TypeError for bad options.
   */
  wait(expected: number, options: WaitOptions = {}): boolean {
    const { atomics } = this.#platform;
    const timeout = timeoutOf(options);
    const { spins = DEFAULT_SPINS } = options;
    const deadline = deadlineAfter(timeout, this.#platform.now);
    assertSpins(spins);
    assertMayBlock(this.#platform);
    const tries = timeout === undefined || timeout > 0 ? spins : 0;
    for (let spin = 0; spin < tries; spin++) {
      if (atomics.load(this.#words, this.#index) !== expected) return true;
      this.#platform.pause();
    }
    return parkWhile(this.#words, this.#index, expected, deadline, this.#platform);
  }

  /**
   * Waits on the event loop while the word is `expected`.
   *
   * @returns a promise of true as soon as it differs, of false when the time is up.
   * @throws (rejects) with `signal.reason` when aborted; HeddleError `ERR_HEDDLE_UNSUPPORTED` where the
   *   engine has no `Atomics.waitAsync`.
   */
  waitAsync(expected: number, options: WaitAsyncOptions = {}): Promise<boolean> {
    return runAsync(
      new WaitWhile(this.#words, this.#index, expected, this.#platform),
      this.#words,
      this.#platform,
      options,
    );
  }

  /** Wakes up to `count` waiters (default all). Returns how many. */
  wake(count = Infinity): number {
    return this.#platform.atomics.notify(this.#words, this.#index, count);
  }
}

/** The steps of waiting for a change. */
class WaitWhile implements Steps<boolean> {
  readonly #words: Int32Array;
  readonly #index: number;
  readonly #expected: number;
  readonly #platform: Platform;

  constructor(words: Int32Array, index: number, expected: number, platform: Platform) {
    this.#words = words;
    this.#index = index;
    this.#expected = expected;
    this.#platform = platform;
  }

  begin() {
    if (this.#changed()) return { done: true, value: true } as const;
    return { done: false, index: this.#index, expected: this.#expected } as const;
  }

  onWake() {
    return this.begin();
  }

  onTimeout() {
    return { done: true, value: this.#changed() } as const;
  }

  onAbort() {}

  #changed(): boolean {
    return this.#platform.atomics.load(this.#words, this.#index) !== this.#expected;
  }
}
