import { defineLayout, field, MAX_THREADS } from '@heddle/memory';

/**
 * The words of a barrier; those of its members follow, one for each party.
 *
 * ```
 *  0 state      flags << 24 | round (14 bits, wraps) << 10 | parties that have arrived (10 bits)
 *  1 taskGate   goes up at the end of a round that tasks wait for; wraps
 *  2 parties    how many make a round
 *    members    token of a thread that takes part, 0 for a place that is free
 * ```
 */
export const barrierLayout = defineLayout('barrier', 1, {
  state: field('anyone'),
  taskGate: field('anyone'),
  parties: field('anyone'),
  members: field('anyone'),
});

export const ARRIVED_MASK = 2 ** 10 - 1;
export const ROUND_SHIFT = 10;
export const ROUND_MASK = 2 ** 14 - 1;
export const MAX_PARTIES = MAX_THREADS;
