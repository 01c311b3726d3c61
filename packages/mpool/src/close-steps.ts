import type { Step, Steps } from '@heddle/memory';
import type { PoolWords } from './pool-words.js';

/** What a thread does to close a pool. */
interface Closer {
  /** Sends off what this thread keeps back, and closes the pool; false where something is out, and it is not forced. */
  close(force: boolean): boolean;
  /** From now on nothing is given out. */
  beginClosing(): void;
  /** This thread does not wait any more. */
  endClosing(): void;
}

/**
 * Closing a pool, and sleeping while something is out: the blocking and the asynchronous form in steps. Others put
 * meanwhile, and get nothing; it is closed at the first moment at which nothing is out.
 *
 * It sleeps on the word that getters sleep on: each put that others can see wakes it.
 */
export class CloseSteps implements Steps<boolean> {
  readonly #pool: PoolWords;
  readonly #closer: Closer;
  readonly #mayWait: boolean;
  #waits = false;

  /** @param timeout milliseconds for which it is run: where these are none, it tries once, and refuses nobody. */
  constructor(pool: PoolWords, closer: Closer, timeout?: number) {
    this.#pool = pool;
    this.#closer = closer;
    this.#mayWait = !((timeout ?? Infinity) <= 0);
  }

  /** Done with whether it is closed. */
  begin(): Step<boolean> {
    if (this.#closer.close(false)) return { done: true, value: true };
    if (!this.#mayWait) return { done: true, value: false };
    if (!this.#waits) this.#closer.beginClosing();
    this.#waits = true;
    const expected = this.#pool.announceSleep();
    if (this.#closer.close(false)) return { done: true, value: true };
    return { done: false, index: this.#pool.wakeupIndex, expected };
  }

  onWake(): Step<boolean> {
    return this.begin();
  }

  onTimeout(): Step<boolean> {
    return { done: true, value: this.#closer.close(false) };
  }

  onAbort(): void {}

  /** To be called once, however it ended. */
  end(): void {
    if (this.#waits) this.#closer.endClosing();
    this.#waits = false;
  }
}
