import { workerData } from 'node:worker_threads';
import { SpscStream, type SpscStreamHandle } from './spsc-stream.js';

/** A thread that writes bytes that count up, in pieces of many lengths, and closes the stream. */
export interface StreamTask {
  readonly handle: SpscStreamHandle;
  readonly byteCount: number;
  readonly mode: 'blocking' | 'async';
}

const task = workerData as StreamTask;
const stream = SpscStream.from(task.handle);
const writer = stream.writer();
const piece = new Uint8Array(200);

for (let sent = 0, round = 0; sent < task.byteCount; round++) {
  const length = Math.min((round * 37) % 200, task.byteCount - sent);
  for (let i = 0; i < length; i++) piece[i] = (sent + i) % 251;
  const bytes = piece.subarray(0, length);
  sent += task.mode === 'async' ? await writer.writeAsync(bytes) : writer.write(bytes);
}
writer.release();
stream.close();
