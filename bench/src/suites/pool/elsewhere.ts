import { MessageChannel } from 'node:worker_threads';
import type { Comparison, Target, ThreadVariant } from '../../core/suite.js';
import { native } from './native-pools.js';
import { lockedPools } from './pools.js';
import { pooled } from './variants.js';

/** Got by one thread, put by another; `batch` descriptors at a time go through the lane between them. */
export function elsewhere(batch: number, ...targets: readonly Target[]): Comparison {
  const parameters = { batch };
  const specs = [
    { workload: 'getHere', parameters },
    { workload: 'putThere', parameters },
  ];
  return {
    name: `xput-2t-batch${batch}`,
    title: `get here, put there, two threads, sent ${batch === 1 ? 'one by one' : `${batch} at a time`}`,
    metric: 'rate',
    operation: 'element',
    baseline: 'locked',
    variants: [
      ...lockedPools.map((name) => pooled(name, specs)),
      pooled('sharded', specs, ...targets),
      pooled('array', specs),
      newBuffers(batch),
      native('ucs-mpool-spinlock', 'xput', batch),
      native('malloc', 'xput', batch),
      native('mimalloc', 'xput', batch),
    ],
  };
}

/** A new SharedArrayBuffer for each element, posted as a message. */
function newBuffers(batch: number): ThreadVariant {
  const parameters = { batch };
  return {
    name: 'new-buffer',
    module: new URL('./allocation.worker.js', import.meta.url),
    threads: [
      { workload: 'post', parameters },
      { workload: 'take', parameters },
    ],
    prepare() {
      const { port1, port2 } = new MessageChannel();
      const ports = [port1, port2];
      const own = ports.map((port) => ({ value: port, transfer: [port] }));
      return { shared: new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT), own };
    },
  };
}
