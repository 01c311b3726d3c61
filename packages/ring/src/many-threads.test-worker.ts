import { isMainThread, workerData } from 'node:worker_threads';
import { HeddleError, Segment, type StructureInfo } from '@heddle/memory';
import { MpmcQueue, type MpmcQueueHandle } from './mpmc-queue.js';
import { MpscRing, type MpscRingHandle } from './mpsc-ring.js';
import type { RingRecord } from './ring-record.js';

/** What a thread of the tests of the rings for many does. */
export interface ManyTask {
  readonly handle: MpscRingHandle | MpmcQueueHandle;
  readonly role: 'send' | 'receive' | 'stray-wakes';
  readonly mode: 'blocking' | 'async' | 'claim';
  /** Numbers that all senders together send: each takes the next one off `told`. */
  readonly count: number;
  /** A word per number: how often it arrived. */
  readonly seen: SharedArrayBuffer;
  /** What threads tell each other: {@link TOLD}. */
  readonly told: SharedArrayBuffer;
}

/** Next number to send; faults seen; records of dead claims; receivers that saw the end; senders that are done. */
export const TOLD = { next: 0, faults: 1, abandoned: 2, skipped: 3, ended: 4 } as const;

const task = workerData as ManyTask;
const MAX_BYTES = 60;

/** Length and content follow from the number, so the receiver can check every byte. */
function fill(bytes: Uint8Array, number: number): Uint8Array {
  const length = (Math.imul(number, 0x9e3779b1) >>> 8) % (MAX_BYTES + 1);
  for (let i = 0; i < length; i++) bytes[i] = (number + i) & 0xff;
  return bytes.subarray(0, length);
}

async function send(handle: MpscRingHandle, told: Int32Array): Promise<void> {
  const producer = MpscRing.from(handle).producer();
  const scratch = new Uint8Array(MAX_BYTES);
  for (;;) {
    const number = Atomics.add(told, TOLD.next, 1);
    if (number >= task.count) break;
    const bytes = fill(scratch, number);
    if (task.mode === 'async') {
      await producer.writeAsync(bytes, { tag: number });
      continue;
    }
    const at = task.mode === 'claim' ? producer.tryClaim(MAX_BYTES, number) : -1;
    if (at < 0) {
      producer.write(bytes, { tag: number });
      continue;
    }
    producer.memory.set(bytes, at);
    if (number % 7 === 0) {
      producer.abort();
      producer.write(bytes, { tag: number });
    } else {
      producer.commit(bytes.length);
    }
  }
  producer.release();
}

async function receive(handle: MpscRingHandle, told: Int32Array, seen: Int32Array): Promise<void> {
  const consumer = MpscRing.from(handle).consumer();
  Atomics.add(told, TOLD.skipped, consumer.skippedRecords);
  const expected = new Uint8Array(MAX_BYTES);
  const see = (record: RingRecord): void => {
    if (Buffer.compare(record.bytes, fill(expected, record.tag)) !== 0) Atomics.add(told, TOLD.faults, 1);
    Atomics.add(seen, record.tag, 1);
  };
  try {
    for (;;) {
      if (task.mode === 'async') {
        for await (const record of consumer) see(record);
        break;
      }
      if (consumer.wait()) consumer.drain(see, 32);
    }
  } catch (error) {
    if (!(error instanceof HeddleError && error.code === 'ERR_HEDDLE_CLOSED')) throw error;
  }
  Atomics.add(told, TOLD.abandoned, consumer.abandonedRecords);
  Atomics.add(told, TOLD.ended, 1);
}

async function put(handle: MpmcQueueHandle, told: Int32Array): Promise<void> {
  const queue = MpmcQueue.from(handle);
  for (;;) {
    const number = Atomics.add(told, TOLD.next, 1);
    if (number >= task.count) return;
    if (task.mode === 'async') await queue.putAsync(number);
    else queue.put(number);
  }
}

async function take(handle: MpmcQueueHandle, told: Int32Array, seen: Int32Array): Promise<void> {
  const queue = MpmcQueue.from(handle);
  try {
    for (;;) {
      const number = task.mode === 'async' ? await queue.takeAsync() : queue.take();
      Atomics.add(seen, number, 1);
    }
  } catch (error) {
    if (!(error instanceof HeddleError && error.code === 'ERR_HEDDLE_CLOSED')) throw error;
  }
  Atomics.add(told, TOLD.ended, 1);
}

/** LK-03: notifies every word of the structure, every millisecond. */
function strayWakes(handle: ManyTask['handle'], isClosed: () => boolean): void {
  const segment = Segment.attach(handle.segment);
  const info = segment.directory.find(handle.name) as StructureInfo;
  const words = segment.wordsAt(info.byteOffset, info.byteLength);
  const pace = new Int32Array(new SharedArrayBuffer(4));
  while (!isClosed()) {
    for (let at = 0; at < words.length; at++) Atomics.notify(words, at);
    Atomics.wait(pace, 0, 0, 1);
  }
}

// The tests import the constants above.
if (!isMainThread) {
  const seen = new Int32Array(task.seen);
  const told = new Int32Array(task.told);
  const { handle, role } = task;
  if (handle.heddle === 'mpsc-ring') {
    if (role === 'send') await send(handle, told);
    else if (role === 'receive') await receive(handle, told, seen);
    else {
      const ring = MpscRing.from(handle);
      strayWakes(handle, () => ring.closed);
    }
  } else {
    if (role === 'send') await put(handle, told);
    else if (role === 'receive') await take(handle, told, seen);
    else {
      const queue = MpmcQueue.from(handle);
      strayWakes(handle, () => queue.closed);
    }
  }
}
