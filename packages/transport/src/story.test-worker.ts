import { parentPort } from 'node:worker_threads';
import type { WorkerAddress } from './address.js';
import { carry } from './carry.test-worker.js';
import type { LeaseHandle } from './lease.js';
import { ALL, DATA, type Mate, type MateData, PHASES, receive, runRole, TELL } from './mate.test-worker.js';
import type { Message } from './message.js';
import { headerOf, Numbered, readHeader } from './numbered.test-worker.js';
import type { ThreadMode } from './thread-mode.js';
import type { TransportWorker } from './transport-worker.js';

export interface StoryData extends MateData {
  readonly count: number;
  readonly threadMode: ThreadMode;
  /** Bytes that every lane has carried already, as far as it knows. */
  readonly carried: number;
  /** Row of the thread that owns the client's worker, and those of the others that use it. */
  readonly client: number;
  readonly members: readonly number[];
  readonly consumers: readonly number[];
  /** Threads of the client and consumers, all of which have to be there before the first batch is sent. */
  readonly readers: number;
  /** Whether the threads of the client take turns under a lock; else their calls overlap. */
  readonly turns: boolean;
  readonly least: number;
  readonly most: number;
  /** A word a batch: how often it was consumed. */
  readonly seen: SharedArrayBuffer;
  readonly address: WorkerAddress;
  readonly lease: LeaseHandle;
}

/** Words of row 0: batches handed over and consumed; the lock of a serialized client; a thread is inside. */
export const STORY = { handed: 3, consumed: 4, lock: 5, inside: 6 } as const;
/** Word in which a thread of the client tells how often its call was refused because another was inside. */
export const OVERLAPS = TELL.first;

const LEFT = PHASES.indexOf('closing');
/** Sends batches: written in place, or copied in, in turn. Its header has the place in a stream of `carried` bytes and more. */
async function server(mate: Mate, data: StoryData): Promise<void> {
  carry(mate.context, data.carried);
  const worker = mate.context.createWorker({ name: 'server' });
  const endpoint = worker.connect(mate.addressOf(data.client));
  const batches = new Numbered(data.most, data.least);
  mate.waitFor(ALL.ready, data.readers, 0);
  mate.phase('sending');
  for (let sequence = 0; sequence < data.count; sequence++) {
    const batch = batches.data(0, sequence);
    const header = new Uint8Array(16);
    header.set(headerOf(0, sequence));
    new Float64Array(header.buffer, 8)[0] = placeOf(data, sequence);
    const loan = sequence % 2 === 0 ? endpoint.loan(batch.byteLength) : undefined;
    loan?.data.set(batch);
    endpoint.send(DATA, loan ?? batch, header);
    mate.add(TELL.sent);
  }
  await mate.leave();
}

/** Where a batch begins in the stream. */
function placeOf({ carried, most }: StoryData, sequence: number): number {
  return carried + sequence * most;
}

/** Keeps every batch, and hands it to a consumer. One thread, or one of several, of the client. */
async function client(mate: Mate, data: StoryData): Promise<void> {
  const { context } = mate;
  carry(context, data.carried);
  const worker =
    data.client === mate.row
      ? context.createWorker({ name: 'client', threadMode: data.threadMode })
      : context.openWorker(mate.addressOf(data.client));
  const consumers = data.consumers.map((row) => worker.connect(mate.addressOf(row)));
  let last = -1;
  const handle = (message: Message) => {
    const [, sequence] = readHeader(message);
    if (sequence <= last) throw new Error(`Batch ${sequence} came after ${last}`);
    last = sequence;
    const place = new Float64Array(message.header.slice().buffer, 8)[0]!;
    if (place !== placeOf(data, sequence)) throw new Error(`Batch ${sequence} is at ${place} of the stream`);
    if (data.threadMode === 'serialized' && !data.turns) stayUntilOthersTried(mate);
    const lease = message.keep();
    const { descriptor, size, at, byteLength, asker } = lease.handOver();
    const handle = Int32Array.of(descriptor, size, at, byteLength, asker, sequence);
    // They never send to the client: so this cannot wait for itself.
    consumers[sequence % consumers.length]!.send(DATA, new Uint8Array(handle.buffer));
    mate.add(TELL.received);
    mate.add(STORY.handed, 1, 0);
  };
  if (data.client === mate.row) mate.announce(worker);
  else mate.add(ALL.ready, 1, 0);
  mate.phase('receiving');
  const isDone = () => mate.get(STORY.handed, 0) === data.count;
  if (data.threadMode !== 'serialized') await receive(worker, 'waiting', handle, isDone);
  else takeTurns(mate, data, worker, handle, isDone);
  // The worker ends with its owner, who stays until the others have left.
  if (data.client === mate.row) for (const row of data.members) mate.waitFor(TELL.phase, LEFT, row);
  await mate.leave();
}

