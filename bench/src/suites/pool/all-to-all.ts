import type { Comparison } from '../../core/suite.js';
import { native } from './native-pools.js';
import { lockedPools } from './pools.js';
import { pooled } from './variants.js';

/** Threads that the C peer has room for. */
const MOST_THREADS = 16;

/** Every thread gets, and puts what the others got: one thread a core. */
export function allToAll(cores: number): Comparison {
  const count = Math.min(MOST_THREADS, Math.max(2, cores));
  const specs = [{ workload: 'exchange', count }];
  return {
    name: `all-to-all-${count}t`,
    title: `every thread gets, sends to the others in turn, and puts what they send`,
    metric: 'rate',
    operation: 'element',
    baseline: 'locked',
    variants: [
      ...lockedPools.map((name) => pooled(name, specs)),
      pooled('sharded', specs),
      native('ucs-mpool-spinlock', 'all', count),
      native('malloc', 'all', count),
      native('mimalloc', 'all', count),
    ],
  };
}
