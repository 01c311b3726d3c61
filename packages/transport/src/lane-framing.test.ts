import { describe, expect, it, onTestFinished } from 'vitest';
import { carry } from './carry.test-worker.js';
import { Context } from './context.js';
import type { ContextOptions } from './context-options.js';
import type { Message } from './message.js';
import { contextLayout, workerRowAt, workerRowLayout } from './transport.layout.js';

interface Got {
  readonly id: number;
  readonly header: Uint8Array;
  readonly data: Uint8Array;
}

const SMALL: ContextOptions = { janitor: false, maxWorkers: 4, maxLanes: 4, slotBytes: 1024, slots: 8 };

/** @param options of the context. `at.carried` says where lanes begin that are opened from then on. */
function make(options: ContextOptions) {
  const context = Context.create({ ...SMALL, ...options });
  onTestFinished(() => context[Symbol.dispose]());
  const at = { carried: 0 };
  carry(context, () => at.carried);
  const receiver = context.createWorker();
  const sender = context.createWorker();
  const got: Got[] = [];
  const see = ({ id, header, data }: Message) => got.push({ id, header: header.slice(), data: data.slice() });
  for (const id of [0, 1, 2]) receiver.on(id, see);
  return { context, at, receiver, sender, got };
}

const isSame = (a: Got, b: Got) =>
  a.id === b.id && Buffer.compare(a.header, b.header) === 0 && Buffer.compare(a.data, b.data) === 0;
const bytes = (length: number, first: number) => Uint8Array.from({ length }, (_, i) => (first + i) & 0xff);

describe('TR-04: the end of a lane', () => {
  it.each([64, 128, 256])(
    'of %i bytes: every header and data at every offset, inline and in slots',
    (laneBytes) => {
      const { context, at, receiver, sender, got } = make({ laneBytes, inlineBytes: laneBytes / 2 - 24 });
      for (let offset = 0; offset < laneBytes; offset += 8) {
        at.carried = offset;
        const endpoint = sender.connect(receiver.address);
        const most = endpoint.maxHeaderBytes;
        for (let length = 0; length <= most + 2; length++) {
          for (const [id, headerLength] of [0, Math.min(3, most), most].entries()) {
            const sent = { id, header: bytes(headerLength, offset), data: bytes(length, offset + 1) };
            endpoint.trySend(id, sent.data, sent.header);
            receiver.progress();
            // Expecting each of so many takes seconds.
            if (got.length !== 1 || !isSame(got[0]!, sent)) expect(got).toEqual([sent]);
            got.length = 0;
          }
        }
        endpoint.close();
        receiver.progress();
      }
      expect(context.usage()).toEqual({ workers: 2, lanes: 0, slots: 0 });
    },
  );
});

describe('TR-04: the end of a lane, by sendMany', () => {
  it.each([64, 128, 256])('of %i bytes: batches of every length at every offset', (laneBytes) => {
    const inlineBytes = laneBytes / 2 - 24;
    const { context, at, receiver, sender, got } = make({ laneBytes, inlineBytes });
    for (let offset = 0; offset < laneBytes; offset += 8) {
      at.carried = offset;
      const endpoint = sender.connect(receiver.address);
      for (let length = 0; length <= inlineBytes + 2; length++) {
        const all = [length, inlineBytes - length, 1, length].map((bytesOf, i) =>
          bytes(Math.max(bytesOf, 0), offset + i),
        );
        for (let sent = 0; sent < all.length; receiver.progress()) {
          const now = endpoint.sendMany(2, all.slice(sent), bytes(length % 2, 7));
          if (now === 0) expect.unreachable('an empty lane has room for each');
          sent += now;
        }
        const expected = all.map((data) => ({ id: 2, header: bytes(length % 2, 7), data }));
        if (got.length !== all.length || !got.every((one, i) => isSame(one, expected[i]!))) {
          expect(got).toEqual(expected);
        }
        got.length = 0;
      }
      endpoint.close();
      receiver.progress();
    }
    expect(context.usage()).toEqual({ workers: 2, lanes: 0, slots: 0 });
  });
});

