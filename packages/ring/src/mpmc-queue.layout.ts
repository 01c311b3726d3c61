import { defineLayout, field, WORD_BYTES } from '@heddle/memory';

/**
 * The words of a queue of numbers between many threads. A cell of two words for each number follows them.
 *
 * ```
 *  line 0   capacity       written once
 *  line 1   tail           next sequence number to put in << 1 | closed
 *  line 2   head           next sequence number to take out << 1
 *  line 3   items          gate at which takers sleep
 *  line 4   room           gate at which putters sleep
 *  line 5.. cells: state, value
 * ```
 */
export const mpmcQueueLayout = defineLayout('mpmc-queue', 1, {
  /** Numbers that fit: a power of two. */
  capacity: field('creator'),
  tail: field('putters'),
  head: field('takers'),
  items: field('sleeping takers'),
  room: field('sleeping putters'),
});

const CELL_WORDS = 2;
export const CELL_STATE = 0;
export const CELL_VALUE = 1;

/** Sequence numbers are shifted by it in `head` and `tail`. */
export const SEQUENCE_SHIFT = 1;
export const SEQUENCE_STEP = 2;
/** Set in `tail` when the queue is closed. */
export const QUEUE_CLOSED = 1;

export const MAX_QUEUE_CAPACITY = 2 ** 20;

/**
 * The state word of a cell.
 *
 * ```
 *  bit 31 ............ 13   12 ....... 3   2 .. 0
 *     | lap              | thread id    | state |
 * ```
 *
 * The lap is the sequence number divided by the capacity: a cell serves one number of each lap.
 *
 * | state | meaning | who changes it |
 * |---|---|---|
 * | free, lap n | waits for the number of lap n | a putter, to writing; a taker that ends a closed queue, to sealed |
 * | writing, lap n | thread id is putting the number in | that thread, to full; after its death recovery, to skipped |
 * | full, lap n | holds the number of lap n | a taker, to free of lap n + 1 |
 * | skipped, lap n | its putter died | a taker, to free of lap n + 1 |
 * | sealed, lap n | closed: nothing comes any more | nobody |
 */
export const CELL = { free: 0, writing: 1, full: 2, skipped: 3, sealed: 4 } as const;

const STATE_MASK = 7;
const ID_SHIFT = 3;
const ID_MASK = 2 ** 10 - 1;
const LAP_SHIFT = 13;
const LAP_BITS = 19;
const SEQUENCE_BITS = 31;

export function packCell(state: number, lap: number, id = 0): number {
  return (lap << LAP_SHIFT) | (id << ID_SHIFT) | state;
}

export function cellState(cell: number): number {
  return cell & STATE_MASK;
}

export function cellId(cell: number): number {
  return (cell >>> ID_SHIFT) & ID_MASK;
}

export function cellLap(cell: number): number {
  return cell >>> LAP_SHIFT;
}

/** Bits that laps of a queue of this capacity have: what a sequence number has left, 19 at most. */
export function lapMask(capacity: number): number {
  return 2 ** Math.min(LAP_BITS, SEQUENCE_BITS - Math.log2(capacity)) - 1;
}

/** The word at which a cell begins. */
export function cellAt(index: number): number {
  return mpmcQueueLayout.wordCount + index * CELL_WORDS;
}

export function mpmcByteLength(capacity: number): number {
  return cellAt(capacity) * WORD_BYTES;
}
