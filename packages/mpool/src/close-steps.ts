import type { Step, Steps } from '@heddle/memory';
import type { PoolWords } from './pool-words.js';

/**
 * Closing a pool, and sleeping while something is out: the blocking and the asynchronous form in steps. Others get and
 * put meanwhile; it is closed at the first moment at which nothing is out.
 *
 * It sleeps on the word that getters sleep on: each put that others can see wakes it.
 */
export class CloseSteps implements Steps<boolean> {
  readonly #pool: PoolWords;
  readonly #tryClose: () => boolean;

  /** @param tryClose sends off what this thread keeps back, and closes the pool where nothing is out. */
  constructor(pool: PoolWords, tryClose: () => boolean) {
    this.#pool = pool;
    this.#tryClose = tryClose;
  }

  /** Done with whether it is closed. */
  begin(): Step<boolean> {
    if (this.#tryClose()) return { done: true, value: true };
    const expected = this.#pool.announceSleep();
    if (this.#tryClose()) return { done: true, value: true };
    return { done: false, index: this.#pool.wakeupIndex, expected };
  }

  onWake(): Step<boolean> {
    return this.begin();
  }

  onTimeout(): Step<boolean> {
    return { done: true, value: this.#tryClose() };
  }

  onAbort(): void {}
}
