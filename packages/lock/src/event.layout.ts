import { defineLayout, field } from '@heddle/memory';

/**
 * The words of an event that stays set until it is reset.
 *
 * ```
 *  0 state      flags << 24 | SET (1 bit) << 23 | how often it was set (23 bits, wraps)
 *  1 taskGate   goes up at a set that tasks wait for; wraps
 * ```
 */
export const manualResetEventLayout = defineLayout('manual-reset-event', 1, {
  state: field('anyone'),
  taskGate: field('anyone'),
});

/**
 * The words of an event that each waiter resets.
 *
 * ```
 *  0 state      flags << 24 | 1 where it is set, else 0
 *  1 taskGate   goes up at a set that tasks wait for; wraps
 * ```
 */
export const autoResetEventLayout = defineLayout('auto-reset-event', 1, {
  state: field('anyone'),
  taskGate: field('anyone'),
});

export const SET = 1 << 23;
export const GENERATION_MASK = SET - 1;
