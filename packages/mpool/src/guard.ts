/** What guards a free list, between the threads that use it. */
export interface Guard {
  /**
   * Lets this thread in; waits while another one is in.
   *
   * @param repair is called first where the last thread died inside.
   */
  acquire(repair: () => void): void;
  release(): void;
  /** What recovery does: ends a dead thread's stay, and wakes who waits. Neither blocks nor throws. */
  recover(deadToken: number, repair: () => void): void;
}

/**
 * Guards nothing: for pools of one thread, and for the demonstration of what goes wrong without.
 *
 * Cost: no Atomics call.
 */
export const NO_GUARD: Guard = {
  acquire() {},
  release() {},
  recover(_deadToken, repair) {
    // Called for the death of its only thread, which may have died anywhere.
    repair();
  },
};
