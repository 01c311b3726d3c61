import { expect, it } from 'vitest';
import { Completion } from './completion.js';
import type { EndpointReport } from './endpoint.js';
import type { Lease } from './lease.js';
import { bytes, makePair } from './pair.test-worker.js';

/** Bytes of half of all positions of a lane: what was noted before them lies ahead from then on, by difference. */
const MUCH = 2 ** 32;
const RECORD = 2 ** 16;
const [SHORT, KEPT] = [1, 2];

/** A pair, of which the sender sends so much inline, and meanwhile nothing in slots. */
function make() {
  const pair = makePair({ laneBytes: 2 ** 24, inlineBytes: RECORD - 8, slotBytes: RECORD });
  const { endpoint, receiver } = pair;
  const batch = Array<Uint8Array>(128).fill(new Uint8Array(RECORD - 8));
  receiver.on(SHORT, () => {});
  const sendMuch = (): void => {
    for (let sent = 0; sent <= MUCH; receiver.progress()) sent += endpoint.sendMany(SHORT, batch) * RECORD;
  };
  return { ...pair, sendMuch };
}

it('TR-01: what is unread in a slot comes back, however long ago the last one was', () => {
  const { context, endpoint, receiver, sender, sendMuch } = make();
  const reports: EndpointReport[] = [];
  sender.connect(receiver.address, { onClosed: (report) => reports.push(report) });
  sendMuch();
  endpoint.trySend(SHORT, bytes(RECORD));
  expect(context.usage().slots).toBe(1);
  receiver.close();
  sender.progress();
  expect(reports).toMatchObject([{ begun: 0, unread: 1 }]);
  expect(context.usage().slots).toBe(0);
});

it('TR-01: a completion waits for what is kept, however long ago it came', () => {
  const { endpoint, receiver, sender, sendMuch } = make();
  const leases: Lease[] = [];
  receiver.on(KEPT, (message) => leases.push(message.keep()));
  const completion = new Completion();
  endpoint.trySend(KEPT, bytes(8), undefined, completion);
  sendMuch();
  sender.progress();
  expect(completion.pending).toBe(1);
  leases[0]!.release();
  sender.progress();
  expect(completion.done).toBe(1);
});

it('TR-01: a flush ends, however much is sent before its thread looks', async () => {
  const { endpoint, sendMuch } = make();
  endpoint.trySend(SHORT, bytes(8));
  const flushed = endpoint.flushAsync();
  sendMuch();
  await flushed;
});
