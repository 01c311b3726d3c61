import { parentPort, workerData } from 'node:worker_threads';
import { type Job, runJob } from './job.js';

export interface PostMessageTask {
  readonly sequence: number;
  /** The whole block where it is transferred, else what is filled of it. */
  readonly block: Uint8Array<ArrayBuffer>;
  readonly byteLength: number;
}

export interface PostMessageAnswer {
  readonly sequence: number;
  readonly crc: number;
  readonly output: Uint8Array;
  /** The block on its way back, where it was transferred. */
  readonly block?: Uint8Array<ArrayBuffer>;
}

const { job, transfer } = workerData as { job: Job; transfer: boolean };
const port = parentPort!;

port.on('message', ({ sequence, block, byteLength }: PostMessageTask) => {
  const { crc, output } = runJob(job, block.subarray(0, byteLength));
  if (!transfer) {
    port.postMessage({ sequence, crc, output } satisfies PostMessageAnswer);
    return;
  }
  // zlib's buffers are never shared with others, so theirs can be moved too.
  const moved = output.byteLength > 0 ? [block.buffer, output.buffer as ArrayBuffer] : [block.buffer];
  port.postMessage({ sequence, crc, output, block } satisfies PostMessageAnswer, moved);
});
port.postMessage('ready');
