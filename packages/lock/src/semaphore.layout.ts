import { defineLayout, field } from '@heddle/memory';

/**
 * The words of a semaphore.
 *
 * ```
 *  0 state      flags << 24 | permits that are free (24 bits)
 *  1 taskGate   goes up at a release that tasks wait for; wraps
 *  2 most       permits that there may be
 * ```
 */
export const semaphoreLayout = defineLayout('semaphore', 1, {
  state: field('anyone'),
  taskGate: field('anyone'),
  most: field('anyone'),
});
