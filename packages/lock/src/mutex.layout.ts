import { defineLayout, field } from '@heddle/memory';

/**
 * The words of a mutex: one line, since whoever touches one of them on the slow path touches them all.
 *
 * ```
 *  0 state      flags (7 bits) << 24 | token of the owner (24 bits)
 *  1 taskGate   goes up at a release that tasks wait for; wraps
 *  2 heir       QUEUE << 24 | token of the blocked thread that is next, 0 is nobody
 * ```
 */
export const mutexLayout = defineLayout('mutex', 1, {
  state: field('anyone'),
  taskGate: field('anyone'),
  heir: field('anyone'),
});
