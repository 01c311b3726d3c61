import type { Comparison, ThreadVariant } from '../../core/suite.js';
import { ucx } from '../../native/ucx-perftest.js';
import { linked } from './polling.js';
import { preparePorts } from './post-message.js';

/** Data that is copied in, once, by its sender. */
export function bandwidth(messageBytes: number, name: string): Comparison {
  const parameters = { messageBytes };
  const bytes = { bytesPerOperation: messageBytes };
  const posted = (variant: string, workload: string): ThreadVariant => ({
    name: variant,
    module: new URL('./post-message.worker.js', import.meta.url),
    threads: [{ workload, parameters }, { workload: 'takePosted' }],
    prepare: preparePorts,
    ...bytes,
  });
  const alone = (variant: string, workload: string): ThreadVariant => ({
    name: variant,
    module: new URL('./copy.worker.js', import.meta.url),
    threads: [{ workload, parameters }],
    ...bytes,
  });
  return {
    name: `bandwidth-${name}`,
    title: `${name} after each other to a thread that polls; of "copy" and "set", into shared memory without a receiver`,
    metric: 'bandwidth',
    operation: 'message',
    baseline: 'copy',
    variants: [
      alone('copy', 'copyIn'),
      alone('set', 'setIn'),
      linked('message', 'copied', 'pour', { messageBytes }, { atLeast: 1.2, against: 'ucp-am' }),
      ucx('ucp-am', { test: 'ucp_am_bw', messageBytes }),
      posted('post-message', 'postClones'),
      posted('post-message-transfer', 'postTransfers'),
    ],
  };
}
