import { type AtomicsLike, type Platform, realPlatform } from './platform.js';

/** Calls of each operation of `Atomics`, as {@link CountingPlatform} saw them. */
export type AtomicsCounts = Record<keyof AtomicsLike, number>;

const OPERATIONS = [
  'load',
  'store',
  'add',
  'sub',
  'and',
  'or',
  'xor',
  'exchange',
  'compareExchange',
  'wait',
  'notify',
  'waitAsync',
] as const satisfies readonly (keyof AtomicsLike)[];

/**
 * A platform that counts Atomics calls: for tests that compare an operation with the cost its comment states, a
 * performance test that no noise can touch.
 *
 * ```ts
 * const platform = countingPlatform();
 * const mutex = Mutex.over(words, { platform });
 * platform.reset();
 * mutex.lock();
 * expect(platform.counts()).toEqual({ compareExchange: 1 });
 * ```
 */
export interface CountingPlatform extends Platform {
  /** The operations called since the last reset, and how often. */
  counts(): Partial<AtomicsCounts>;
  /** How many calls in all since the last reset. */
  total(): number;
  reset(): void;
}

/** @param inner the platform that does the work. */
export function countingPlatform(inner: Platform = realPlatform): CountingPlatform {
  const counted = new Map<keyof AtomicsLike, number>();
  const atomics = Object.fromEntries(
    OPERATIONS.filter((name) => inner.atomics[name]).map((name) => [
      name,
      (...args: unknown[]) => {
        counted.set(name, (counted.get(name) ?? 0) + 1);
        return (inner.atomics[name] as (...args: unknown[]) => unknown)(...args);
      },
    ]),
  ) as unknown as AtomicsLike;
  return {
    ...inner,
    atomics,
    counts: () => Object.fromEntries(counted),
    total: () => [...counted.values()].reduce((sum, count) => sum + count, 0),
    reset: () => counted.clear(),
  };
}
