import { workerData } from 'node:worker_threads';
import type { WorkerAddress } from './address.js';
import { Context } from './context.js';
import type { ContextHandle } from './context-handle.js';
import type { Endpoint } from './endpoint.js';
import type { LeaseHandle } from './lease.js';
import type { Message } from './message.js';

/** What a thread of the tests does. */
export interface Task {
  readonly role: 'send' | 'echo' | 'hold' | 'block' | 'release' | 'gather' | 'open' | 'own' | 'group';
  readonly to?: WorkerAddress;
  readonly from?: number;
  readonly count?: number;
  readonly maxBytes?: number;
  readonly mode?: 'polling' | 'waiting' | 'event-loop';
  /** Words in which threads tell: {@link TOLD}. */
  readonly told: SharedArrayBuffer;
}

export const TOLD = {
  ready: 0,
  faults: 1,
  received: 2,
  ended: 3,
  stop: 4,
  code: 5,
  next: 6,
  firstSender: 8,
} as const;

/** Ids of the tests' messages. */
export const ID = { data: 1, address: 2, stop: 3, lease: 4, answer: 5 } as const;

/** Header of a data message: sender, sequence. */
export function headerOf(sender: number, sequence: number): Uint8Array {
  return new Uint8Array(Int32Array.of(sender, sequence).buffer);
}

export function readHeader(message: Message): Int32Array {
  return new Int32Array(message.header.slice().buffer);
}

/** Length and content follow from the sequence, so that the receiver can check every byte. */
export function fill(scratch: Uint8Array, sender: number, sequence: number): Uint8Array {
  const length = (Math.imul(sequence + sender * 7919, 0x9e3779b1) >>> 8) % (scratch.byteLength + 1);
  // Most are small.
  const short = sequence % 16 === 0 ? length : length % 64;
  for (let i = 0; i < short; i++) scratch[i] = (sequence + sender + i) & 0xff;
  return scratch.subarray(0, short);
}

/** Checks order and content of what comes from many senders. */
export class Checker {
  faults = 0;
  received = 0;
  readonly #next = new Map<number, number>();
  readonly #scratch: Uint8Array;

  constructor(maxBytes: number) {
    this.#scratch = new Uint8Array(maxBytes);
  }

