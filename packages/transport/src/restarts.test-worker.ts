import type { WorkerAddress } from './address.js';
import {
  ALL,
  DATA,
  die,
  type Ending,
  type Mate,
  type MateData,
  type Receiving,
  receive,
  runRole,
  TELL,
} from './mate.test-worker.js';
import type { Message } from './message.js';
import { headerOf, Numbered, readHeader } from './numbered.test-worker.js';

export interface RestartData extends MateData {
  readonly to: WorkerAddress;
  /** Row of a thread that receives. */
  readonly toRow: number;
  /** Number of this life: no two threads have the same. */
  readonly life: number;
  /** After how many messages this thread ends, and how. `terminate` is another thread's to do. */
  readonly after: number;
  readonly ending: Ending;
  readonly receiving: Receiving;
  /** A word a message: how often it was handled. */
  readonly seen: SharedArrayBuffer;
  readonly maxBytes: number;
}

/** Sends on and on, in every form, and dies. */
function pump(mate: Mate, data: RestartData): void {
  const worker = mate.context.createWorker({ name: `pump ${data.life}` });
  const endpoint = worker.connect(data.to);
  const numbered = new Numbered(data.maxBytes);
  mate.phase('sending');
  for (let sequence = 0; ; sequence++) {
    if (sequence === data.after && data.ending !== 'terminate') die(data.ending);
    const bytes = numbered.data(data.life, sequence);
    const loan = sequence % 3 === 1 ? endpoint.loan(bytes.byteLength) : undefined;
    loan?.data.set(bytes);
    endpoint.send(DATA, loan ?? bytes, headerOf(data.life, sequence));
    mate.add(TELL.sent);
  }
}

/** Receives in some way, keeps what it can and never lets go of it, and dies: in a handler, or anywhere. */
async function sink(mate: Mate, data: RestartData): Promise<void> {
  const worker = mate.context.createWorker({ name: `sink ${data.life}` });
  const numbered = new Numbered(data.maxBytes);
  const seen = new Int32Array(data.seen);
  let last = -1;
  let kept = 0;
  mate.announce(worker);
  mate.phase('receiving');
  const handle = (message: Message) => {
    const [sender, sequence] = readHeader(message);
    if (sequence <= last) throw new Error(`Message ${sequence} came after ${last}`);
    last = sequence;
    Atomics.add(seen, sequence, 1);
    if (!numbered.matches(message.data, sender, sequence)) {
      throw new Error(`Message ${sequence} does not hold what was sent`);
    }
    if (kept < 2 && sequence % 4 === 0) {
      message.keep();
      kept++;
    }
    if (mate.add(TELL.received) > data.after && data.ending !== 'terminate') die(data.ending);
  };
  await receive(worker, data.receiving, handle, () => false);
}

/** Receives what {@link steadySend} sends, whatever happens around it. */
async function steadyTake(mate: Mate, data: RestartData): Promise<void> {
  const worker = mate.context.createWorker({ name: 'steady' });
  const numbered = new Numbered(data.maxBytes);
  mate.announce(worker);
  mate.phase('receiving');
  let expected = Infinity;
  const handle = (message: Message) => {
    // An empty header: the number of messages that were sent.
    if (message.headerByteLength === 0) expected = new Int32Array(message.data.slice().buffer)[0]!;
    else {
      numbered.check(message);
      mate.add(TELL.received);
    }
  };
  await receive(worker, 'waiting', handle, () => numbered.received === expected);
  await mate.leave();
}

/** Sends until it is told to stop. */
async function steadySend(mate: Mate, data: RestartData): Promise<void> {
  const worker = mate.context.createWorker({ name: 'steady' });
  const endpoint = worker.connect(mate.addressOf(data.toRow));
  const numbered = new Numbered(data.maxBytes);
  mate.phase('sending');
  let sequence = 0;
  while (mate.get(ALL.stop, 0) === 0) {
    endpoint.send(DATA, numbered.data(mate.row, sequence), headerOf(mate.row, sequence));
    sequence++;
    mate.add(TELL.sent);
    // Not all of a core: it is here to be disturbed.
    if (sequence % 16 === 0) Atomics.wait(mate.told, ALL.stop, 0, 1);
  }
  endpoint.send(DATA, new Uint8Array(Int32Array.of(sequence).buffer));
  await mate.leave();
}

runRole<RestartData>(import.meta.url, { pump, sink, steadyTake, steadySend });
