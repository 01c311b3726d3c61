import {
  assertMayBlock,
  deadlineAfter,
  HeddleError,
  type Segment,
  timeoutOf,
  type WaitAsyncOptions,
} from '@heddle/memory';
import { BlockedAttempt } from './blocked-attempt.js';
import { conditionLayout } from './condition.layout.js';
import type { ExclusiveLock, LockOptions } from './exclusive-lock.js';
import type { LockOutcome } from './lock.js';
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
import { SharedObject } from './shared-object.js';
import { type Attempt, EVERYONE, StateWord } from './state-word.js';
import { waitAsTask } from './waiting.js';
import { SLEEPER, TASKS_WAIT, VALUE_MASK } from './word-flags.js';

const { state, taskGate } = conditionLayout.offsets;

/**
 * How a wait for a condition ended, the lock being held again: `'owner-died'` where an owner of the lock died
 * meanwhile, which the caller now has to deal with, whether or not it was notified.
 */
export type ConditionOutcome = 'notified' | 'timed-out' | 'owner-died';

/** Seeing that it has been notified since. */
export class Notified implements Attempt<true> {
  readonly shared = true;
  readonly #since: number;

  constructor(since: number) {
    this.#since = since;
  }

  take(found: number): number | undefined {
    return (found & VALUE_MASK) !== this.#since ? found : undefined;
  }

  result(): true {
    return true;
  }
}

/**
 * Waiting, under a lock, for something that others change under the same lock.
 *
 * ```ts
 * lock.lock();
 * while (queue.empty) condition.wait(lock);
 * ```
 *
 * A wait may end without a notify, as everywhere: look again, in a loop, or let {@link waitUntil} do so.
 *
 * **Layout**: `condition.layout.ts`. **States** of `state`: the number of notifies; SLEEPER, somebody blocks;
 * TASKS_WAIT, tasks wait.
 *
 * **Ordering**: C1: the number is read and the flag set while the lock is held, before it is released ↔ the change
 * under the lock, then the notify. So a notify between release and sleep counts.
 *
 * **Death** of a waiter, woken or not: recovery counts as a notify to all. Of who notifies, between the change and
 * the notify: the same.
 *
 * **Cost**, in Atomics calls: a notify 1 load where nobody waits, 1 load, 1 CAS and 1 notify else; `wait` 1 `or`,
 * beside what the lock and the sleep cost.
 *
 * **Limit**: a thread that does not run from its last look to its sleep for exactly 2^24 notifies misses them.
 */
export class Condition extends SharedObject {
  readonly #state: StateWord;

  /** Makes a small segment of its own, for up to 64 threads. */
  constructor(placement: Placement = alonePlacement(conditionLayout)) {
    super(conditionLayout.kind, placement);
    this.#state = new StateWord(placement.words, state, taskGate, this.platform);
  }

  /** @throws as `segment.createStructure` does. */
  static create(segment: Segment, options: NameOptions): Condition {
    return new Condition(createPlacement(segment, conditionLayout, options));
  }

  /** @throws as `segment.openStructure` does. */
  static open(segment: Segment, name: string): Condition {
    return new Condition(openPlacement(segment, conditionLayout, name));
  }

  /** Attaches to the segment of the handle. @throws TypeError where it is none of a condition. */
  static from(handle: LockHandle): Condition {
    return new Condition(handlePlacement(handle, conditionLayout));
  }

