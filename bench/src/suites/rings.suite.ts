import { defineSuite } from '../core/suite.js';
import { manyWriters } from './rings/many-writers.js';
import { latency, rate } from './rings/two-threads.js';

const SIZES = [8, 64, 1024];

/** Rings side by side, beside one from npm and what somebody writes by hand. */
export default defineSuite({
  name: 'rings',
  summary: 'messages between two threads, and from many writers, by kind of ring; latency, rate, batches',
  limits:
    'The bare lane does nothing but carry: records of one size, no wake-up, no close, no recovery. "ringbuf.js" and ' +
    '"spsc-stream" carry bytes, so a reader copies them out, while records are read in place; where they are sent in ' +
    'batches, somebody has to gather the messages first, and that is counted. "mpmc-queue" carries 4 bytes, and ' +
    '"spsc-words" 4 bytes and a tag of 4. Between two threads both poll and nobody sleeps; of what a reader gets it ' +
    'looks at the first word.',
  comparisons: () => [...SIZES.map(latency), ...SIZES.map(rate), manyWriters(4)],
});
