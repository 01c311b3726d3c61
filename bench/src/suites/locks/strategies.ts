import type { Gate, Strategy } from './gate.js';
import { heddleLocks } from './heddle-locks.js';
import { packageLocks } from './package-locks.js';
import { rawLocks } from './raw-locks.js';

/** Every strategy by its name in the tables. */
const strategies = { ...rawLocks, ...heddleLocks, ...packageLocks };

export type StrategyName = keyof typeof strategies;

/** A lock on its way to a thread. */
export interface SharedLock {
  readonly strategy: StrategyName;
  readonly lock: unknown;
}

export function shareLock(strategy: StrategyName, threads: number): SharedLock {
  return { strategy, lock: strategies[strategy].create(threads) };
}

export async function openLock({ strategy, lock }: SharedLock): Promise<Gate> {
  return (strategies[strategy] as Strategy).open(lock as never);
}
