import { parentPort, workerData } from 'node:worker_threads';
import type { WorkerAddress } from './address.js';
import { Context } from './context.js';
import type { ContextHandle } from './context-handle.js';
import { type Ending, ON_PURPOSE } from './mate.test-worker.js';

/** At which point the thread ends. */
export const MOMENTS = ['start', 'attached', 'worker', 'connected', 'sent', 'kept', 'inside'] as const;
export type Moment = (typeof MOMENTS)[number];

export interface MishapData {
  readonly heddle: ContextHandle;
  readonly to: WorkerAddress;
  readonly moment: Moment;
  readonly ending: Ending;
  /** Word 0: it is there. */
  readonly told: SharedArrayBuffer;
}

/** Ends where it is told to, in the way it is told to. */
function run({ heddle, to, moment, ending, told }: MishapData): void {
  const words = new Int32Array(told);
  const at = (here: Moment) => {
    if (here !== moment) return;
    Atomics.store(words, 0, 1);
    Atomics.notify(words, 0);
    if (ending === 'process.exit') process.exit(3);
    if (ending === 'throw') throw new Error(ON_PURPOSE);
    for (;;) Atomics.wait(words, 1, 0);
  };
  at('start');
  const context = Context.attach(heddle);
  at('attached');
  const worker = context.createWorker();
  at('worker');
  const endpoint = worker.connect(to);
  at('connected');
  endpoint.trySend(1, new Uint8Array(8));
  endpoint.trySend(1, new Uint8Array(1000));
  endpoint.cork();
  endpoint.trySend(1, new Uint8Array(1000));
  endpoint.loan(1000);
  at('sent');
  const self = worker.connect(worker.address);
  worker.on(1, (message) => {
    message.keep();
    at('inside');
  });
  self.trySend(1, new Uint8Array(1000));
  if (moment === 'inside') self.trySend(1, new Uint8Array(1000));
  worker.progress();
  at('kept');
}

if (parentPort && workerData?.moment) run(workerData as MishapData);