  /**
   * Releases the lock, blocks until it is notified or the time is up, and takes the lock again, however long that
   * takes.
   *
   * @throws HeddleError `ERR_HEDDLE_NOT_OWNER` where this thread does not hold the lock; `ERR_HEDDLE_RELOCK` where
   *   it holds a recursive one more than once; `ERR_HEDDLE_POISONED` where the lock was poisoned meanwhile, which
   *   is not held then; `ERR_HEDDLE_MUST_NOT_BLOCK`.
   */
  wait(lock: ExclusiveLock, options: LockOptions = {}): ConditionOutcome {
    assertMayBlock(this.platform);
    deadlineAfter(timeoutOf(options), () => 0);
    const seen = this.#announce(SLEEPER);
    this.#release(lock);
    const notified = new BlockedAttempt(this.#state, new Notified(seen)).run(timeoutOf(options));
    return ended(notified, lock.lock());
  }

  /**
   * Waits until `holds()` is true, which is called with the lock held. The lock is held when it returns.
   *
   * @returns `'notified'` when it is true, `'timed-out'` when the time is up before, `'owner-died'` as soon as an
   *   owner of the lock died.
   * @throws as {@link wait}.
   */
  waitUntil(lock: ExclusiveLock, holds: () => boolean, options: LockOptions = {}): ConditionOutcome {
    const deadline = deadlineAfter(timeoutOf(options), this.platform.now);
    let outcome: ConditionOutcome = 'notified';
    while (outcome !== 'owner-died' && !holds()) {
      const timeout = deadline === Infinity ? undefined : deadline - this.platform.now();
      if (timeout !== undefined && timeout <= 0) return 'timed-out';
      outcome = this.wait(lock, { timeout });
    }
    return outcome === 'owner-died' ? outcome : 'notified';
  }

  /**
   * The same on the event loop, for a task that holds the lock through `lockAsync`: its guard stays good.
   *
   * @throws (rejects) with `signal.reason` when aborted, after the lock is held again; otherwise as {@link wait}.
   */
  async waitAsync(lock: ExclusiveLock, options: WaitAsyncOptions = {}): Promise<ConditionOutcome> {
    options.signal?.throwIfAborted();
    deadlineAfter(timeoutOf(options), () => 0);
    const seen = this.announceTask();
    lock.releaseTask();
    let outcome: LockOutcome | undefined;
    let notified: true | null = null;
    try {
      notified = await waitAsTask(this.#state, new Notified(seen), options);
    } finally {
      outcome = await lock.acquireTask();
    }
    return ended(notified, outcome);
  }

  /** Wakes one of those who wait; tasks wake all and look. With or without the lock held. */
  notifyOne(): void {
    this.#notify(1);
  }

  /** Wakes all who wait. */
  notifyAll(): void {
    this.#notify(EVERYONE);
  }

  /** Counts as a notify to all: a dead thread may have eaten one, or not have come to it. */
  recover(): void {
    this.#state.update((word) => (word & ~VALUE_MASK) | ((word + 1) & VALUE_MASK));
    this.#state.wakeAll();
  }

  #notify(sleepers: number): void {
    const found = this.#state.update((word) => {
      if (!(word & (SLEEPER | TASKS_WAIT))) return undefined;
      // Others may go on sleeping after a notify to one.
      return ((word + 1) & VALUE_MASK) | (sleepers === 1 ? word & SLEEPER : 0);
    });
    this.#state.wake(found, sleepers);
  }

  /** For models: what {@link waitAsync} does before it releases the lock. */
  announceTask(): number {
    return this.#announce(TASKS_WAIT);
  }

  /** Says that somebody waits, and returns the number of notifies until now. */
  #announce(flag: number): number {
    return this.#state.atomics.or(this.#state.words, state, flag) & VALUE_MASK;
  }

  #release(lock: ExclusiveLock): void {
    lock.unlock();
    if (lock.core.owner() !== lock.token) return;
    lock.lock();
    throw new HeddleError(
      'ERR_HEDDLE_RELOCK',
      'This thread holds the lock more than once, so that waiting would keep it: release it to once first',
    );
  }
}

function ended(notified: true | null, lock: LockOutcome): ConditionOutcome {
  if (lock === 'owner-died') return lock;
  return notified ? 'notified' : 'timed-out';
}

registerRecovery(conditionLayout, import.meta.url, (placement) => new Condition(placement));
