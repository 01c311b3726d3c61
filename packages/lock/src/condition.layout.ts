import { defineLayout, field } from '@heddle/memory';

/**
 * The words of a condition.
 *
 * ```
 *  0 state      flags << 24 | how often it was notified (24 bits, wraps)
 *  1 taskGate   goes up at a notify that tasks wait for; wraps
 * ```
 */
export const conditionLayout = defineLayout('condition', 1, {
  state: field('anyone'),
  taskGate: field('anyone'),
});
