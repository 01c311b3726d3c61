/**
 * What a program wants done to the slots of a pool. Functions cannot be shared: each thread that opens the pool
 * gives its own, and all of them should do the same.
 */
export interface SlotHooks {
  /**
   * Prepares a slot once, when its chunk is made, before anyone can get it. Runs on the thread whose get made the pool
   * grow, under no lock; may run for a slot that another thread makes at the same time and that wins. Where it throws, that
   * get throws it, and the slots are made, or in debug mode prepared, by the next one that needs them.
   */
  readonly init?: (bytes: Uint8Array<SharedArrayBuffer>) => void;
  /** Ends a slot once, when the pool is closed, on the thread that closes it. Where it throws, the others are ended. */
  readonly cleanup?: (bytes: Uint8Array<SharedArrayBuffer>) => void;
  /** Says in a few words what an element holds, for reports of what is outstanding. Where it throws, they say nothing. */
  readonly describe?: (bytes: Uint8Array<SharedArrayBuffer>) => string;
}
