import type { Steps } from '@heddle/memory';
import type { SlowCounters } from './lock-counters.js';

/** The kinds of mutual exclusion by name, for configuration. */
export const LOCK_KINDS = ['mutex', 'spinlock', 'ticket', 'mcs', 'none'] as const;
export type LockKind = (typeof LOCK_KINDS)[number];

/**
 * How a lock was got. `'owner-died'`: its last owner died with it, or left data behind that nobody has marked
 * consistent since. Each death is told to one owner.
 */
export type LockOutcome = 'acquired' | 'owner-died';

/**
 * Mutual exclusion over words of shared memory: the algorithm without placement, guards and promises.
 *
 * Structures embed it; everybody else uses the class of the same kind, such as `Mutex`. It belongs to one thread,
 * the one whose token it was given; every thread makes its own over the same words. Whoever embeds it calls
 * {@link recover} from the recovery of its own kind.
 */
export interface Lock {
  /** What kind it is, as layouts, handles and errors name it. */
  readonly kind: string;
  /** Where set, it counts there what happens on its slow path. */
  slowCounters?: SlowCounters | undefined;
  /**
   * Takes the lock, blocking.
   *
   * @param timeoutMs milliseconds; absent waits for ever, 0 and negative try once.
   * @throws HeddleError `ERR_HEDDLE_TIMED_OUT`, `ERR_HEDDLE_RELOCK` where this thread has it already,
   *   `ERR_HEDDLE_POISONED`, `ERR_HEDDLE_MUST_NOT_BLOCK` on a thread that must not block, also when it is free.
   */
  lock(timeoutMs?: number): LockOutcome;
  /**
   * Takes the lock if that needs no waiting, else answers null.
   *
   * @throws HeddleError `ERR_HEDDLE_RELOCK`, `ERR_HEDDLE_POISONED`.
   */
  tryLock(): LockOutcome | null;
  /**
   * Gives back what `lock` or `tryLock` took.
   *
   * After `'owner-died'` without {@link markConsistent} it poisons the lock, and everybody gets
   * `ERR_HEDDLE_POISONED` from then on.
   *
   * @throws HeddleError `ERR_HEDDLE_NOT_OWNER` where this thread does not have it, or has it in a task.
   */
  unlock(): void;
  /**
   * Says that the data is in order again after `'owner-died'`. Without effect where nobody died.
   *
   * @throws HeddleError `ERR_HEDDLE_NOT_OWNER`.
   */
  markConsistent(): void;
  /** The steps of a task of this thread that takes the lock; null when its time is up. {@link unlockTask} ends it. */
  taskSteps(): Steps<LockOutcome | null>;
  /** Gives back what a task took; otherwise like {@link unlock}. */
  unlockTask(): void;
  /** Token of the thread that has it now, 0 for nobody. 1 load. */
  owner(): number;
  /**
   * Takes back what a dead thread had, and wakes everyone who sleeps. One thread at a time for a dead thread, as
   * recovery calls it; can be repeated, neither blocks nor throws.
   */
  recover(deadToken: number): void;
}
