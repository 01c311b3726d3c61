import { type Segment, timeoutOf, type WaitAsyncOptions } from '@heddle/memory';
import { BlockedAttempt } from './blocked-attempt.js';
import type { LockOptions } from './exclusive-lock.js';
import { timedOutError } from './lock-errors.js';
import {
  alonePlacement,
  createPlacement,
  handlePlacement,
  type LockHandle,
  type NameOptions,
  openPlacement,
  type Placement,
  registerRecovery,
} from './placement.js';
import { semaphoreLayout } from './semaphore.layout.js';
import { SharedObject } from './shared-object.js';
import { type Attempt, StateWord } from './state-word.js';
import { waitInTurn } from './waiting.js';
import { SLEEPER, TASKS_WAIT, VALUE_MASK } from './word-flags.js';

const { state, taskGate, most } = semaphoreLayout.offsets;

export interface SemaphoreOptions {
  /** Permits at first: a whole number from 0. */
  readonly permits: number;
  /** Permits that there may be, 1 to 16 777 215, which is the default. More is an error of who releases. */
  readonly most?: number | undefined;
}

/** Taking a permit. */
export const takePermit: Attempt<true> = {
  take: (found) => ((found & VALUE_MASK) > 0 ? found - 1 : undefined),
  result: () => true,
  leavesMore: (taken) => (taken & VALUE_MASK) > 0,
};

/**
 * Permits that threads take and give back; anyone may give one back, whoever took it.
 *
 * **Layout**: `semaphore.layout.ts`. **States** of `state`: the number of free permits; SLEEPER, somebody blocks;
 * TASKS_WAIT, tasks wait. **Invariant**: free permits + permits taken = permits at first + permits added.
 *
 * **Ordering**: S1: the CAS that adds permits, before notify ↔ the look, then the sleep, on `state`. Who was woken
 * and leaves a permit behind wakes the next, so k permits wake k threads although the flag is cleared by the first.
 *
 * **Fairness**: none among those who block, save that they sleep in the order of arrival; tasks of one thread come
 * in the order in which they asked.
 *
 * **Death**: a thread that dies while it waits takes no permit and no wake with it. Permits that a thread had when
 * it died stay taken: a semaphore does not know who has them, since anyone may give them back. Where that matters,
 * note what was taken in your own words and release it in the parent, or take a lock.
 *
 * **One at a time**: two threads that take two permits each, one after the other, may wait for each other with one
 * each. Who needs several holds a `Mutex` while it takes them; taking several in one step would let those who want
 * one pass those who want many for ever.
 *
 * **Cost**, in Atomics calls: `acquire` and `release` 1 load and 1 CAS each while nobody waits.
 */
export class Semaphore extends SharedObject {
  readonly #state: StateWord;
  readonly #most: number;
  readonly #blocked: BlockedAttempt<true>;
  readonly #add: (word: number, count: number) => number;

  /** Makes a small segment of its own, for up to 64 threads. @throws RangeError for bad numbers. */
  constructor(options: SemaphoreOptions | Placement) {
    const placement = 'words' in options ? options : alonePlacement(semaphoreLayout, initialised(options));
    super(semaphoreLayout.kind, placement);
    this.#state = new StateWord(placement.words, state, taskGate, this.platform);
    this.#most = this.#state.atomics.load(placement.words, most);
    this.#blocked = new BlockedAttempt(this.#state, takePermit);
    this.#add = (word, count) => this.#added(word, count);
  }

  /** @throws RangeError for bad numbers; as `segment.createStructure` does. */
  static create(segment: Segment, options: NameOptions & SemaphoreOptions): Semaphore {
    return new Semaphore(createPlacement(segment, semaphoreLayout, options, initialised(options)));
  }

  /** @throws as `segment.openStructure` does. */
  static open(segment: Segment, name: string): Semaphore {
    return new Semaphore(openPlacement(segment, semaphoreLayout, name));
  }

  /** Attaches to the segment of the handle. @throws TypeError where it is none of a semaphore. */
  static from(handle: LockHandle): Semaphore {
    return new Semaphore(handlePlacement(handle, semaphoreLayout));
  }

  /**
   * Takes a permit, blocking.
   *
   * @throws HeddleError `ERR_HEDDLE_TIMED_OUT`; `ERR_HEDDLE_MUST_NOT_BLOCK` on a thread that must not block, also
   *   when there is a permit.
   */
  acquire(options?: LockOptions): void {
    if (this.#blocked.run(timeoutOf(options)) === null) throw this.#timedOut(options);
  }

  /** Takes a permit if there is one. Works on every thread. */
  tryAcquire(): boolean {
    return this.#state.attempt(takePermit) ?? false;
  }

  /** Takes a permit on the event loop. @throws (rejects) with `signal.reason` when aborted; `ERR_HEDDLE_TIMED_OUT`. */
  async acquireAsync(options: WaitAsyncOptions = {}): Promise<void> {
    if ((await waitInTurn(this.#state, takePermit, options)) === null) throw this.#timedOut(options);
  }

  /**
   * Gives back, or adds, permits.
   *
   * @throws RangeError where `count` is not a whole number from 1, or there would be more permits than there may be.
   */
  release(count = 1): void {
    this.#state.wake(this.#state.update(this.#add, undefined, count), count);
  }

  /** Runs `body` with a permit, and gives it back also when `body` throws. */
  run<Result>(body: () => Result, options?: LockOptions): Result {
    this.acquire(options);
    try {
      return body();
    } finally {
      this.release();
    }
  }

  /** Runs `body` with a permit on the event loop, and gives it back also when `body` rejects. */
  async runAsync<Result>(
    body: () => Result | PromiseLike<Result>,
    options?: WaitAsyncOptions,
  ): Promise<Result> {
    await this.acquireAsync(options);
    try {
      return await body();
    } finally {
      this.release();
    }
  }

  /** Permits that are free now. 1 load. */
  get available(): number {
    return this.#state.load() & VALUE_MASK;
  }

  /** Wakes everyone who sleeps, after the death of a thread: it may have been woken and not have acted. */
  recover(): void {
    this.#state.wakeAll();
  }

  #added(word: number, count: number): number {
    const free = word & VALUE_MASK;
    if (Number.isInteger(count) && count >= 1 && free + count <= this.#most) {
      return (word + count) & ~(SLEEPER | TASKS_WAIT);
    }
    throw new RangeError(
      `${count} permits cannot be released: ${free} are free, and there are at most ${this.#most}`,
    );
  }

  #timedOut(options: { readonly timeout?: number | undefined } | undefined): Error {
    return timedOutError('Acquiring a permit', options?.timeout);
  }
}

function initialised({ permits, most: limit = VALUE_MASK }: SemaphoreOptions): (words: Int32Array) => void {
  if (!Number.isInteger(limit) || limit < 1 || limit > VALUE_MASK) {
    throw new RangeError(`A semaphore has at most 1 to ${VALUE_MASK} permits, not ${limit}`);
  }
  if (!Number.isInteger(permits) || permits < 0 || permits > limit) {
    throw new RangeError(`The permits of a semaphore are a whole number from 0 to ${limit}, not ${permits}`);
  }
  return (words) => {
    words[state] = permits;
    words[most] = limit;
  };
}

registerRecovery(semaphoreLayout, import.meta.url, (placement) => new Semaphore(placement));
