import { isMainThread, workerData } from 'node:worker_threads';
import { HeddleError, Segment } from '@heddle/memory';
import type { RingRecord } from './ring-record.js';
import { SpscRing, type SpscRingHandle } from './spsc-ring.js';
import { spscRingLayout } from './spsc-ring.layout.js';

/** What a thread of the tests of the ring does. */
export interface SpscTask {
  readonly handle: SpscRingHandle;
  readonly role: 'write' | 'read' | 'stray-wakes';
  readonly mode: 'blocking' | 'async' | 'claim' | 'drain';
  readonly maxBytes: number;
  /** Records to write: the sequence numbers below it. */
  readonly count: number;
  /** A word per sequence number: how often it was read. */
  readonly seen: SharedArrayBuffer;
  /** What readers and writers tell: {@link TOLD}. */
  readonly told: SharedArrayBuffer;
}

/** Words in which threads tell: next sequence to write, faults seen, records skipped, readers ended by the close. */
export const TOLD = { next: 0, faults: 1, skipped: 2, ended: 3 } as const;

const task = workerData as SpscTask;
let ring: SpscRing;
let seen: Int32Array;
let told: Int32Array;

/** Length and content follow from the sequence number, so the reader can check every byte. */
function fill(bytes: Uint8Array, sequence: number): Uint8Array {
  const length = (Math.imul(sequence, 0x9e3779b1) >>> 8) % (task.maxBytes + 1);
  for (let i = 0; i < length; i++) bytes[i] = (sequence + i) & 0xff;
  return bytes.subarray(0, length);
}

async function write(): Promise<void> {
  const producer = ring.producer();
  const scratch = new Uint8Array(task.maxBytes);
  // After a death the next writer goes on behind what the last one had told; it may write one record twice.
  for (let i = Atomics.load(told, TOLD.next); i < task.count; i++) {
    const bytes = fill(scratch, i);
    if (task.mode === 'async') {
      await producer.writeAsync(bytes, { tag: i });
    } else if (task.mode === 'claim') {
      let at = producer.tryClaim(bytes.length, i);
      if (at >= 0 && i % 7 === 0) {
        producer.abort();
        at = producer.tryClaim(bytes.length, i);
      }
      if (at < 0) {
        producer.write(bytes, { tag: i });
      } else {
        producer.memory.set(bytes, at);
        producer.commit();
      }
    } else {
      producer.write(bytes, { tag: i });
    }
    Atomics.store(told, TOLD.next, i + 1);
  }
  producer.release();
  ring.close();
}

async function read(): Promise<void> {
  const consumer = ring.consumer();
  Atomics.add(told, TOLD.skipped, consumer.skippedRecords);
  const expected = new Uint8Array(task.maxBytes);
  let last = -1;
  const see = (record: RingRecord): void => {
    const want = fill(expected, record.tag);
    if (record.tag < last) Atomics.add(told, TOLD.faults, 1);
    if (Buffer.compare(record.bytes, want) !== 0) Atomics.add(told, TOLD.faults, 1);
    last = record.tag;
    Atomics.add(seen, record.tag, 1);
  };
  try {
    for (;;) {
      if (task.mode === 'async') {
        see(await consumer.readAsync());
      } else if (task.mode === 'drain') {
        if (consumer.wait()) consumer.drain(see, 16);
      } else {
        see(consumer.read());
      }
    }
  } catch (error) {
    if (!(error instanceof HeddleError && error.code === 'ERR_HEDDLE_CLOSED')) throw error;
    Atomics.add(told, TOLD.ended, 1);
  }
}

/** LK-03: wakes both sides for nothing, every millisecond. */
function strayWakes(): void {
  const segment = Segment.attach(task.handle.segment);
  const info = segment.openStructure(task.handle.name, spscRingLayout);
  const words = segment.wordsAt(info.byteOffset, info.byteLength);
  const pace = new Int32Array(new SharedArrayBuffer(4));
  while (!ring.closed) {
    Atomics.notify(words, spscRingLayout.offsets.tail);
    Atomics.notify(words, spscRingLayout.offsets.head);
    Atomics.wait(pace, 0, 0, 1);
  }
}

// The tests import the constants above.
if (!isMainThread) {
  ring = SpscRing.from(task.handle);
  seen = new Int32Array(task.seen);
  told = new Int32Array(task.told);
  if (task.role === 'write') await write();
  else if (task.role === 'read') await read();
  else strayWakes();
}
