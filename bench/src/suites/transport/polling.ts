import type { Comparison, Target } from '../../core/suite.js';
import { ucx } from '../../native/ucx-perftest.js';
import { linkedVariants } from '../messages/linked.js';
import { LARGEST_LOAN_BYTES, messageKinds } from './message-kinds.js';

/** Both threads poll. */

export const linked = linkedVariants(new URL('./message.worker.js', import.meta.url), messageKinds);

/** Messages that are published together. */
const BATCH = 32;

export function latency(messageBytes: number): Comparison {
  const target: Target = { atMost: 0.7, against: 'ucp-am' };
  return {
    name: `lat-${messageBytes}`,
    title: `${messageBytes} bytes to another thread, which sends them back: half of a round trip, both polling`,
    metric: 'time',
    operation: 'message',
    baseline: 'bare-lane',
    variants: [
      linked('bare-lane', 'bare-lane', 'oneWay', { messageBytes }),
      linked('message', 'copied', 'oneWay', { messageBytes }, ...(messageBytes === 8 ? [target] : [])),
      linked('message-view', 'viewed', 'oneWay', { messageBytes }),
      ucx('ucp-am', { test: 'ucp_am_lat', messageBytes }),
      ucx('ucp-tag', { test: 'tag_lat', messageBytes }),
    ],
  };
}

export function rate(messageBytes: number): Comparison {
  const batched = { messageBytes, batch: BATCH };
  const target = (atLeast: number): Target => ({ atLeast, against: 'ucp-am' });
  return {
    name: `rate-${messageBytes}`,
    title: `${messageBytes} bytes after each other to a thread that polls`,
    metric: 'rate',
    operation: 'message',
    baseline: 'bare-lane',
    variants: [
      linked('bare-lane', 'bare-lane', 'pour', { messageBytes }),
      linked('message', 'copied', 'pour', { messageBytes }, target(1.3)),
      linked('message-view', 'viewed', 'pour', { messageBytes }),
      linked(`bare-lane-batch${BATCH}`, 'bare-lane', 'pour', batched),
      linked(`message-batch${BATCH}`, 'copied', 'pour', batched, target(5)),
      linked(`send-many-batch${BATCH}`, 'many', 'pour', batched, target(5)),
      ucx('ucp-am', { test: 'ucp_am_bw', messageBytes }),
    ],
  };
}

/** Loaned messages, of which nothing is copied. */
export function loans(): Comparison {
  const sizes = { '64B': 64, '4KiB': 4096, '64KiB': 65_536, '1MiB': 2 ** 20, '4MiB': LARGEST_LOAN_BYTES };
  return {
    name: 'loan',
    title: 'a slot borrowed, its first byte written, sent and read: half of a round trip, both polling',
    metric: 'time',
    operation: 'message',
    baseline: 'loan-64B',
    variants: Object.entries(sizes).map(([name, messageBytes]) =>
      linked(
        `loan-${name}`,
        'loaned',
        'oneWay',
        { messageBytes },
        ...(messageBytes > 64 ? [{ atMost: 1.2 }] : []),
      ),
    ),
  };
}
