import { defineLayout, field, LINE_BYTES, roundUp, WORD_BYTES } from '@heddle/memory';

/**
 * The words of a sequence lock; two copies of the payload follow, each a whole number of lines.
 *
 * ```
 *  0 state      the mutex of the writers
 *  1 taskGate   of that mutex
 *  2 heir       of that mutex
 *
 *  version    writes that are complete; copy version % 2 is the one to read. Wraps at 2^32
 *  begun      writes that have begun: version, or version + 1 while somebody writes
 *  length     words of the payload
 * ```
 */
export const seqLockLayout = defineLayout('seqlock', 1, {
  state: field('anyone'),
  taskGate: field('anyone'),
  heir: field('anyone'),
  version: field('writer'),
  begun: field('writer'),
  length: field('creator'),
});

/** Words from the beginning of one copy to that of the other. */
export const copyStride = (length: number): number => roundUp(length, LINE_BYTES / WORD_BYTES);
