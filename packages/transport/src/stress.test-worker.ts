import type { WorkerAddress } from './address.js';
import { Context } from './context.js';
import type { Endpoint } from './endpoint.js';
import type { Lease } from './lease.js';
import type { Loan } from './loan.js';
import {
  ALL,
  DATA,
  type Mate,
  type MateData,
  type Receiving,
  receive,
  runRole,
  TELL,
} from './mate.test-worker.js';
import type { Message } from './message.js';
import type { SendStatus } from './message-writer.js';
import { headerOf, Numbered, randomFrom } from './numbered.test-worker.js';
import { contextLayout } from './transport.layout.js';
import type { TransportWorker } from './transport-worker.js';

/** How a thread sends. */
export const SENDING = ['polling', 'waiting', 'event-loop', 'corked'] as const;
export type Sending = (typeof SENDING)[number];

export interface StressData extends MateData {
  readonly count: number;
  readonly maxBytes: number;
  readonly receiving: Receiving;
  readonly sending: Sending;
  /** Peers of an all-to-all, and to how many of them each sends. */
  readonly peers: number;
  readonly degree: number;
  /** Row of the thread that receives. */
  readonly to: number;
  /** Messages that are kept for a while at the same time. */
  readonly keeps: number;
  readonly seed: number;
  /** Messages that are sent between coming and going. */
  readonly each: number;
}

/** Keeps some of the messages for a while, and checks them once more before it lets them go. */
class Keeper {
  readonly #numbered: Numbered;
  readonly #most: number;
  readonly #kept: { lease: Lease; sender: number; sequence: number }[] = [];

  constructor(numbered: Numbered, most: number) {
    this.#numbered = numbered;
    this.#most = most;
  }

