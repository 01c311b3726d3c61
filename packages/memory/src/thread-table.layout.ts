import { defineLayout, field } from './layout.js';

/**
 * A row of the thread table: one line, so that threads do not disturb each other.
 *
 * ```
 *  word   0 unique       process-unique number of the thread; 0 is a free row. The claim is one CAS of this word
 *         1 state        generation << 2 | phase
 *         2 parent       unique number of the thread that made the handle by which this one attached
 *         3 recoverer    token of the thread that recovers this row, 0 is nobody
 *         4 recovering   unique number of the thread that this row's thread is recovering, 0 is none
 *         5 scanned      directory slots that recovery of this row has done
 *         6 linked       1 when the janitor has a port to the thread
 *   8 .. 31 journal      for structures: what the thread is about to touch (a robust list)
 * ```
 */
export const threadRowLayout = defineLayout('thread-row', 1, {
  unique: field('anyone'),
  state: field('anyone'),
  parent: field('anyone'),
  recoverer: field('anyone'),
  recovering: field('anyone'),
  scanned: field('anyone'),
  linked: field('anyone'),
  reserved: field('anyone'),
  journal: field('anyone', 24),
});

/** Phases of a row. A row with a unique number in phase `free` is being claimed, or was left half way. */
export const PHASE = { free: 0, attached: 1, leaving: 2, dead: 3 } as const;

export const PHASE_BITS = 2;
export const PHASE_MASK = 3;

/** Bits of a thread id: ids are 1 to 512. */
export const ID_BITS = 10;
export const ID_MASK = (1 << ID_BITS) - 1;
export const MAX_THREADS = 512;

/** Bits of a row's generation within a token. A token is a positive Int32 of 24 bits, and leaves 7 for flags. */
export const GENERATION_BITS = 14;
export const GENERATION_MASK = (1 << GENERATION_BITS) - 1;
