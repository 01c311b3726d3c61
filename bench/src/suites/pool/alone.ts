import type { Comparison, Target } from '../../core/suite.js';
import { native } from './native-pools.js';
import { lockedPools } from './pools.js';
import { pooled } from './variants.js';

/** Gets `depth` elements, then puts them, on one thread. */
export function alone(depth: number): Comparison {
  const specs = [{ workload: 'alone', parameters: { depth } }];
  const target: Target = { atMost: 1, against: 'ucs-mpool' };
  return {
    name: `alone-depth${depth}`,
    title: depth === 1 ? 'get and put, one thread' : `${depth} gets, then as many puts, one thread`,
    metric: 'time',
    operation: 'pair',
    baseline: 'array',
    variants: [
      pooled('array', specs),
      pooled('sharded', specs, target),
      pooled('owner', specs, target),
      pooled('serialized', specs),
      pooled('unsafe', specs),
      ...lockedPools.map((name) => pooled(name, specs)),
      {
        name: 'new-buffer',
        module: new URL('./allocation.worker.js', import.meta.url),
        threads: [{ workload: 'allocate' }],
      },
      native('ucs-mpool', 'alone', depth),
      native('ucs-mpool-spinlock', 'alone', depth),
      native('malloc', 'alone', depth),
      native('mimalloc', 'alone', depth),
    ],
  };
}
