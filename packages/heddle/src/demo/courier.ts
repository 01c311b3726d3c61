import type { Job } from './job.js';

/** How blocks travel to the workers: the only thing in which the variants of the demonstration differ. */
export const VARIANTS = ['heddle', 'clone', 'transfer'] as const;
export type Variant = (typeof VARIANTS)[number];

export interface CourierOptions {
  readonly job: Job;
  readonly workers: number;
  readonly blockBytes: number;
  /** How many blocks may be under way, from being sent to being finished. */
  readonly window: number;
  /** For tests: terminate the worker that gets this block while it works on it. */
  readonly killAtBlock?: number | undefined;
}

/** Memory to read a block into. */
export interface Block {
  readonly bytes: Uint8Array;
}

export interface Answer {
  readonly sequence: number;
  readonly crc: number;
  /** What came out, valid until {@link Courier.finish}. */
  readonly output: Uint8Array;
}

/** The pool's account at the end, or at a death. */
export interface PoolAccount {
  readonly got: number;
  readonly put: number;
  readonly putAcrossThreads: number;
  /** Came back from dead threads. */
  readonly recovered: number;
  readonly outstanding: number;
}

/** Takes blocks to worker threads and brings their answers back. */
export interface Courier {
  /** Memory for the next block; waits while everything is in use. */
  acquire(): Promise<Block>;
  /** Gives back a block that is not sent. */
  cancel(block: Block): void;
  /** Sends the first `byteLength` bytes of a block to some worker. The block is the worker's from then on. */
  send(block: Block, byteLength: number, sequence: number): void;
  /** The next answer, in any order. Rejects with {@link WorkerDiedError} when a worker dies. */
  receive(): Promise<Answer>;
  /** Gives an answer's memory back. */
  finish(answer: Answer): void;
  /** Ends the workers. The pool's account, where there is a pool. */
  close(): Promise<PoolAccount | undefined>;
}

/** What a dead worker left behind: all of its slots came back to the pool. */
export interface LeftOver {
  /** Blocks that it had begun with, some of them perhaps done, and those that it had not read. */
  readonly begun: number;
  readonly unread: number;
  readonly after: PoolAccount;
}

/** A worker ended in the middle of its work. */
export class WorkerDiedError extends Error {
  readonly worker: string;
  /** What became of the blocks that were sent to it. */
  readonly leftOver: LeftOver | undefined;

  constructor(worker: string, cause: string, leftOver?: LeftOver) {
    super(`${worker} ended in the middle of its work (${cause})`);
    this.name = 'WorkerDiedError';
    this.worker = worker;
    this.leftOver = leftOver;
  }
}
