import { defineLayout, field } from '@heddle/memory';

/**
 * The words of a null lock.
 *
 * ```
 *  0 state      flags << 24 | token of the owner; plain access by the bound thread alone
 *  1 taskGate   for tasks of the bound thread
 *  2 thread     token of the bound thread, 0 for none yet
 * ```
 */
export const nullLockLayout = defineLayout('none', 1, {
  state: field('thread'),
  taskGate: field('thread'),
  thread: field('anyone'),
});
