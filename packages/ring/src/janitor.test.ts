import { Worker } from 'node:worker_threads';
import { Segment } from '@heddle/memory';
import { expect, test } from 'vitest';
import { MpscRing } from './mpsc-ring.js';

test('a producer dies while its parent blocks in a read: the janitor recovers its claim, and the read goes on', async () => {
  const segment = Segment.create({ byteLength: 2 ** 20, janitor: true });
  const ring = MpscRing.create(segment, { name: 'r', capacityBytes: 1024 });
  const consumer = ring.consumer();
  const told = new SharedArrayBuffer(4);
  const { handle, transferList } = segment.lifeline();
  const worker = new Worker(new URL('./janitor.test-worker.js', import.meta.url), {
    workerData: { handle: { ...ring.handle, segment: handle }, told },
    transferList,
  });
  // From here on this thread's event loop does not turn.
  expect(Atomics.wait(new Int32Array(told), 0, 0, 30_000)).not.toBe('timed-out');
  ring.producer().tryWriteWords(2);
  expect(consumer.read({ timeout: 30_000 })?.tag).toBe(2);
  expect(consumer.abandonedRecords).toBe(1);
  await worker.terminate();
  segment.detach();
});
