import { MessageChannel } from 'node:worker_threads';
import type { Comparison, Prepared, ThreadVariant } from '../../core/suite.js';
import { court } from './court.layout.js';

export function wakeUp(cores: number): Comparison {
  const prepareCourt = (): Prepared => ({ shared: new SharedArrayBuffer(court.byteLength) });
  const twoThreads = (name: string, driver: string, partner: string, rest: Partial<ThreadVariant> = {}) => ({
    name,
    threads: [{ workload: driver }, { workload: partner }],
    prepare: prepareCourt,
    ...rest,
  });
  return {
    name: 'wake-up',
    title: 'a round trip between two threads, 4 bytes',
    metric: 'time',
    operation: 'round trip',
    baseline: 'post-message',
    module: new URL('./wake-up.worker.js', import.meta.url),
    variants: [
      twoThreads('post-message', 'messageDriver', 'messagePartner', { prepare: preparePorts }),
      twoThreads('wait-notify', 'waitDriver', 'waitPartner'),
      twoThreads('wait-async-notify', 'waitAsyncDriver', 'waitAsyncPartner', {
        skip: typeof Atomics.waitAsync === 'function' ? '' : 'this engine has no Atomics.waitAsync',
      }),
      twoThreads('spin', 'spinDriver', 'spinPartner', {
        skip: cores >= 2 ? '' : 'two threads that spin need two cores',
      }),
    ],
  };
}

/** A port for each of the two threads. */
function preparePorts(): Prepared {
  const { port1, port2 } = new MessageChannel();
  return { own: [port1, port2].map((port) => ({ value: port, transfer: [port] })) };
}
