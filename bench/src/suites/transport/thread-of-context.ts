import {
  Context,
  type ContextHandle,
  type ContextOptions,
  type Endpoint,
  type TransportWorker,
} from '@heddle/transport';
import { AddressBoard } from './address-board.js';

/** What the threads of a variant share. */
export interface SharedContext {
  readonly context: ContextHandle;
  readonly board: SharedArrayBuffer;
}

/** The id of the messages that are measured. */
export const MESSAGE = 1;

/** A context for so many threads, without the janitor: the harness ends its threads itself. */
export function prepareContext(threads: number, options: ContextOptions = {}) {
  const context = Context.create({ janitor: false, ...options });
  const shared: SharedContext = { context: context.handle, board: AddressBoard.create(threads) };
  return { shared, release: () => context[Symbol.dispose]() };
}

/** What a thread has of it. */
export interface ThreadOfContext {
  readonly context: Context;
  readonly worker: TransportWorker;
  /** The whole segment. */
  readonly memory: Uint8Array<SharedArrayBuffer>;
  /** The way to the worker of another thread. Waits until there is one. */
  connect(index: number): Endpoint;
}

/** Attaches the thread of this index, and makes its worker, which others may connect to from then on. */
export function joinContext(
  { context: handle, board: buffer }: SharedContext,
  index: number,
): ThreadOfContext {
  const context = Context.attach(handle);
  const worker = context.createWorker();
  const board = new AddressBoard(buffer);
  board.post(index, worker.address);
  const memory = new Uint8Array(context.segment.buffer);
  return { context, worker, memory, connect: (other) => worker.connect(board.read(other)) };
}
