import { CountedPolicy } from './counted-policy.js';
import { type DebugParts, DebugPolicy } from './debug-policy.js';
import { ExactPolicy } from './exact-policy.js';
import type { Policy } from './policy.js';
import type { PoolPlan } from './pool-options.js';
import type { PoolWords } from './pool-words.js';

/**
 * Adds to a policy what the pool's options ask for. Without any of it, nothing is between a program and the policy.
 *
 * @param debug what debug mode needs, where the pool is in it.
 */
export function withLayers(base: Policy, plan: PoolPlan, pool: PoolWords, debug?: DebugParts): Policy {
  const counted = pool.shape.counterRows > 0 ? new CountedPolicy(base, pool) : base;
  if (debug) return new DebugPolicy(counted, pool, debug);
  return plan.exactPut ? new ExactPolicy(counted, pool) : counted;
}
