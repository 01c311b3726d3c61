import { defineLayout, field, LINE_BYTES, WORD_BYTES } from '@heddle/memory';

/**
 * The words of a read-write lock; a line for each thread that may read follows them, so that readers share none.
 *
 * ```
 *  0 state      the mutex of the writers: flags << 24 | token of the owner
 *  1 taskGate   of that mutex
 *  2 heir       of that mutex
 *  3 writing    OWNER_DIED, POISONED | token of the writer that readers stay out for, 0 is none
 *  4 readers    highest id of a thread that has ever read
 *
 *  line of a thread: 0 the thread, 1 its tasks; each READING, WAITING or LOOKING | token, 0 is none
 * ```
 */
export const rwLockLayout = defineLayout('rwlock', 1, {
  state: field('anyone'),
  taskGate: field('anyone'),
  heir: field('anyone'),
  writing: field('anyone'),
  readers: field('anyone'),
});

/** It reads. */
export const READING = 1 << 24;
/** It wants to read, and sleeps on this word until the writer lets it in. */
export const WAITING = 1 << 25;
/** A task that waited is to look again: it is not let in, since its event loop may be busy for long. */
export const LOOKING = 1 << 26;

export const LINE_WORDS = LINE_BYTES / WORD_BYTES;
