import { workerData } from 'node:worker_threads';
import type { WorkerAddress } from './address.js';
import { Context } from './context.js';
import type { ContextHandle } from './context-handle.js';
import type { Lease } from './lease.js';

/** What a thread of the tests of sending does. */
export interface SendingTask {
  /** `keep`: keeps each message until two more came. `block`: sends a message that needs a slot, and tells the outcome. */
  readonly role: 'keep' | 'block';
  /** Whom to send to. */
  readonly to: WorkerAddress;
  /** Words in which threads tell: {@link TOLD}. */
  readonly told: SharedArrayBuffer;
}

export const TOLD = { ready: 0, received: 1, faults: 2, closed: 3 } as const;

export const ID = { hello: 1, data: 2, stop: 3 } as const;

/** Bytes that follow from a number. */
export function fill(data: Uint8Array, sequence: number): Uint8Array {
  for (let at = 0; at < data.length; at += 997) data[at] = sequence + at;
  return data;
}

function isRight(data: Uint8Array, sequence: number): boolean {
  for (let at = 0; at < data.length; at += 997) if (data[at] !== ((sequence + at) & 0xff)) return false;
  return true;
}

function keep(context: Context, task: SendingTask, told: Int32Array): void {
  const worker = context.createWorker();
  const leases: Lease[] = [];
  let sequence = 0;
  let stopped = false;
  worker.on(ID.data, (message) => {
    if (!isRight(message.data, sequence++)) Atomics.add(told, TOLD.faults, 1);
    Atomics.add(told, TOLD.received, 1);
    leases.push(message.keep());
    if (leases.length > 2) leases.shift()!.release();
  });
  worker.on(ID.stop, () => {
    stopped = true;
  });
  worker.connect(task.to).send(ID.hello);
  while (!stopped) if (worker.progress() === 0) worker.wait();
  for (const lease of leases) lease.release();
}

function block(context: Context, task: SendingTask, told: Int32Array): void {
  const endpoint = context.createWorker().connect(task.to);
  Atomics.store(told, TOLD.ready, 1);
  Atomics.notify(told, TOLD.ready);
  try {
    endpoint.send(ID.data, new Uint8Array(1000));
  } catch (error) {
    if ((error as { code?: string }).code === 'ERR_HEDDLE_CLOSED') Atomics.store(told, TOLD.closed, 1);
  }
}

const data = workerData as (SendingTask & { heddle: ContextHandle }) | null;
if (data?.heddle) {
  const context = Context.attach(data.heddle);
  const told = new Int32Array(data.told);
  if (data.role === 'keep') keep(context, data, told);
  else block(context, data, told);
  void context.close();
}
