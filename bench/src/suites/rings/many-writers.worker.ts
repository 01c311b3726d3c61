import {
  MpmcQueue,
  type MpmcQueueHandle,
  MpscRing,
  type MpscRingHandle,
  type RingRecord,
  Segment,
  SpscRing,
  type SpscRingHandle,
} from '@heddle/ring';
import type { DrivingWorkload, ServingWorkload, StopSignal, ThreadContext } from '../../core/workload.js';
import { messageOf, RING_BYTES } from '../messages/link.js';

/** Many threads write, and sleep where there is no room; the last thread reads, and polls. */

const message = messageOf(8);

/** What several writers share, made for a number of them. */
export const manyWriterKinds = {
  'mpsc-ring': sharing(
    (segment) => MpscRing.create(segment, { name: 'one', capacityBytes: RING_BYTES }).handle,
  ),
  'mpmc-queue': sharing(
    (segment) => MpmcQueue.create(segment, { name: 'one', capacity: RING_BYTES / 8 }).handle,
  ),
  'spsc-ring-each': sharing((segment, writers) =>
    Array.from(
      { length: writers },
      (_, writer) => SpscRing.create(segment, { name: `of ${writer}`, capacityBytes: RING_BYTES }).handle,
    ),
  ),
};

function sharing<Handle>(create: (segment: Segment, writers: number) => Handle) {
  return (writers: number) => {
    const segment = Segment.create();
    return { shared: create(segment, writers), release: () => segment.detach() };
  };
}

function writing(write: () => boolean): DrivingWorkload {
  return {
    batch(operations) {
      let written = 0;
      for (let i = 0; i < operations; i++) if (write()) written++;
      return written;
    },
  };
}

/** @param take takes what is there, and returns how many messages. */
function reading(take: () => number): ServingWorkload {
  return {
    serve(stop: StopSignal) {
      let over = false;
      for (let served = 0; ; ) {
        const count = take();
        served += count;
        if (count > 0) continue;
        // Nothing once more after the end: something may have come between the two looks.
        if (over) return served;
        over = stop.requested();
      }
    },
  };
}

const ignore = (record: RingRecord) => void record.word(0);

export function writeMpsc({ shared }: ThreadContext<MpscRingHandle>): DrivingWorkload {
  const producer = MpscRing.from(shared).producer();
  return writing(() => producer.write(message));
}

export function readMpsc({ shared }: ThreadContext<MpscRingHandle>): ServingWorkload {
  const consumer = MpscRing.from(shared).consumer();
  return reading(() => consumer.drain(ignore));
}

export function writeQueue({ shared }: ThreadContext<MpmcQueueHandle>): DrivingWorkload {
  const queue = MpmcQueue.from(shared);
  return writing(() => queue.put(1));
}

export function readQueue({ shared }: ThreadContext<MpmcQueueHandle>): ServingWorkload {
  const queue = MpmcQueue.from(shared);
  return reading(() => {
    let count = 0;
    while (queue.tryTake() !== undefined) count++;
    return count;
  });
}

export function writeOwn({ shared, index }: ThreadContext<readonly SpscRingHandle[]>): DrivingWorkload {
  const producer = SpscRing.from(shared[index]!).producer();
  return writing(() => producer.write(message));
}

export function readEach({ shared }: ThreadContext<readonly SpscRingHandle[]>): ServingWorkload {
  const consumers = shared.map((handle) => SpscRing.from(handle).consumer());
  return reading(() => {
    let count = 0;
    for (const consumer of consumers) count += consumer.drain(ignore);
    return count;
  });
}
