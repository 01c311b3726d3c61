import { defineLayout, field } from '@heddle/memory';

/**
 * The words of a spin lock.
 *
 * ```
 *  0 state      flags (7 bits) << 24 | token of the owner (24 bits)
 *  1 taskGate   goes up at a release that tasks wait for; wraps
 * ```
 */
export const spinLockLayout = defineLayout('spinlock', 1, {
  state: field('anyone'),
  taskGate: field('anyone'),
});