/** The first time, stays in the handler until a call of another thread has overlapped. */
function stayUntilOthersTried(mate: Mate): void {
  if (mate.add(STORY.inside, 1, 0) > 1) return;
  const other = mate.row === 1 ? 2 : 1;
  mate.waitFor(OVERLAPS, 1, other);
}

/** Serialized: under a lock of the program; or without, and then each call that overlaps has to be refused. */
function takeTurns(
  mate: Mate,
  { turns }: StoryData,
  worker: TransportWorker,
  handle: (message: Message) => void,
  isDone: () => boolean,
): void {
  worker.on(DATA, handle);
  while (!isDone()) {
    if (turns && Atomics.compareExchange(mate.told, STORY.lock, 0, 1) !== 0) {
      Atomics.wait(mate.told, STORY.lock, 1, 1);
      continue;
    }
    try {
      if (worker.progress(4) === 0) Atomics.wait(mate.told, ALL.stop, 0, 1);
    } catch (error) {
      if ((error as { code?: string }).code !== 'ERR_HEDDLE_WRONG_THREAD') throw error;
      mate.add(OVERLAPS);
    }
    if (turns) mate.set(STORY.lock, 0, 0);
  }
}

type Six = [number, number, number, number, number, number];

/** Takes batches over, looks at each byte, and releases them. */
async function consumer(mate: Mate, data: StoryData): Promise<void> {
  const { context } = mate;
  carry(context, data.carried);
  const worker = context.createWorker({ name: 'consumer' });
  const batches = new Numbered(data.most, data.least);
  const seen = new Int32Array(data.seen);
  mate.announce(worker);
  mate.phase('receiving');
  const handle = (message: Message) => {
    const words = new Int32Array(message.data.slice().buffer);
    const [descriptor, size, at, byteLength, asker, sequence] = [...words] as Six;
    const lease = context.lease({ heddle: 'lease', descriptor, size, at, byteLength, asker });
    if (!batches.matches(lease.data, 0, sequence)) throw new Error(`Batch ${sequence} is not what was sent`);
    lease.release();
    Atomics.add(seen, sequence, 1);
    mate.add(TELL.received);
    mate.add(STORY.consumed, 1, 0);
  };
  await receive(worker, 'waiting', handle, () => mate.get(STORY.consumed, 0) === data.count);
  await mate.leave();
}

/** A consumer of a client of thread mode single that does what it may not, then what it may. Posts what it got for it. */
function trespasser(mate: Mate, data: StoryData): void {
  const { context } = mate;
  const attempt = (act: () => void): string => {
    try {
      act();
    } catch (error) {
      return (error as { code?: string }).code ?? String(error);
    }
    return 'done';
  };
  const open = attempt(() => context.openWorker(data.address).progress());
  const takeHeld = attempt(() => context.lease(data.lease).release());
  mate.phase('receiving');
  mate.waitFor(ALL.stop, 1, 0);
  const lease = context.lease(data.lease);
  const release = attempt(() => lease.release());
  const again = attempt(() => lease.release());
  parentPort!.postMessage({ open, takeHeld, release, again });
  void mate.leave();
}

runRole<StoryData>(import.meta.url, { server, client, consumer, trespasser });
