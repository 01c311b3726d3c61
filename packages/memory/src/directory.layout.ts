import { defineLayout, field } from './layout.js';

/** A slot is empty, removed for ever, or holds the index of a range plus 1. */
export const SLOT_EMPTY = 0;
export const SLOT_REMOVED = -1;

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