describe('TR-01: what was carried before', () => {
  const before = [2 ** 32 - 64, 2 ** 33 - 64, 2 ** 40 - 64, 2 ** 31 - 64, 0];
  it.each(before)('%i bytes: empty, half full and full, in order', (carried) => {
    const { at, receiver, sender, got } = make({ laneBytes: 256, inlineBytes: 100 });
    at.carried = carried;
    const endpoint = sender.connect(receiver.address);
    // Of 16 bytes each: the lane takes 16 of them.
    const send = (from: number, count: number) => {
      const first = from + (count >> 2);
      for (let i = from; i < first; i++) expect(endpoint.trySend(1, bytes(8, i))).toBe('sent');
      const rest = Array.from({ length: from + count - first }, (_, i) => bytes(8, first + i));
      expect(endpoint.sendMany(1, rest)).toBe(rest.length);
    };
    const numbers = () => got.splice(0).map(({ data }) => data[0]);
    const list = (from: number, count: number) => Array.from({ length: count }, (_, i) => from + i);
    expect(receiver.progress()).toBe(0);
    let next = 0;
    for (const fill of [0, 8, 15, 16]) {
      for (let round = 0; round < 10; round++) {
        send(next, fill);
        if (fill === 16) expect(endpoint.trySend(1, bytes(8, 0))).toBe('no-resource');
        const some = receiver.progress(fill / 2);
        const rest = receiver.progress();
        expect(some + rest).toBe(fill);
        expect(numbers()).toEqual(list(next, fill).map((i) => i & 0xff));
        expect(receiver.progress()).toBe(0);
        next += fill;
      }
    }
    endpoint.flush();
    endpoint.close();
  });

  it.each([2 ** 32, 2 ** 33, 2 ** 34])('%i bytes: the first message of a shared worker', (carried) => {
    const { context, at, sender } = make({ laneBytes: 256 });
    const shared = context.createWorker({ threadMode: 'multi' });
    let got = 0;
    shared.on(1, () => got++);
    // Behind its record is the place at which a lane begins that has carried nothing.
    at.carried = carried - 16;
    const endpoint = sender.connect(shared.address);
    expect(endpoint.trySend(1, bytes(8, 0))).toBe('sent');
    expect(shared.wait({ timeout: 0 })).toBe(true);
    expect(shared.progress()).toBe(1);
    expect(shared.wait({ timeout: 0 })).toBe(false);
    expect(got).toBe(1);
  });

  it('generations of workers in one row: they wrap, and an old address leads nowhere', () => {
    const { context, receiver, got } = make({ laneBytes: 256 });
    const { byteOffset, byteLength } = context.segment.openStructure(context.name, contextLayout);
    const words = context.segment.wordsAt(byteOffset, byteLength);
    // The third row: its next worker has the last generation but one.
    words[workerRowAt(2) + workerRowLayout.offsets.state] = (2 ** 31 - 3) << 1;
    const stale = [];
    for (let i = 0; i < 4; i++) {
      const worker = context.createWorker();
      expect(worker.address.row).toBe(2);
      for (const address of stale) {
        expect(() => receiver.connect(address)).toThrow(
          expect.objectContaining({ code: 'ERR_HEDDLE_CLOSED' }),
        );
      }
      const there = receiver.connect(worker.address);
      const back = worker.connect(receiver.address);
      let came = 0;
      worker.on(1, ({ sender }) => {
        came++;
        expect(sender).toEqual(receiver.address);
      });
      expect(there.trySend(1, bytes(8, i))).toBe('sent');
      expect(worker.progress()).toBe(1);
      expect(came).toBe(1);
      expect(back.trySend(1, bytes(8, i))).toBe('sent');
      expect(receiver.progress()).toBe(1);
      expect(got.pop()?.data).toEqual(bytes(8, i));
      stale.push(worker.address);
      worker.close();
      receiver.progress();
    }
    expect(new Set(stale.map(({ generation }) => generation)).size).toBe(4);
    expect(context.usage()).toMatchObject({ lanes: 0 });
  });
});

describe('TR-03: bytes of a lane', () => {
  it.each([64, 1024, 2 ** 24])('%i are granted, filled exactly and drained, three times', (laneBytes) => {
    const record = Math.min(laneBytes / 8, 2 ** 15);
    const { receiver, sender, got } = make({
      laneBytes,
      maxLanes: 2,
      inlineBytes: record - 8,
      slotBytes: 2 ** 15,
    });
    const endpoint = sender.connect(receiver.address);
    const data = bytes(record - 8, 1);
    for (let lap = 0; lap < 3; lap++) {
      let sent = 0;
      while (endpoint.trySend(1, data) === 'sent') sent++;
      expect(sent).toBe(laneBytes / record);
      while (receiver.progress() > 0);
      expect(got.splice(0).map((message) => message.data.length)).toEqual(Array(sent).fill(data.length));
    }
  });

  it.each([
    -64,
    0,
    1,
    2,
    3,
    6,
    8,
    32,
    63,
    65,
    96,
    1000,
    4095,
    4097,
    12_288,
    2 ** 24 + 64,
    2 ** 25,
    2 ** 31,
    2 ** 32 + 64,
    1024.5,
    Number.NaN,
    Infinity,
  ])('%d are refused before anything is made', (laneBytes) => {
    expect(() => Context.create({ ...SMALL, laneBytes })).toThrow(RangeError);
  });
});
