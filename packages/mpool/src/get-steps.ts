import type { Step, Steps } from '@heddle/memory';
import { NONE, NOT_OPEN } from './descriptor.js';
import type { Policy } from './policy.js';
import type { PoolWords } from './pool-words.js';

/**
 * Getting a slot, and sleeping while there is none: the blocking and the asynchronous form in steps.
 *
 * It takes nothing before it is done, so giving up leaves nothing behind but a mark, which costs one wake.
 */
export class GetSteps implements Steps<number> {
  readonly #pool: PoolWords;
  readonly #policy: Policy;
  readonly #check: (() => void) | undefined;

  /** @param check looks, before each sleep, whether there is still something to wait for; what it throws ends the wait. */
  constructor(pool: PoolWords, policy: Policy, check?: () => void) {
    this.#pool = pool;
    this.#policy = policy;
    this.#check = check;
  }

  /** Done with a descriptor, or with `NOT_OPEN` where the pool was closed or is being closed. */
  begin(): Step<number> {
    const first = this.#policy.take();
    if (first !== NONE) return { done: true, value: first };
    // What this thread keeps back may be what another one that sleeps needs.
    this.#policy.flush();
    this.#policy.countWait?.();
    const expected = this.#pool.announceSleep();
    const second = this.#policy.take();
    if (second !== NONE) return { done: true, value: second };
    if (!this.#pool.isOpen()) return { done: true, value: NOT_OPEN };
    // After the announcement: whoever makes it throw later wakes this thread.
    this.#check?.();
    return { done: false, index: this.#pool.wakeupIndex, expected };
  }

  onWake(): Step<number> {
    return this.begin();
  }

  onTimeout(): Step<number> {
    return { done: true, value: this.#policy.take() };
  }

  onAbort(): void {}
}
