import type { Comparison, ThreadVariant } from '../../core/suite.js';
import { linkedVariants } from '../messages/linked.js';
import { ringKinds } from './ring-kinds.js';

const variant = linkedVariants(new URL('./ring.worker.js', import.meta.url), ringKinds);

/** Messages that are published together. */
const BATCH = 32;

/** What carries messages of any size, and what carries small ones only. */
const kinds = ['spsc-ring', 'spsc-stream', 'mpsc-ring', 'ringbuf.js'] as const;
const small = ['spsc-words', 'mpmc-queue'] as const;

const kindsFor = (messageBytes: number) => (messageBytes === 8 ? [...kinds, ...small] : kinds);

export function latency(messageBytes: number): Comparison {
  return {
    name: `lat-${messageBytes}`,
    title: `${messageBytes} bytes to another thread, which sends them back: half of a round trip, both polling`,
    metric: 'time',
    operation: 'message',
    baseline: 'bare-lane',
    variants: (['bare-lane', ...kindsFor(messageBytes)] as const).map((kind) =>
      variant(kind, kind, 'oneWay', { messageBytes }),
    ),
  };
}

/** One by one, and in batches where a kind has any. */
export function rate(messageBytes: number): Comparison {
  const corked = ['bare-lane', 'spsc-ring', 'spsc-stream', 'ringbuf.js'] as const;
  const batched = corked.map(
    (kind): ThreadVariant => ({
      ...variant(`${kind}-batch${BATCH}`, kind, 'pour', { messageBytes, batch: BATCH }),
      ...(kind === 'bare-lane' ? {} : { against: `bare-lane-batch${BATCH}` }),
    }),
  );
  return {
    name: `rate-${messageBytes}`,
    title: `${messageBytes} bytes after each other to a thread that polls`,
    metric: 'rate',
    operation: 'message',
    baseline: 'bare-lane',
    variants: [
      ...(['bare-lane', ...kindsFor(messageBytes)] as const).map((kind) =>
        variant(kind, kind, 'pour', { messageBytes }),
      ),
      ...batched,
    ],
  };
}
