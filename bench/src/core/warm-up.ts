import type { Plan } from './plan.js';
import { median, medianAbsoluteDeviation } from './statistics.js';
import type { Runner } from './suite.js';

/** Slices that are looked at together: the median of three ignores one that was disturbed. */
const WINDOW_SLICES = 3;

/** Two windows agree when their medians differ by no more than this part, or by no more than their slices jitter. */
const AGREEMENT = 0.05;

/**
 * Whether the last window of slices came to what the one before it did.
 *
 * Not whether single slices agree: a wake-up jitters for ever, but it does not keep getting faster.
 */
export function isStable(nsPerOperation: readonly number[]): boolean {
  if (nsPerOperation.length < 2 * WINDOW_SLICES) return false;
  const both = nsPerOperation.slice(-2 * WINDOW_SLICES);
  const before = median(both.slice(0, WINDOW_SLICES));
  const last = median(both.slice(WINDOW_SLICES));
  return Math.abs(last - before) <= Math.max(AGREEMENT * before, medianAbsoluteDeviation(both));
}

/**
 * Runs short slices until the figure no longer moves, so that code is compiled and memory touched before anything
 * counts. Returns whether it became stable within the limit: on a busy machine it may never.
 */
export async function warmUp(runner: Runner, plan: Plan): Promise<boolean> {
  const figures: number[] = [];
  for (let spentMs = 0; spentMs < plan.warmUpLimitMs; spentMs += plan.warmUpSliceMs) {
    figures.push((await runner.round(plan.warmUpSliceMs)).nsPerOperation);
    if (isStable(figures)) return true;
  }
  return false;
}
