import { HeddleError } from '@heddle/memory';
import type { PoolWords } from './pool-words.js';

/**
 * Calls back once, after the present turn of this thread's event loop, without keeping the process alive for it. Not when the thread has detached meanwhile, and recovery has done what was to be done.
 */
export class TurnEnd {
  readonly #pool: PoolWords;
  readonly #callback: () => void;

  /** @param callback may throw `ERR_HEDDLE_MUST_NOT_BLOCK`: then it is for the next time. */
  constructor(pool: PoolWords, callback: () => void) {
    this.#pool = pool;
    this.#callback = callback;
  }

  /** To be called once before each callback. */
  arm(): void {
    this.#pool.platform.schedule(() => {
      if (this.#pool.isAlive(this.#pool.me.token)) this.#callBack();
    }, 0);
  }

  #callBack(): void {
    try {
      this.#callback();
    } catch (error) {
      if (!(error instanceof HeddleError) || error.code !== 'ERR_HEDDLE_MUST_NOT_BLOCK') throw error;
    }
  }
}
