import type { LockOutcome } from './lock.js';

/**
 * A lock that is held, to be released once: by `using`, by {@link release}, or by the end of `run`.
 *
 * It belongs to the call that got it and is neither cloned nor passed to another thread.
 */
export interface LockGuard {
  /** `'owner-died'` where the last owner died: make the data good, and call {@link markConsistent}. */
  readonly outcome: LockOutcome;
  /** Says that the data is in order again. Without effect where nobody died. */
  markConsistent(): void;
  /** @throws HeddleError `ERR_HEDDLE_NOT_OWNER` the second time. */
  release(): void;
  /** Releases, if {@link release} has not been called. */
  [Symbol.dispose](): void;
}

/** A guard over two functions of the lock it belongs to. */
export class Guard implements LockGuard {
  readonly outcome: LockOutcome;
  readonly #release: () => void;
  readonly #markConsistent: () => void;
  readonly #released: () => Error;
  #held = true;

  constructor(
    outcome: LockOutcome,
    actions: {
      readonly release: () => void;
      readonly markConsistent: () => void;
      /** The error for a release too many. */
      readonly released: () => Error;
    },
  ) {
    this.outcome = outcome;
    this.#release = actions.release;
    this.#markConsistent = actions.markConsistent;
    this.#released = actions.released;
  }

  markConsistent(): void {
    if (!this.#held) throw this.#released();
    this.#markConsistent();
  }

  release(): void {
    if (!this.#held) throw this.#released();
    this.#held = false;
    this.#release();
  }

  [Symbol.dispose](): void {
    if (this.#held) this.release();
  }
}
