import { defineLayout, field } from '@heddle/memory';

/**
 * The words of a once.
 *
 * ```
 *  0 state      flags << 24 | token of the thread that runs it (24 bits)
 *  1 taskGate   goes up when it is done, or free again; wraps
 * ```
 */
export const onceLayout = defineLayout('once', 1, {
  state: field('anyone'),
  taskGate: field('anyone'),
});

/** It has been run to the end. */
export const DONE = 1 << 26;
