import { HeddleError, type Platform } from '@heddle/memory';
import type { Guard } from './guard.js';
import { type IsAlive, isInHurry, stalled } from './latch.js';

/**
 * For callers that promise to come one at a time: finds out where they do not.
 *
 * **Layout**: one word: token of the thread inside, 0 for nobody.
 *
 * **Death** inside leaves its token; the next one repairs.
 *
 * **Cost**, in Atomics calls: `acquire` 1 CAS, `release` 1 exchange.
 *
 * **When not to use it**: where threads may come at the same time. One of them gets an error.
 */
export class OverlapGuard implements Guard {
  readonly #words: Int32Array;
  readonly #index: number;
  readonly #token: number;
  readonly #isAlive: IsAlive;
  readonly #atomics: Platform['atomics'];

  constructor(words: Int32Array, index: number, token: number, isAlive: IsAlive, platform: Platform) {
    this.#words = words;
    this.#index = index;
    this.#token = token;
    this.#isAlive = isAlive;
    this.#atomics = platform.atomics;
  }

  /** @throws HeddleError `ERR_HEDDLE_WRONG_THREAD` where another thread is inside. */
  acquire(repair: () => void): void {
    const inside = this.#atomics.compareExchange(this.#words, this.#index, 0, this.#token);
    if (inside === 0) return;
    const died = inside !== this.#token && !this.#isAlive(inside);
    if (died && this.#atomics.compareExchange(this.#words, this.#index, inside, this.#token) === inside) {
      repair();
      return;
    }
    if (isInHurry()) throw stalled(inside);
    throw new HeddleError(
      'ERR_HEDDLE_WRONG_THREAD',
      'Two threads use a pool of policy "serialized" at the same time: let them take turns, or choose policy "sharded"',
      { inside, thread: this.#token },
    );
  }

  release(): void {
    this.#atomics.exchange(this.#words, this.#index, 0);
  }

  recover(deadToken: number, repair: () => void): void {
    const { me, words } = { me: this.#token, words: this.#words };
    if (this.#atomics.compareExchange(words, this.#index, deadToken, me) !== deadToken) return;
    repair();
    this.release();
  }
}
