import { runAsync, timeoutOf, type WaitAsyncOptions } from '@heddle/memory';
import type { Lock, LockOutcome } from './lock.js';
import { CountedLock, type LockCounters } from './lock-counters.js';
import { lockTimedOut, notOwnerError } from './lock-errors.js';
import { Guard, type LockGuard } from './lock-guard.js';
import type { LockOrder } from './lock-order.js';
import { OrderedLock } from './ordered-lock.js';
import type { Placement } from './placement.js';
import { SharedObject } from './shared-object.js';
import { TaskQueue } from './task-queue.js';

export interface LockOptions {
  /** Milliseconds. 0 and negative try once, absent and `Infinity` wait for ever, NaN is a RangeError. */
  readonly timeout?: number | undefined;
}

/**
 * Mutual exclusion between threads, and between the tasks of a thread: what all kinds have in common.
 *
 * A lock object belongs to the thread that made it. It is robust: when a thread dies that holds it, the next owner
 * is told by `'owner-died'`; it makes the data good and calls `markConsistent`, or releases without and thereby
 * poisons the lock. Deaths have to be noticed for that: by `segment.watch(worker)` in the parent, or by a janitor
 * (`Segment.create({ janitor: true })`), which the parent needs where it blocks itself.
 *
 * ```ts
 * const mutex = Mutex.create(segment, { name: 'accounts' });
 * mutex.run(() => transfer(10));
 * await mutex.runAsync(async () => transfer(await ask()));
 * ```
 */
export abstract class ExclusiveLock<Core extends Lock = Lock> extends SharedObject {
  /** For structures of this package that work on the lock itself. */
  readonly core: Core;
  /** What stands for this thread in the words of the lock: another number in each segment. */
  readonly token: number;
  /** The core, or what counts or checks in front of it. */
  #front: Lock;
  #counted: CountedLock | undefined;
  readonly #words: Int32Array;
  readonly #queueIndex: number;

  /** @param queueIndex a word that stands for this lock, where several lie in the same words. */
  protected constructor(placement: Placement, core: Core, queueIndex = 0) {
    super(core.kind, placement);
    this.core = core;
    this.token = placement.token;
    this.#front = core;
    this.#words = placement.words;
    this.#queueIndex = queueIndex;
  }

  /**
   * Takes the lock, blocking. Allocates nothing while nobody else has it.
   *
   * @returns `'owner-died'` where the last owner died, else `'acquired'`.
   * @throws HeddleError `ERR_HEDDLE_TIMED_OUT`; `ERR_HEDDLE_RELOCK` where this thread, or one of its tasks, has it
   *   already; `ERR_HEDDLE_POISONED`; `ERR_HEDDLE_MUST_NOT_BLOCK` on a thread that must not block, also when the
   *   lock is free.
   */
  lock(options?: LockOptions): LockOutcome {
    return options === undefined ? this.#front.lock() : this.#front.lock(timeoutOf(options));
  }

  /**
   * Takes the lock if it is free, else answers null. Works on every thread.
   *
   * @throws HeddleError `ERR_HEDDLE_RELOCK`, `ERR_HEDDLE_POISONED`.
   */
  tryLock(): LockOutcome | null {
    return this.#front.tryLock();
  }

  /**
   * Gives back what `lock` or `tryLock` took; what a task took is given back by its guard.
   *
   * @throws HeddleError `ERR_HEDDLE_NOT_OWNER`.
   */
  unlock(): void {
    this.#front.unlock();
  }

  /** Says that the data is in order again after `'owner-died'`. @throws HeddleError `ERR_HEDDLE_NOT_OWNER`. */
  markConsistent(): void {
    this.core.markConsistent();
  }

  /** Takes the lock like {@link lock}, for `using`. */
  guard(options?: LockOptions): LockGuard {
    const outcome = this.lock(options);
    return this.#guard(outcome, () => this.#front.unlock());
  }

  /** Runs `body` with the lock, and releases it also when `body` throws. */
  run<Result>(body: (guard: LockGuard) => Result, options?: LockOptions): Result {
    const guard = this.guard(options);
    try {
      return body(guard);
    } finally {
      guard[Symbol.dispose]();
    }
  }

  /**
   * Takes the lock on the event loop, for the task that calls. Tasks of one thread get it in the order in which
   * they asked; against other threads a task tries again at every release.
   *
   * @throws (rejects) with `signal.reason` when aborted; otherwise as {@link lock}, except that it never blocks, and
   *   that a lock held by another task of this thread is waited for. Nothing is held then.
   */
  async lockAsync(options: WaitAsyncOptions = {}): Promise<LockGuard> {
    return this.#guard(await this.acquireTask(options), () => this.releaseTask());
  }

  /** What {@link lockAsync} does, without the guard: for structures that let go of a lock and take it again. */
  async acquireTask(options: WaitAsyncOptions = {}): Promise<LockOutcome> {
    const outcome = await TaskQueue.over(this.#words, this.#queueIndex).inTurn(
      options,
      this.platform,
      (rest) => runAsync(this.#front.taskSteps(), this.#words, this.platform, rest),
      (result) => result !== null,
    );
    if (outcome === null) throw this.#timedOut(options);
    return outcome;
  }

  /** Gives back what {@link acquireTask} took. */
  releaseTask(): void {
    this.#front.unlockTask();
    TaskQueue.over(this.#words, this.#queueIndex).leave();
  }

  /** Runs `body` with the lock on the event loop, and releases it also when `body` rejects. */
  async runAsync<Result>(
    body: (guard: LockGuard) => Result | PromiseLike<Result>,
    options?: WaitAsyncOptions,
  ): Promise<Result> {
    const guard = await this.lockAsync(options);
    try {
      return await body(guard);
    } finally {
      guard[Symbol.dispose]();
    }
  }

  /**
   * Counts from now on what happens to the lock through this object, so in this thread. The answer goes on counting.
   *
   * Until it is called, it costs nothing; from then on about as much as the lock itself.
   */
  count(): LockCounters {
    if (this.#counted) return this.#counted.counters;
    this.#counted = new CountedLock(this.#front, this.platform);
    this.#front = this.#counted;
    return this.#counted.counters;
  }

  /**
   * For debugging: checks from now on, at each blocking call through this object, that no thread takes it in an order
   * that contradicts others.
   *
   * @throws TypeError where the lock has no name in the segment of `order`.
   */
  checkOrder(order: LockOrder): void {
    if (this.slot === undefined || this.segment !== order.segment) {
      throw new TypeError(
        'The order of a lock is checked by name: create it, and the LockOrder, in one segment',
      );
    }
    this.#front = new OrderedLock(this.#front, order, this.slot + 1);
  }

  /** Whether somebody holds it now. 1 load. */
  get locked(): boolean {
    return this.core.owner() !== 0;
  }

  #guard(outcome: LockOutcome, release: () => void): LockGuard {
    return new Guard(outcome, {
      release,
      markConsistent: () => this.core.markConsistent(),
      released: () => notOwnerError(this.core.kind, this.core.owner(), false),
    });
  }

  #timedOut(options: WaitAsyncOptions): Error {
    return lockTimedOut(this.core.kind, options.timeout, this.core.owner());
  }
}
