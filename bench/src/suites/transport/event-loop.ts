import type { Comparison, ThreadVariant } from '../../core/suite.js';
import { ucx } from '../../native/ucx-perftest.js';
import { linked } from './polling.js';
import { preparePorts } from './post-message.js';
import { prepareContext } from './thread-of-context.js';

const posts = new URL('./post-message.worker.js', import.meta.url);
const loops = new URL('./event-loop.worker.js', import.meta.url);

/** Beside `postMessage`, and by our own means on event loops. */

export function roundTrips(messageBytes: number, cores: number): Comparison {
  const parameters = { messageBytes };
  const posted = (name: string, driver: string, partner: string, awake = false): ThreadVariant => ({
    name,
    module: posts,
    threads: [
      { workload: driver, parameters },
      { workload: partner },
      ...(awake ? [{ workload: 'keepAwake', count: cores, background: true as const }] : []),
    ],
    prepare: preparePorts,
  });
  return {
    name: `round-trip-${messageBytes}`,
    title: `${messageBytes} bytes to another thread and back`,
    metric: 'time',
    operation: 'round trip',
    baseline: 'post-message',
    variants: [
      posted('post-message', 'roundTripClone', 'answerClone'),
      posted('post-message-awake', 'roundTripClone', 'answerClone', true),
      posted('post-message-transfer', 'roundTripTransfer', 'answerTransfer'),
      posted('post-message-polled', 'roundTripPolled', 'answerPolled'),
      linked(
        'message',
        'copied',
        'roundTrip',
        { messageBytes },
        { atMost: 0.005 },
        { atMost: 0.01, against: 'post-message-awake' },
      ),
      {
        name: 'message-event-loop',
        module: loops,
        threads: [
          { workload: 'roundTrip', parameters },
          { workload: 'answer', parameters },
        ],
        prepare: () => prepareContext(2),
      },
      ucx('ucp-am', { test: 'ucp_am_lat', messageBytes, roundTrip: true }),
    ],
  };
}

export function eventLoopRate(messageBytes: number): Comparison {
  const parameters = { messageBytes };
  const posted = (name: string, workload: string): ThreadVariant => ({
    name,
    module: posts,
    threads: [{ workload, parameters }, { workload: 'takePosted' }],
    prepare: preparePorts,
  });
  return {
    name: `event-loop-rate-${messageBytes}`,
    title: `${messageBytes} bytes after each other to a thread that receives on its event loop`,
    metric: 'rate',
    operation: 'message',
    baseline: 'post-message',
    variants: [
      posted('post-message', 'postClones'),
      posted('post-message-transfer', 'postTransfers'),
      {
        name: 'message-event-loop',
        module: loops,
        threads: [{ workload: 'send', parameters }, { workload: 'receive' }],
        targets: [{ atLeast: 20 }],
        prepare: () => prepareContext(2),
      },
    ],
  };
}
