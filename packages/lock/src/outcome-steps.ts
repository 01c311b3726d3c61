import type { Step } from '@heddle/memory';
import type { LockOutcome } from './lock.js';

type Done = Step<LockOutcome | null> & { readonly done: true };

const ACQUIRED: Done = { done: true, value: 'acquired' };
const TOLD: Done = { done: true, value: 'owner-died' };
/** The step that gives up. */
export const GAVE_UP: Done = { done: true, value: null };

/** The step that ends with an outcome: one of three objects, so that locking allocates none. */
export function ended(outcome: LockOutcome): Done {
  return outcome === 'acquired' ? ACQUIRED : TOLD;
}