  see(message: Message): void {
    const [sender, sequence] = this.#numbered.check(message);
    if (sequence % 5 !== 3 || this.#most === 0) return;
    if (this.#kept.length === this.#most) this.#release();
    try {
      this.#kept.push({ lease: message.keep(), sender, sequence });
    } catch (error) {
      // What came in the lane needs a slot to be kept, and there may be none.
      if ((error as { code?: string }).code !== 'ERR_HEDDLE_EXHAUSTED') throw error;
    }
  }

  end(): void {
    while (this.#kept.length > 0) this.#release();
  }

  #release(): void {
    const { lease, sender, sequence } = this.#kept.shift()!;
    if (!this.#numbered.matches(lease.data, sender, sequence)) {
      throw new Error(`Message ${sequence} of sender ${sender} changed while it was kept`);
    }
    lease.release();
  }
}

/** One message in five goes as a loan, where there is a slot. */
function bodyOf(endpoint: Endpoint, data: Uint8Array, sequence: number): Uint8Array | Loan {
  const loan = sequence % 5 === 1 ? endpoint.loan(data.byteLength) : undefined;
  loan?.data.set(data);
  return loan ?? data;
}

/** Sends to every peer, and receives from as many, at the same time. */
async function peer(mate: Mate, data: StressData): Promise<void> {
  const { peers, degree, count, receiving } = data;
  const worker = mate.context.createWorker({ name: `peer ${mate.row}` });
  const numbered = new Numbered(data.maxBytes);
  const keeper = new Keeper(numbered, data.keeps);
  const expected = degree * count;
  const handle = (message: Message) => {
    keeper.see(message);
    mate.set(TELL.received, numbered.received);
  };
  const isDone = () => numbered.received === expected;
  mate.announce(worker);
  mate.waitFor(ALL.ready, peers, 0);
  const endpoints = Array.from({ length: degree }, (_, i) => {
    const to = ((mate.row - 1 + i) % peers) + 1;
    return worker.connect(mate.addressOf(to));
  });
  mate.phase('sending');
  const blocking = receiving === 'polling' || receiving === 'waiting';
  const receiver = blocking ? worker.on(DATA, handle) : receive(worker, receiving, handle, isDone);
  const mine = new Numbered(data.maxBytes);
  for (let sequence = 0; sequence < count; sequence++) {
    for (const endpoint of endpoints) {
      const body = bodyOf(endpoint, mine.data(mate.row, sequence), sequence);
      const header = headerOf(mate.row, sequence);
      if (!blocking) await endpoint.sendAsync(DATA, body, header);
      else {
        // Somebody may be short of a slot that nobody rings for: hence the time.
        while (endpoint.trySend(DATA, body, header) !== 'sent') {
          if (worker.progress() === 0 && receiving === 'waiting') worker.wait({ timeout: 1 });
        }
      }
      mate.add(TELL.sent);
    }
  }
  mate.phase('receiving');
  await (blocking ? receive(worker, receiving, handle, isDone) : receiver);
  keeper.end();
  await mate.leave();
}

/** Receives from others until all is there. */
async function take(mate: Mate, data: StressData): Promise<void> {
  const worker = mate.context.createWorker({ name: 'take' });
  const numbered = new Numbered(data.maxBytes);
  const keeper = new Keeper(numbered, data.keeps);
  mate.announce(worker);
  mate.phase('receiving');
  const handle = (message: Message) => {
    keeper.see(message);
    mate.set(TELL.received, numbered.received);
  };
  await receive(worker, data.receiving, handle, () => numbered.received === data.count);
  keeper.end();
  await mate.leave();
}

/** Sends to one. */
async function push(mate: Mate, data: StressData): Promise<void> {
  const worker = mate.context.createWorker({ name: `push ${mate.row}` });
  const endpoint = worker.connect(mate.addressOf(data.to));
  const numbered = new Numbered(data.maxBytes);
  mate.phase('sending');
  for (let sequence = 0; sequence < data.count; sequence++) {
    const body = bodyOf(endpoint, numbered.data(mate.row, sequence), sequence);
    const header = headerOf(mate.row, sequence);
    if (data.sending === 'event-loop') await endpoint.sendAsync(DATA, body, header);
    else if (data.sending === 'waiting') endpoint.send(DATA, body, header);
    else {
      if (sequence % 8 === 0 && data.sending === 'corked') endpoint.cork();
      while (endpoint.trySend(DATA, body, header) !== 'sent');
      if (sequence % 8 === 7 && data.sending === 'corked') endpoint.uncork();
    }
    mate.add(TELL.sent);
  }
  endpoint.uncork();
  await mate.leave();
}

/** Comes, sends to one, and goes, again and again. There are fewer lanes than threads that want one. */
async function comeAndGo(mate: Mate, data: StressData): Promise<void> {
  const to = mate.addressOf(data.to);
  const numbered = new Numbered(data.maxBytes);
  await mate.context.close();
  for (let sequence = 0; sequence < data.count; ) {
    const context = Context.attach(data.heddle);
    const endpoint = await connectWhenFree(context.createWorker(), to);
    for (const end = sequence + data.each; sequence < end; sequence++) {
      await endpoint.sendAsync(DATA, numbered.data(mate.row, sequence), headerOf(mate.row, sequence));
      mate.add(TELL.sent);
    }
    await context.close({ timeout: 120_000 });
  }
  mate.phase('done');
}

async function connectWhenFree(worker: TransportWorker, to: WorkerAddress): Promise<Endpoint> {
  for (;;) {
    try {
      return worker.connect(to);
    } catch (error) {
      if ((error as { code?: string }).code !== 'ERR_HEDDLE_EXHAUSTED') throw error;
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
}

/** Sends to one in every form and way, as chance has it, through two endpoints: their messages are in one order. */
async function mixForms(mate: Mate, data: StressData): Promise<void> {
  const worker = mate.context.createWorker({ name: 'forms' });
  const endpoints = [0, 1].map(() => worker.connect(mate.addressOf(data.to)));
  const numbered = new Numbered(data.maxBytes);
  const random = randomFrom(data.seed);
  let pending: Promise<void>[] = [];
  let loaned = false;
  const settle = async () => {
    await Promise.all(pending);
    pending = [];
  };
  mate.phase('sending');
  for (let sequence = 0; sequence < data.count; sequence++) {
    const endpoint = endpoints[random() < 0.5 ? 0 : 1]!;
    // Until it is sent, nobody may change it.
    const bytes = numbered.data(mate.row, sequence).slice();
    // A loan that waits behind a send that needs a slot keeps that one from it: one at a time, and there are more.
    if (pending.length >= 8 || loaned) await settle();
    const loan = random() < 0.4 ? endpoint.loan(bytes.byteLength) : undefined;
    loan?.data.set(bytes);
    loaned = loan !== undefined;
    const body = loan ?? bytes;
    const header = headerOf(mate.row, sequence);
    const status: SendStatus = random() < 0.5 ? endpoint.trySend(DATA, body, header) : 'no-resource';
    if (status === 'closed') throw new Error('The receiver is gone');
    if (status === 'no-resource') {
      if (random() < 0.5) pending.push(endpoint.sendAsync(DATA, body, header));
      else {
        await settle();
        endpoint.send(DATA, body, header);
      }
    }
    mate.add(TELL.sent);
  }
  await settle();
  await mate.leave();
}

/** Wakes everybody who sleeps on a word of the context, for nothing, again and again. */
function strayWakes(mate: Mate): void {
  const { segment, name } = mate.context;
  const { byteOffset, byteLength } = segment.openStructure(name, contextLayout);
  const words = segment.wordsAt(byteOffset, byteLength);
  const pause = new Int32Array(new SharedArrayBuffer(4));
  while (mate.get(ALL.stop, 0) === 0) {
    for (let at = 0; at < words.length; at++) Atomics.notify(words, at);
    mate.add(TELL.first);
    Atomics.wait(pause, 0, 0, 1);
  }
  void mate.leave();
}

runRole<StressData>(import.meta.url, { peer, take, push, comeAndGo, mixForms, strayWakes });
