import type { MessagePort } from 'node:worker_threads';
import type { DrivingWorkload, ServingWorkload, StopSignal, ThreadContext } from '../../core/workload.js';
import { ELEM_SIZE } from './sizes.js';

/** No pool: a new SharedArrayBuffer for each message, which the collector takes back. */

type Context = ThreadContext<SharedArrayBuffer, MessagePort>;

export function allocate(): DrivingWorkload {
  return {
    batch(operations) {
      let bytes = 0;
      for (let i = 0; i < operations; i++) bytes += new SharedArrayBuffer(ELEM_SIZE).byteLength;
      return bytes;
    },
  };
}

/** Messages that may be on their way: without a limit the queue eats the memory. */
const IN_FLIGHT = 4096;

/** Makes buffers, and posts them `batch` at a time. */
export function post({ shared, own: port, parameters }: Context): DrivingWorkload {
  const received = new Int32Array(shared);
  const batch = parameters['batch'] as number;
  let buffers: SharedArrayBuffer[] = [];
  let posted = 0;
  return {
    batch(operations) {
      for (let i = 0; i < operations; i++) {
        buffers.push(new SharedArrayBuffer(ELEM_SIZE));
        if (buffers.length < batch) continue;
        let seen = Atomics.load(received, 0);
        while (((posted - seen) | 0) >= IN_FLIGHT) {
          Atomics.wait(received, 0, seen);
          seen = Atomics.load(received, 0);
        }
        port.postMessage(buffers);
        posted = (posted + buffers.length) | 0;
        buffers = [];
      }
      return posted;
    },
  };
}

export function take({ shared, own: port }: Context): ServingWorkload {
  const received = new Int32Array(shared);
  let served = 0;
  port.on('message', (buffers: SharedArrayBuffer[]) => {
    served += buffers.length;
    Atomics.add(received, 0, buffers.length);
    Atomics.notify(received, 0);
  });
  return {
    begin() {
      served = 0;
    },
    async serve(stop: StopSignal) {
      await stop.promise;
      return served;
    },
  };
}
