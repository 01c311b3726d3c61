import { defineLayout, field } from '@heddle/memory';

/** Places in line: a power of two, one for each thread that a segment may have. */
export const PLACES = 512;
const PLACE_BITS = Math.log2(PLACES);

/**
 * The words of a ticket lock.
 *
 * ```
 *  0 state      flags (7 bits) << 24 | token of the owner (24 bits)
 *  1 taskGate   goes up at a release that tasks wait for; wraps
 *
 *  next       the number that is given out next, or one that has just been; wraps at 2^32
 *  serving    the number that is first in line; wraps at 2^32
 *  places     number n stands at n % 512:
 *             free: round of the number that may take it next (23 bits)
 *             taken: round (5 bits) << 27 | state (3 bits) << 24 | token (24 bits)
 * ```
 */
export const ticketLockLayout = defineLayout('ticket', 1, {
  state: field('anyone'),
  taskGate: field('anyone'),
  next: field('waiters'),
  serving: field('waiters'),
  places: field('waiters', PLACES),
});

/** States of a place that is taken. */
export const PLACE_WAITS = 1 << 24;
export const PLACE_FIRST = 2 << 24;
export const PLACE_GIVEN_UP = 3 << 24;
export const PLACE_SLEEPS = 4 << 24;
export const PLACE_STATE = 7 << 24;

const TAG_SHIFT = 27;
/** Rounds wrap where numbers do. */
const ROUND_MASK = 2 ** (32 - PLACE_BITS) - 1;

/** How often the places were gone through before a number. */
export const roundOf = (number: number): number => number >>> PLACE_BITS;

/** What a free place holds that a number of this round may take. */
export const freeFor = (round: number): number => round & ROUND_MASK;

/** The round in a taken place, as far as it fits. */
export const tagOf = (round: number): number => round << TAG_SHIFT;

export const placeIndex = (number: number): number =>
  ticketLockLayout.offsets.places + (number & (PLACES - 1));
