import { defineSuite } from '../core/suite.js';
import { bandwidth } from './transport/bandwidth.js';
import { eventLoopRate, roundTrips } from './transport/event-loop.js';
import { latency, loans, rate } from './transport/polling.js';
import { senders } from './transport/senders.js';

/** Active messages beside native UCX, `postMessage`, and what somebody writes by hand. */
export default defineSuite({
  name: 'transport',
  summary:
    'messages between threads: latency, rate, bandwidth, event loop, many senders; beside UCX and postMessage',
  limits:
    'Of what a receiver gets it looks at the first bytes, and nobody fills what is loaned. Native UCX runs in two ' +
    'processes, since its shared memory is for processes, and is measured by its own program: of latency the median ' +
    'of single messages, of rates the whole run, one message at a time; it copies large messages out as well. ' +
    '"postMessage" clones; where it transfers, each message is a new buffer. "awake" has a thread of lowest priority ' +
    'on each core that never sleeps, "polled" looks for messages without the event loop. A bare lane only carries ' +
    'records of one size.',
  comparisons: ({ cores }) => [
    latency(8),
    latency(64),
    rate(8),
    rate(64),
    bandwidth(65_536, '64KiB'),
    bandwidth(2 ** 20, '1MiB'),
    loans(),
    roundTrips(64, cores),
    eventLoopRate(64),
    senders(64),
  ],
});
