import { NONE } from './descriptor.js';
import type { Policy } from './policy.js';

/** In place of the policy of a pool that this thread uses no more: touches nothing, gives nothing, takes nothing. */
export const ENDED: Policy = {
  take: () => NONE,
  give: () => false,
  hasPut: () => true,
  assertMayUse() {},
  flush() {},
  empty() {},
};
