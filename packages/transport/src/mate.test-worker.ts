import { parentPort, workerData } from 'node:worker_threads';
import type { WorkerAddress } from './address.js';
import { Context } from './context.js';
import type { ContextHandle } from './context-handle.js';
import { contextLayout } from './transport.layout.js';
import type { Handler, TransportWorker } from './transport-worker.js';

/** What every thread of a crew finds in its `workerData`. */
export interface MateData {
  readonly heddle: ContextHandle;
  readonly told: SharedArrayBuffer;
  /** Which row of `told` is its own. Row 0 is for all. */
  readonly row: number;
  readonly role: string;
}

export const ROW_WORDS = 16;

/** Words of a thread's row. `first` and the words behind it are free for what a test wants to know. */
export const TELL = {
  phase: 0,
  received: 1,
  sent: 2,
  workerRow: 3,
  generation: 4,
  threadId: 5,
  first: 6,
} as const;

/** Words of row 0. */
export const ALL = { ready: 0, stop: 1 } as const;

export const PHASES = [
  'starting',
  'attached',
  'announced',
  'sending',
  'receiving',
  'closing',
  'done',
] as const;
export type Phase = (typeof PHASES)[number];

/** How a thread receives. */
export const RECEIVING = ['polling', 'waiting', 'event-loop', 'iterating'] as const;
export type Receiving = (typeof RECEIVING)[number];

/** The ways in which a thread dies. */
export const ENDINGS = ['terminate', 'process.exit', 'throw'] as const;
export type Ending = (typeof ENDINGS)[number];

/** What a thread throws that is to die. */
export const ON_PURPOSE = 'on purpose';

/** Ends this thread, at once; or waits for another one to end it. */
export function die(ending: Ending): never {
  if (ending === 'process.exit') process.exit(3);
  if (ending === 'throw') throw new Error(ON_PURPOSE);
  for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}

/** The address of a worker that is known by its numbers. */
export function addressIn({ name, segment }: Context, row: number, generation: number): WorkerAddress {
  const { slot } = segment.openStructure(name, contextLayout);
  return { heddle: 'address', segment: segment.id, context: slot, row, generation };
}

/** A thread of a crew, from the inside: what it tells the others and what it can learn of them. */
export class Mate {
  readonly context: Context;
  readonly row: number;
  readonly told: Int32Array;

  constructor({ heddle, told, row }: MateData) {
    this.told = new Int32Array(told);
    this.row = row;
    this.context = Context.attach(heddle);
    this.set(TELL.threadId, this.context.segment.thread.id);
    this.phase('attached');
  }

  phase(phase: Phase): void {
    this.set(TELL.phase, PHASES.indexOf(phase));
  }

  get(word: number, row = this.row): number {
    return Atomics.load(this.told, row * ROW_WORDS + word);
  }

  set(word: number, value: number, row = this.row): void {
    Atomics.store(this.told, row * ROW_WORDS + word, value);
    Atomics.notify(this.told, row * ROW_WORDS + word);
  }

  add(word: number, by = 1, row = this.row): number {
    const before = Atomics.add(this.told, row * ROW_WORDS + word, by);
    Atomics.notify(this.told, row * ROW_WORDS + word);
    return before + by;
  }

  /** Blocks until a word is at least so much. */
  waitFor(word: number, least: number, row = this.row): void {
    for (;;) {
      const value = this.get(word, row);
      if (value >= least) return;
      Atomics.wait(this.told, row * ROW_WORDS + word, value);
    }
  }

  /** Lets the others connect to a worker of this thread. */
  announce({ address }: TransportWorker): void {
    this.set(TELL.workerRow, address.row);
    this.set(TELL.generation, address.generation);
    this.phase('announced');
    this.add(ALL.ready, 1, 0);
  }

  /** Address of the worker that another thread announced, for which it waits. */
  addressOf(row: number): WorkerAddress {
    this.waitFor(TELL.phase, PHASES.indexOf('announced'), row);
    return addressIn(this.context, this.get(TELL.workerRow, row), this.get(TELL.generation, row));
  }

  /** Flushes, detaches, and says that all is done. */
  async leave(): Promise<void> {
    this.phase('closing');
    await this.context.close({ timeout: 120_000 });
    this.phase('done');
  }
}

/** Runs the role that the thread was started for, in a thread of a crew only. What it throws ends the thread. */
export function runRole<Data extends MateData>(
  file: string,
  roles: Record<string, (mate: Mate, data: Data) => void | Promise<void>>,
): void {
  const data = workerData as (Data & { readonly file?: string }) | null;
  if (!parentPort || data?.file !== file) return;
  const role = roles[data.role];
  if (!role) throw new Error(`There is no role ${data.role}`);
  void Promise.resolve(role(new Mate(data), data)).catch((error: unknown) => {
    // Out of the promise: an error of the thread, not an unhandled rejection.
    setImmediate(() => {
      throw error;
    });
  });
}

/** Id of the messages of crews. */
export const DATA = 1;

/** Receives in one of the ways until `isDone`, which is looked at after each message, and now and then. */
export async function receive(
  worker: TransportWorker,
  how: Receiving,
  handle: Handler,
  isDone: () => boolean,
): Promise<void> {
  worker.on(DATA, handle);
  if (how === 'polling' || how === 'waiting') {
    while (!isDone()) if (worker.progress() === 0 && how === 'waiting') worker.wait({ timeout: 100 });
    return;
  }
  const over = new AbortController();
  const look = setInterval(() => isDone() && over.abort(), 10);
  try {
    if (how === 'event-loop') await worker.run({ signal: over.signal });
    else for await (const message of worker.messages({ signal: over.signal })) handle(message);
  } finally {
    clearInterval(look);
  }
}
