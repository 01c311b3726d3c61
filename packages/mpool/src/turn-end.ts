import type { PoolWords } from './pool-words.js';

/**
 * Calls back once, after the present turn of this thread's event loop, without keeping the process alive for it. Not when the thread has detached meanwhile, and recovery has done what was to be done.
 */
export class TurnEnd {
  readonly #pool: PoolWords;
  readonly #callback: () => void;

  constructor(pool: PoolWords, callback: () => void) {
    this.#pool = pool;
    this.#callback = callback;
  }

  /** To be called once before each callback. */
  arm(): void {
    this.#pool.platform.schedule(() => {
      if (this.#pool.isAlive(this.#pool.me.token)) this.#callback();
    }, 0);
  }
}
