/**
 * How threads that block for a lock stand in line. Only the first in line contends for the lock itself.
 *
 * A line is one thread's object, for one call at a time. It settles turns, not ownership: the state word of the lock
 * does that. So if a death leaves two threads that both believe to be first, they contend, and nothing is lost.
 */
export interface Line {
  /** Whether this object has a place. */
  readonly inLine: boolean;
  /** Takes a place at the end, in one step. */
  join(): void;
  /** Undefined when this thread is first; else the word that changes when that may be so. */
  waitFor(): { readonly index: number; readonly expected: number } | undefined;
  /** Gives the place up, first or not, and wakes who is first then. */
  leave(): void;
  /** Gives up the place, if any, that this thread has kept while it had the lock. */
  leaveAsOwner(): void;
  /** Whether nobody stands in line any more, so that nothing is to be kept for it. */
  isEmpty(): boolean;
  /** Gives up the places of a dead thread, and wakes whom it may have left asleep. */
  recover(deadToken: number): void;
}

/** How a thread behaves that has to wait for its turn. */
export interface LinePolicy {
  /** Whether a thread looks for the lock for a moment before it joins the line, and so may pass others. */
  readonly looksFirst: boolean;
  /**
   * Whether a thread keeps its place while it has the lock. Then the next one is woken once, when it can have the
   * lock, and RESERVED, which keeps all others out, stays set until the line is empty.
   */
  readonly staysInLine: boolean;
  /** How long the first in line lets others pass, in milliseconds. 0 keeps the lock for the line at once. */
  readonly patienceMs: number;
}
