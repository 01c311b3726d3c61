import { defineLayout, field, LINE_BYTES, WORD_BYTES } from '@heddle/memory';

/** Orders that are recorded at most: pairs of locks of which one was taken while the other was held. */
export const MAX_ORDERS = 256;

const LINE_WORDS = LINE_BYTES / WORD_BYTES;

/**
 * The words of a record of lock orders: a line for each.
 *
 * ```
 *  0 pair    0 empty; -1 being written; else lock held (15 bits) << 15 | lock taken (15 bits), each a slot of the
 *            directory plus 1
 *  1 .. 31   where it was taken, UTF-8, padded with zeros
 * ```
 */
export const lockOrderLayout = defineLayout('lock-order', 1, {
  orders: field('anyone', MAX_ORDERS * LINE_WORDS),
});

export const PAIR_EMPTY = 0;
export const PAIR_BEING_WRITTEN = -1;
const LOCK_BITS = 15;

export const pairOf = (held: number, taken: number): number => (held << LOCK_BITS) | taken;
export const heldOf = (pair: number): number => pair >>> LOCK_BITS;
export const takenOf = (pair: number): number => pair & (2 ** LOCK_BITS - 1);

export const orderIndex = (order: number): number => lockOrderLayout.offsets.orders + order * LINE_WORDS;
export const PLACE_WORDS = LINE_WORDS - 1;
