import type { HeddleError } from '@heddle/memory';

/**
 * Tells when receivers are done with messages: their handlers have returned, and what they kept was released. Pass it to
 * a send; one may be passed to many. It is a counter, calls a function for each message, and gives a promise, whichever
 * is wanted.
 *
 * Everything of it happens from `progress` of the worker that the endpoint was made from, on the thread that sent; only
 * closing the endpoint ends it at once. Each message that was sent with it ends exactly once: well, or with an error
 * where the receiver closed or died before it was known to be done, or the endpoint was closed.
 *
 * A thread of a worker of thread mode `multi` that dies in a handler is done with that message: nobody repeats it. So is
 * a thread that dies with a lease.
 *
 * **Cost**: a message that asks travels in a slot, however small it is; what tells is that its slot is back in the pool,
 * so who does not ask pays nothing. In Atomics calls: the receiver's pool sends its puts off, and rings, once for all
 * that asked in a batch, and at the release of what was kept: 1 and, what the pool takes, 1 notify where the sender
 * sleeps. The sender looks at 2 words for each that is pending, at each `progress`. One small object is made for each.
 */
export class Completion {
  readonly #onEnd: ((error: HeddleError | undefined) => void) | undefined;
  #pending = 0;
  #done = 0;
  #failed = 0;
  #firstError: HeddleError | undefined;
  #promise: Promise<void> | undefined;
  #settle: (() => void) | undefined;

  /** @param onEnd called once for each message, with an error where it is not known to be done. */
  constructor(onEnd?: (error: HeddleError | undefined) => void) {
    if (onEnd !== undefined && typeof onEnd !== 'function') {
      throw new TypeError('A completion is made with a function, or nothing');
    }
    this.#onEnd = onEnd;
  }

  /** Messages that have not ended. */
  get pending(): number {
    return this.#pending;
  }

  /** Messages that receivers are done with. */
  get done(): number {
    return this.#done;
  }

  /** Messages that ended with an error. */
  get failed(): number {
    return this.#failed;
  }

  /**
   * Resolves when nothing is pending any more. Somebody has to call `progress` meanwhile, or `run`.
   *
   * @throws (rejects) with the first error of any message sent with this so far.
   */
  finished(): Promise<void> {
    if (this.#pending === 0) return this.#firstError ? Promise.reject(this.#firstError) : Promise.resolve();
    this.#promise ??= new Promise((resolve, reject) => {
      this.#settle = () => (this.#firstError ? reject(this.#firstError) : resolve());
    });
    return this.#promise;
  }

  /** For endpoints: a message was sent. */
  began(): void {
    this.#pending++;
  }

  /** For endpoints: a message ended. What the function throws comes through, after everything is counted. */
  ended(error: HeddleError | undefined): void {
    this.#pending--;
    if (error) this.#failed++;
    else this.#done++;
    this.#firstError ??= error;
    if (this.#pending === 0) {
      this.#settle?.();
      this.#settle = undefined;
      this.#promise = undefined;
    }
    this.#onEnd?.(error);
  }
}
