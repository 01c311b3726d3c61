import { defineLayout, field, LINE_BYTES, MAX_THREADS, WORD_BYTES } from '@heddle/memory';

/**
 * The words of a queue lock; a node for each thread follows them, a line each.
 *
 * ```
 *  0 state      flags (7 bits) << 24 | token of the owner (24 bits)
 *  1 taskGate   goes up at a release that tasks wait for; wraps
 *
 *  tail       the node that joined last, 0 for none yet
 *
 *  node       0 status   turn (20 bits) << 2 | NODE_* (2 bits)
 *             1 before   the node before it in line, 0 for none
 *
 *  a node is referred to by turn (20 bits) << 10 | id of its thread (10 bits)
 * ```
 */
export const mcsLockLayout = defineLayout('mcs', 1, {
  state: field('anyone'),
  taskGate: field('anyone'),
  tail: field('waiters'),
});

export const NODE_THROUGH = 0;
export const NODE_WAITS = 1;
export const NODE_GIVEN_UP = 2;
export const NODE_WATCHED = 3;
export const NODE_STATE = 3;

const ID_BITS = 10;
const ID_MASK = 2 ** ID_BITS - 1;
const TURN_MASK = 2 ** 20 - 1;
export const NODE_WORDS = LINE_BYTES / WORD_BYTES;

export const statusOf = (turn: number, state: number): number => (turn << 2) | state;
export const turnOfStatus = (status: number): number => status >>> 2;
export const nextTurn = (status: number): number => (turnOfStatus(status) + 1) & TURN_MASK;

export const reference = (turn: number, id: number): number => (turn << ID_BITS) | id;
export const turnOfReference = (node: number): number => node >>> ID_BITS;
export const idOfReference = (node: number): number => node & ID_MASK;

/** Index of the status word of the node of this thread: ids begin at 1. */
export const nodeIndex = (id: number): number => mcsLockLayout.wordCount + (id - 1) * NODE_WORDS;

/** Threads that have a node, unless told otherwise. */
export const DEFAULT_THREADS = 64;

/** Bytes with a node for so many threads. @throws RangeError for a bad number. */
export function mcsByteLength(maxThreads: number): number {
  if (!Number.isInteger(maxThreads) || maxThreads < 1 || maxThreads > MAX_THREADS) {
    throw new RangeError(
      `The threads of a lock are a whole number from 1 to ${MAX_THREADS}, not ${maxThreads}`,
    );
  }
  return mcsLockLayout.byteLength + maxThreads * LINE_BYTES;
}
