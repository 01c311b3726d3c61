import type { Failure } from './failure.js';
import type { Machine } from './machine.js';

/** Looks at the model's `always` in the present state. */
export function attemptAlways(machine: Machine): Failure | null {
  const { always } = machine.program.model;
  if (always === undefined) return null;
  let verdict: unknown;
  try {
    verdict = always(machine.state.values.subarray(0, machine.program.wordCount));
  } catch (error) {
    verdict = error instanceof Error ? error.message : String(error);
  }
  return verdict === undefined || verdict === null ? null : { kind: 'invariant', reason: String(verdict) };
}
