import type { ThreadVariant } from '../../core/suite.js';

/** A variant of one thread. */
export function alone(name: string, workload: string, rest: Partial<ThreadVariant> = {}): ThreadVariant {
  return { name, threads: [{ workload }], ...rest };
}