  /** @param gaps whether a sender may have died with messages in slots unread. */
  see(message: Message, gaps = false): void {
    const [sender, sequence] = readHeader(message) as unknown as [number, number];
    const next = this.#next.get(sender) ?? (gaps ? sequence : 0);
    if (gaps ? sequence < next : sequence !== next) this.faults++;
    this.#next.set(sender, sequence + 1);
    const want = fill(this.#scratch, sender, sequence);
    if (Buffer.compare(message.data, want) !== 0) this.faults++;
    this.received++;
  }
}

async function send(endpoint: Endpoint, task: Task, told: Int32Array): Promise<void> {
  const scratch = new Uint8Array(task.maxBytes!);
  const { count = 0, from = 0 } = task;
  for (let i = 0; i < count; i++) {
    const data = fill(scratch, from, i);
    const header = headerOf(from, i);
    const loan = i % 5 === 1 ? endpoint.loan(data.byteLength) : undefined;
    if (loan) loan.data.set(data);
    if (task.mode === 'event-loop') await endpoint.sendAsync(ID.data, loan ?? data, header);
    else if (task.mode === 'waiting') endpoint.send(ID.data, loan ?? data, header);
    else while (endpoint.trySend(ID.data, loan ?? data, header) === 'no-resource');
    Atomics.store(told, TOLD.next, i + 1);
  }
}

async function main(task: Task & { readonly heddle: ContextHandle }): Promise<void> {
  const told = new Int32Array(task.told);
  const tell = (word: number, by = 1) => {
    Atomics.add(told, word, by);
    Atomics.notify(told, word);
  };
  const context = Context.attach(task.heddle);
  const worker = context.createWorker({ name: task.role });
  if (task.role === 'send') {
    const endpoint = worker.connect(task.to!);
    await send(endpoint, task, told);
    await context.close({ timeout: 60_000 });
  } else if (task.role === 'echo') {
    worker.on(ID.data, (message) => {
      worker.connect(message.sender).send(ID.answer, message.data, message.header);
    });
    worker.connect(task.to!).send(ID.address, new Uint8Array(0));
    if (task.mode === 'event-loop') await worker.run();
    else for (;;) if (worker.progress() === 0) worker.wait();
  } else if (task.role === 'hold') {
    // Keeps two messages, leaves what comes after unread, and waits for its end.
    let held = 0;
    worker.on(ID.data, (message) => {
      message.keep();
      if (++held === 2) {
        tell(TOLD.ready);
        Atomics.wait(told, TOLD.stop, 0);
      }
    });
    worker.connect(task.to!).send(ID.address);
    for (;;) if (worker.progress() === 0) worker.wait();
  } else if (task.role === 'block') {
    worker.on(ID.data, () => tell(TOLD.received));
    worker.connect(task.to!).send(ID.address);
    tell(TOLD.ready);
    try {
      if (task.mode === 'event-loop') {
        await worker.run();
        tell(TOLD.ended);
      } else {
        for (;;) if (worker.progress() === 0) worker.wait(task.mode === 'polling' ? { timeout: 1 } : {});
      }
    } catch (error) {
      if ((error as { code?: string }).code === 'ERR_HEDDLE_CLOSED') tell(TOLD.ended);
      else throw error;
    }
    await context.close({ timeout: 0 });
  } else if (task.role === 'release') {
    // Takes leases over and releases them.
    worker.on(ID.lease, (message) => {
      const handle = JSON.parse(Buffer.from(message.data).toString()) as LeaseHandle;
      const lease = context.lease(handle);
      if (lease.data.byteLength !== lease.byteLength) tell(TOLD.faults);
      lease.release();
      tell(TOLD.received);
    });
    worker.connect(task.to!).send(ID.address);
    await worker.run();
  } else if (task.role === 'gather') {
    const checker = new Checker(task.maxBytes!);
    let senders = 0;
    worker.on(ID.data, (message) => checker.see(message));
    worker.on(ID.stop, () => senders++);
    worker.connect(task.to!).send(ID.address);
    if (task.mode === 'event-loop') {
      for await (const message of worker.messages()) {
        if (message.id === ID.stop) senders++;
        else checker.see(message);
        if (senders === task.count) break;
      }
    } else {
      while (senders < task.count!) {
        if (worker.progress() === 0 && task.mode === 'waiting') worker.wait();
      }
    }
    tell(TOLD.faults, checker.faults);
    tell(TOLD.received, checker.received);
    await context.close();
  } else if (task.role === 'own') {
    const shared = context.createWorker({ threadMode: 'serialized' });
    shared.progress();
    shared.connect(task.to!).send(ID.address);
    for (;;) Atomics.wait(told, TOLD.stop, 0);
  } else if (task.role === 'group') {
    const member = context.openWorker(task.to!);
    const want = new Uint8Array(task.maxBytes!);
    member.on(ID.data, (message) => {
      const [sender, sequence] = readHeader(message) as unknown as [number, number];
      const before = Atomics.exchange(told, TOLD.firstSender + sender, sequence + 1);
      // After the death of a member the message that it had begun is not repeated.
      if (task.count === 0 ? sequence < before : sequence !== before) tell(TOLD.faults);
      const lease = sequence % 3 === 0 && message.byteLength > 64 ? message.keep() : undefined;
      if (Buffer.compare(lease?.data ?? message.data, fill(want, sender, sequence)) !== 0) tell(TOLD.faults);
      lease?.release();
      tell(TOLD.received);
    });
    tell(TOLD.ready);
    try {
      if (task.mode === 'event-loop') await member.run();
      else for (;;) if (member.progress(8) === 0 && task.mode === 'waiting') member.wait();
    } catch (error) {
      if ((error as { code?: string }).code !== 'ERR_HEDDLE_CLOSED') throw error;
    }
    await context.close();
  } else if (task.role === 'open') {
    // A second thread on a worker of another one.
    try {
      const opened = context.openWorker(task.to!);
      opened.on(ID.data, () => tell(TOLD.received));
      tell(TOLD.ready);
      while (Atomics.load(told, TOLD.stop) === 0) {
        try {
          if (opened.progress() === 0) Atomics.wait(told, TOLD.stop, 0, 1);
        } catch (error) {
          if ((error as { code?: string }).code !== 'ERR_HEDDLE_WRONG_THREAD') throw error;
          tell(TOLD.faults);
        }
      }
    } catch (error) {
      Atomics.store(told, TOLD.code, (error as { code?: string }).code === 'ERR_HEDDLE_WRONG_THREAD' ? 1 : 2);
    }
    await context.close();
  }
  tell(TOLD.ended, task.role === 'block' ? 0 : 1);
}

// Not awaited: Node 20 aborts where a thread is terminated while its module is being evaluated.
if (workerData?.heddle) void main(workerData);
