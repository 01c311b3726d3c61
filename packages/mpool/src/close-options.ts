import type { Holding } from './audit.js';

/** How a pool is closed. */
export interface MpoolCloseOptions {
  /**
   * Whether to wait until everything that is out was put: true, or for so many milliseconds at most. Others may put
   * meanwhile; who gets, or waits for an element, gets `ERR_HEDDLE_CLOSED`, as long as any thread waits. Default false.
   */
  readonly wait?: boolean | number;
  /** Whether to close it although elements are out: they can be put still, and views of them stay theirs. Default false. */
  readonly force?: boolean;
}

/** What keeps the memory of a closed pool from going back to its segment. */
export interface Closed {
  /** Elements that are out, where the pool was closed by force. */
  readonly outstanding: readonly Holding[];
  /** Ids of the other threads that use the pool, and have not noticed yet. */
  readonly usedBy: readonly number[];
}

export const NOTHING_LEFT: Closed = { outstanding: [], usedBy: [] };
