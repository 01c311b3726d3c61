/**
 * How threads that block for a lock stand in line. Only the first in line contends for the lock itself.
 *
 * A line is one thread's object, for one call at a time. It settles turns, not ownership: the state word of the lock
 * does that. So if a death leaves two threads that both believe to be first, they contend, and nothing is lost.
 */
export interface Line {
  /** Whether this object has a place. */
  readonly inLine: boolean;
  /** What the word of the last {@link waitFor} held. */
  readonly expected: number;
  /** Takes a place at the end, in one step. */
  join(): void;
  /**
   * 0 when this thread is first; else the index of the word that changes from {@link expected} when that may be so.
   *
   * @param sleeps whether it is about to sleep on that word: then who changes it notifies.
   */
  waitFor(sleeps: boolean): number;
  /** Gives the place up, first or not, and wakes who is first then. */
  leave(): void;
  /** Gives up the place, if any, that this thread has kept while it had the lock. */
  leaveAsOwner(): void;
  /** Whether nobody stands in line any more, so that nothing is to be kept for it. */
  isEmpty(): boolean;
  /** Gives up the places of a dead thread, and wakes whom it may have left asleep. */
  recover(deadToken: number): void;
}
