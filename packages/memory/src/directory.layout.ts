import { defineLayout, field } from './layout.js';
import type { Range } from './space.js';

/**
 * A slot of the directory:
 *
 * ```
 *   0                                                                                    empty: never used
 *  -1                                                                                    free: used before
 *   generation (13 bits) << 18 | proposed (1 bit) << 17 | index of the range + 1 (17 bits)
 * ```
 *
 * The generation is that of the range, as far as there is room: a slot that is used again holds another word.
 */
export const SLOT_EMPTY = 0;
export const SLOT_FREE = -1;

const INDEX_BITS = 17;
const PROPOSED = 2 ** INDEX_BITS;
const INDEX_MASK = PROPOSED - 1;
const GENERATION_SHIFT = INDEX_BITS + 1;
const GENERATION_MASK = 2 ** (31 - GENERATION_SHIFT) - 1;

/** The word of a slot whose structure counts. */
export function slotWord({ index, generation }: Pick<Range, 'index' | 'generation'>): number {
  return ((generation & GENERATION_MASK) << GENERATION_SHIFT) | (index + 1);
}

/** The word of a slot whose structure does not count yet. */
export function proposedWord(range: Pick<Range, 'index' | 'generation'>): number {
  return slotWord(range) | PROPOSED;
}

/** What becomes of a proposed word when its structure counts. */
export function decidedWord(proposed: number): number {
  return proposed & ~PROPOSED;
}

/** Whether a slot holds a structure, whether that counts or not. */
export function isTaken(word: number): boolean {
  return word > SLOT_EMPTY;
}

export function isProposed(word: number): boolean {
  return isTaken(word) && (word & PROPOSED) !== 0;
}

/** Index of the range in the word of a slot that is taken. */
export function rangeIndexOf(word: number): number {
  return (word & INDEX_MASK) - 1;
}

export const KIND_WORDS = 8;
export const NAME_WORDS = 16;

/** What stands at the beginning of the range of a named structure. Its body follows, aligned as asked. */
export const structureLayout = defineLayout('structure', 1, {
  /** UTF-8, padded with zeros. */
  kind: field('creator', KIND_WORDS),
  /** UTF-8, padded with zeros. */
  name: field('creator', NAME_WORDS),
  version: field('creator'),
  /** Bytes from the beginning of the range to the body. */
  bodyOffset: field('creator'),
  /** Bytes of the body that were asked for, low and high word. */
  byteLengthLow: field('creator'),
  byteLengthHigh: field('creator'),
});
