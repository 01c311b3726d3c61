import type { Target, ThreadSpec, ThreadVariant } from '../../core/suite.js';
import { createLanes } from './lane.js';
import type { Exchange } from './pool.worker.js';
import { type PoolName, sharePool } from './pools.js';

/** A variant that runs workloads of `pool.worker.ts` on a pool. */
export function pooled(
  name: PoolName,
  specs: readonly ThreadSpec[],
  ...targets: readonly Target[]
): ThreadVariant {
  return {
    name,
    module: new URL('./pool.worker.js', import.meta.url),
    threads: specs,
    targets,
    prepare: (threads) => ({ shared: exchangeOf(name, threads) }),
  };
}

/** A pool, and a lane for every pair of threads. */
function exchangeOf(name: PoolName, threads: number): Exchange {
  return {
    ...sharePool(name, threads),
    lanes: createLanes(threads * threads),
    departed: new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT),
  };
}
