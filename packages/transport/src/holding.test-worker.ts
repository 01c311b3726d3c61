import type { Lease } from './lease.js';
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
import { headerOf, readHeader } from './numbered.test-worker.js';

export interface HoldingData extends MateData {
  readonly count: number;
  readonly bytes: number;
  readonly receiving: Receiving;
  readonly to: number;
}

/** Word in which a sender tells that it found no room, and how often. */
export const REFUSED = TELL.first;
/** Word that tells a thread to let go of what it holds. */
export const LET_GO = TELL.first + 1;

/** Keeps every message until it is told to let go; from then on none. */
async function hoard(mate: Mate, { receiving, count }: HoldingData): Promise<void> {
  const worker = mate.context.createWorker({ name: 'hoard' });
  const hoarded: { lease: Lease; first: number | undefined }[] = [];
  mate.announce(worker);
  mate.phase('receiving');
  let received = 0;
  await receive(
    worker,
    receiving,
    (message) => {
      if (mate.get(LET_GO) === 0) hoarded.push({ lease: message.keep(), first: message.data[0] });
      received = mate.add(TELL.received);
    },
    () => {
      if (mate.get(LET_GO) !== 0) {
        for (const { lease, first } of hoarded.splice(0)) {
          if (lease.data[0] !== first) throw new Error('What was kept has changed');
          lease.release();
        }
      }
      return received === count;
    },
  );
  await mate.leave();
}

/** Sends messages of one size to one thread; tells how often it is refused. */
async function feed(mate: Mate, { to, count, bytes }: HoldingData): Promise<void> {
  const worker = mate.context.createWorker({ name: 'feed' });
  const endpoint = worker.connect(mate.addressOf(to));
  const data = new Uint8Array(bytes);
  mate.phase('sending');
  for (let sequence = 0; sequence < count; ) {
    const status = endpoint.trySend(DATA, data, headerOf(mate.row, sequence));
    if (status === 'closed') break;
    if (status === 'sent') {
      sequence++;
      mate.add(TELL.sent);
    } else {
      mate.add(REFUSED);
      Atomics.wait(mate.told, ALL.stop, 0, 1);
    }
  }
  await mate.leave();
}

/** Lets go of each message at once. */
async function drain(mate: Mate, { receiving, count }: HoldingData): Promise<void> {
  const worker = mate.context.createWorker({ name: 'drain' });
  let received = 0;
  mate.announce(worker);
  mate.phase('receiving');
  const handle = (message: Message) => {
    const [, sequence] = readHeader(message);
    if (sequence !== received) throw new Error(`Message ${sequence} came where ${received} was expected`);
    received = mate.add(TELL.received);
  };
  await receive(worker, receiving, handle, () => received === count);
  await mate.leave();
}

runRole<HoldingData>(import.meta.url, { hoard, feed, drain });
