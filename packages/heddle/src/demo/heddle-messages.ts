import type { Context, ContextHandle, Message, WorkerAddress } from '@heddle/transport';
import type { Job } from './job.js';

/** What a worker of the demonstration is started with. */
export interface HeddleWorkerData {
  readonly heddle: ContextHandle;
  /** Where answers go. */
  readonly main: WorkerAddress;
  readonly job: Job;
}

/** Ids of the messages between the two sides. */
export const MESSAGE = {
  /** To main: a worker is ready. To a worker: there is nothing more to do. */
  ready: 0,
  end: 1,
  /** To a worker, with the block. Header: sequence, bytes of the block that count. */
  block: 2,
  /** To main, with the output. Header: sequence, checksum. */
  answer: 3,
} as const;

/** A header of two 32-bit numbers. */
export function headerOf(first: number, second: number): Uint8Array {
  return new Uint8Array(Uint32Array.of(first, second).buffer);
}

export function readHeader({ memory, headerByteOffset }: Message): readonly [number, number] {
  const header = new Uint32Array(memory.slice(headerByteOffset, headerByteOffset + 8).buffer);
  return [header[0]!, header[1]!];
}

/** The pool's account of a context, the same at any time and on any thread. */
export function accountOf(context: Context) {
  const { got, put, putAcrossThreads, recovered, outstanding } = context.audit();
  return { got, put, putAcrossThreads, recovered, outstanding };
}
