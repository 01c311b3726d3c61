import { defineLayout, field } from './layout.js';

/**
 * A row of the thread table: one line, so that threads do not disturb each other.
 *
 * ```
 *  word 0 unique     0 is a free row, u > 0 belongs to the living thread u, -u is what the dead thread u left
 *       1 state      generation << 2 | phase
 *       2 parent     unique number of the thread that made the handle by which this one attached
 *       3 recoverer  token of the thread that recovers this row, 0 is nobody
 *       4 scanned    directory slots that recovery of this row has done, without a gap
 *       5 linked     1 when the janitor has a port to the thread
 * ```
 */
export const threadRowLayout = defineLayout('thread-row', 1, {
  unique: field('anyone'),
  state: field('anyone'),
  parent: field('anyone'),
  recoverer: field('anyone'),
  scanned: field('anyone'),
  linked: field('anyone'),
});

/** Phases of the life of a row's thread. That it is dead stands in the sign of `unique`. */
export const PHASE = { attaching: 0, attached: 1, leaving: 2 } as const;

export const PHASE_BITS = 2;
export const PHASE_MASK = 3;

/** Bits of a thread id: ids are 1 to 512. */
export const ID_BITS = 10;
export const ID_MASK = (1 << ID_BITS) - 1;
export const MAX_THREADS = 512;

/** Bits of a row's generation within a token. A token is a positive Int32 of 24 bits, and leaves 7 for flags. */
export const GENERATION_BITS = 14;
export const GENERATION_MASK = (1 << GENERATION_BITS) - 1;
