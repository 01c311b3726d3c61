import { HeddleError, realPlatform, Segment } from '@heddle/memory';
import { describe, expect, it, onTestFinished } from 'vitest';
import { addressFromBytes, addressToBytes } from './address.js';
import { Completion } from './completion.js';
import { Context } from './context.js';
import { planOf } from './context-options.js';
import { Idle, type IdleStrategy } from './idle.js';
import { laneLayout } from './lane.layout.js';
import type { Lease, LeaseHandle } from './lease.js';
import type { Message } from './message.js';
import { bytes, codeOf, makePair, SMALL } from './pair.test-worker.js';
import { laneAt, laneStride, workerRowAt, workerRowLayout } from './transport.layout.js';

/** Memory of which more or less can be had later. */
function resizable(byteLength: number, maxByteLength: number) {
  const Resizable = ArrayBuffer as unknown as new (
    byteLength: number,
    options: { maxByteLength: number },
  ) => ArrayBuffer & { resize(byteLength: number): void };
  const buffer = new Resizable(byteLength, { maxByteLength });
  return { buffer, resize: (to: number) => buffer.resize(to) };
}

describe('active messages', () => {
  it('carry header and data of every size, inline and in slots, in order', () => {
    const { receiver, endpoint, context } = makePair();
    const got: [number, number, Uint8Array, Uint8Array][] = [];
    receiver.on(7, (message) => {
      got.push([message.id, message.byteLength, message.data.slice(), message.header.slice()]);
    });
    const sizes = [0, 1, 7, 8, 9, 24, 25, 56, 64, 65, 100, 4095, 4096];
    for (const [i, size] of sizes.entries()) {
      for (const header of [0, 3, 8, 64]) {
        expect(endpoint.trySend(7, bytes(size, i), bytes(header, 100))).toBe('sent');
        expect(receiver.progress()).toBe(1);
        expect(got.pop()).toEqual([7, size, bytes(size, i), bytes(header, 100)]);
      }
    }
    expect(context.usage().slots).toBe(0);
  });

  it('keep their order between inline, slot and loan (TR-14)', () => {
    const { receiver, endpoint } = makePair();
    const got: number[] = [];
    receiver.on(1, (message) => got.push(message.data[0]!));
    endpoint.trySend(1, bytes(1, 1));
    endpoint.trySend(1, bytes(1000, 2));
    const loan = endpoint.loan(500)!;
    loan.data[0] = 3;
    expect(endpoint.trySend(1, loan)).toBe('sent');
    endpoint.trySend(1, bytes(1, 4));
    expect(receiver.progress()).toBe(4);
    expect(got).toEqual([1, 2, 3, 4]);
  });

  it('travel in place as loans: what the receiver sees is what the sender wrote into', () => {
    const { receiver, endpoint } = makePair();
    const loan = endpoint.loan(4096)!;
    const { byteOffset } = loan;
    loan.data.set(bytes(4096, 9));
    endpoint.trySend(2, loan);
    expect(codeOf(() => loan.data)).toBe('ERR_HEDDLE_NOT_HOLDER');
    receiver.on(2, (message) => {
      expect(message.byteOffset).toBe(byteOffset);
      expect(message.data).toEqual(bytes(4096, 9));
    });
    expect(receiver.progress()).toBe(1);
  });

  it('are copied in from any offset and out of shared memory (PF-02)', () => {
    const { receiver, endpoint } = makePair();
    const source = bytes(3000);
    let got: Uint8Array = bytes(0);
    receiver.on(1, (message) => {
      got = new Uint8Array(message.byteLength);
      message.copyTo(got);
    });
    for (let offset = 0; offset < 9; offset++) {
      endpoint.trySend(1, source.subarray(offset, offset + 2000));
      receiver.progress();
      expect(got).toEqual(source.slice(offset, offset + 2000));
    }
    expect(source.byteLength).toBe(3000);
  });

  it('say where they come from, so that one can answer', () => {
    const { receiver, sender, endpoint } = makePair();
    receiver.on(1, (message) => {
      receiver.connect(message.sender).trySend(2, bytes(3));
    });
    let answers = 0;
    sender.on(2, () => answers++);
    endpoint.trySend(1);
    receiver.progress();
    sender.progress();
    expect(answers).toBe(1);
  });

  it('and reports find the worker that the endpoint was made from, of several in one thread', () => {
    const { context, receiver } = makePair();
    const reports: number[] = [];
    const others = [0, 1].map((i) => {
      const other = context.createWorker();
      return { other, endpoint: other.connect(receiver.address, { onClosed: () => reports.push(i) }) };
    });
    const senders: number[] = [];
    receiver.on(1, (message) => senders.push(message.sender.row));
    for (const { endpoint } of others) endpoint.trySend(1);
    while (receiver.progress() > 0);
    expect(senders.sort()).toEqual(others.map(({ other }) => other.address.row));
    receiver.close();
    others[1]?.other.progress();
    expect(reports).toEqual([1]);
    others[0]?.other.progress();
    expect(reports).toEqual([1, 0]);
  });

  it('without a handler are an error, dropped, and give their slot back', () => {
    const { receiver, endpoint, context } = makePair();
    let handled = 0;
    receiver.on(1, () => handled++);
    endpoint.trySend(9, bytes(1000));
    endpoint.trySend(1);
    expect(codeOf(() => receiver.progress())).toBe('ERR_HEDDLE_NAME_UNKNOWN');
    expect(receiver.progress()).toBe(1);
    expect(handled).toBe(1);
    expect(context.usage().slots).toBe(0);
  });

  it('whose handler throws count as handled; the others stay', () => {
    const { receiver, endpoint } = makePair();
    const got: number[] = [];
    receiver.on(1, (message) => {
      got.push(message.data[0]!);
      if (got.length === 1) throw new Error('from the handler');
    });
    for (let i = 0; i < 3; i++) endpoint.trySend(1, bytes(1, i));
    expect(() => receiver.progress()).toThrow('from the handler');
    expect(receiver.progress()).toBe(2);
    expect(got).toEqual([0, 1, 2]);
  });

  it('whose handler throws at the last of a sender that has gone: its lane is left to whoever uses it next', () => {
    const { context, receiver, sender, endpoint } = makePair();
    receiver.on(1, () => {
      throw new Error('from the handler');
    });
    endpoint.trySend(1, bytes(1));
    endpoint.close();
    expect(() => receiver.progress()).toThrow('from the handler');
    expect(context.usage().lanes).toBe(0);
    const other = context.createWorker();
    const got: number[] = [];
    other.on(2, ({ byteLength }) => got.push(byteLength));
    sender.connect(other.address).trySend(2, bytes(1000));
    expect(receiver.progress()).toBe(0);
    expect(other.progress()).toBe(1);
    expect(got).toEqual([1000]);
  });

  it('whose handler throws at the last of a sender that has gone: its lane may lead here again', () => {
    const { context, receiver, sender, endpoint } = makePair();
    let handled = 0;
    receiver.on(1, () => {
      if (++handled === 1) throw new Error('from the handler');
    });
    endpoint.trySend(1, bytes(1));
    endpoint.close();
    expect(() => receiver.progress()).toThrow('from the handler');
    const again = sender.connect(receiver.address);
    for (let i = 0; i < 3; i++) again.trySend(1, bytes(1000));
    while (receiver.progress() > 0);
    expect(handled).toBe(4);
    expect(context.usage().slots).toBe(0);
  });

  it('are over when their handler has returned', () => {
    const { receiver, endpoint } = makePair();
    let kept: Message | undefined;
    receiver.on(1, (message) => {
      kept = message;
    });
    endpoint.trySend(1, bytes(4));
    receiver.progress();
    expect(codeOf(() => kept?.data)).toBe('ERR_HEDDLE_STALE_DESCRIPTOR');
    expect(codeOf(() => kept?.keep())).toBe('ERR_HEDDLE_STALE_DESCRIPTOR');
  });

  it('are handled up to a budget, and fairly: a flood does not shut out another sender', () => {
    const { context, receiver, endpoint } = makePair({ laneBytes: 8192 });
    const other = context.createWorker();
    const got: number[] = [];
    receiver.on(1, () => got.push(1));
    receiver.on(2, () => got.push(2));
    for (let i = 0; i < 300; i++) endpoint.trySend(1);
    other.connect(receiver.address).trySend(2);
    expect(receiver.progress(10)).toBe(10);
    while (receiver.progress(50) > 0);
    expect(got.length).toBe(301);
  });
});

describe('back-pressure', () => {
  it('is an answer: no resource, then sent when the receiver made room (TR-13)', () => {
    const { receiver, endpoint } = makePair();
    receiver.on(1, () => {});
    let sent = 0;
    while (endpoint.trySend(1, bytes(8)) === 'sent') sent++;
    expect(sent).toBe(1024 / 16);
    expect(endpoint.trySend(1, bytes(8))).toBe('no-resource');
    receiver.progress(1);
    expect(endpoint.trySend(1, bytes(8))).toBe('sent');
  });

  it('of slots leaves inline messages a way', () => {
    const { receiver, endpoint } = makePair();
    receiver.on(1, () => {});
    let sent = 0;
    while (endpoint.trySend(1, bytes(1000)) === 'sent') sent++;
    expect(sent).toBe(8);
    expect(endpoint.loan(10)).toBeUndefined();
    expect(endpoint.trySend(1, bytes(8))).toBe('sent');
    expect(receiver.progress()).toBe(9);
  });

  it('ends a blocking send in time, and nothing was sent', () => {
    const { receiver, endpoint, context } = makePair();
    let got = 0;
    receiver.on(1, () => got++);
    let sent = 0;
    while (endpoint.trySend(1, bytes(8)) === 'sent') sent++;
    expect(codeOf(() => endpoint.send(1, bytes(8), undefined, { timeout: 1 }))).toBe('ERR_HEDDLE_TIMED_OUT');
    expect(codeOf(() => endpoint.send(1, bytes(800), undefined, { timeout: 1 }))).toBe(
      'ERR_HEDDLE_TIMED_OUT',
    );
    while (receiver.progress() > 0);
    expect(got).toBe(sent);
    expect(context.usage().slots).toBe(0);
  });

  it('says which slots are out where the time is up while it waits for one', async () => {
    const { endpoint, context } = makePair();
    const loans = Array.from({ length: 8 }, () => endpoint.loan(100)!);
    const said = {
      code: 'ERR_HEDDLE_TIMED_OUT',
      message: expect.stringMatching(
        /^All 8 slots for data of up to 4096 bytes are out.*context\.report\(\)/,
      ),
      facts: { slots: 8, bytes: 4096 },
    };
    expect(() => endpoint.send(1, bytes(100), undefined, { timeout: 1 })).toThrow(
      expect.objectContaining(said),
    );
    await expect(endpoint.sendAsync(1, bytes(100), undefined, { timeout: 1 })).rejects.toMatchObject(said);
    await expect(endpoint.loanAsync(100, { timeout: 1 })).rejects.toMatchObject(said);
    const reason = new HeddleError('ERR_HEDDLE_TIMED_OUT', 'mine');
    const aborted = endpoint.loanAsync(100, { signal: AbortSignal.abort(reason) });
    await expect(aborted).rejects.toBe(reason);
    for (const loan of loans) loan.cancel();
    expect(context.usage().slots).toBe(0);
  });

  it('makes asynchronous sends wait in order, and nothing overtakes them', async () => {
    const { receiver, endpoint } = makePair();
    const got: number[] = [];
    receiver.on(1, (message) => got.push(message.data[0]!));
    let sent = 0;
    while (endpoint.trySend(1, bytes(8, sent)) === 'sent') sent++;
    const order: number[] = [];
    const waiting = [1000, 8, 64, 3000].map((size, i) =>
      endpoint.sendAsync(1, bytes(size, sent + i)).then(() => order.push(i)),
    );
    await Promise.resolve();
    expect(codeOf(() => endpoint.send(1))).toBe('ERR_HEDDLE_OUTSTANDING');
    receiver.progress(1);
    expect(endpoint.trySend(1)).toBe('no-resource');
    const abort = new AbortController();
    const aborted = endpoint.sendAsync(1, bytes(2000), undefined, { signal: abort.signal });
    abort.abort(new Error('given up'));
    await expect(aborted).rejects.toThrow('given up');
    while (order.length < 4) {
      receiver.progress();
      await new Promise(setImmediate);
    }
    receiver.progress();
    await Promise.all(waiting);
    expect(order).toEqual([0, 1, 2, 3]);
    expect(got).toEqual(Array.from({ length: sent + 4 }, (_, i) => i));
  });

  it('gives slots to asynchronous sends in their order: none holds one that waits behind another', async () => {
    const { receiver, endpoint } = makePair({ slots: 1 });
    const got: number[] = [];
    for (const id of [1, 2, 3]) receiver.on(id, () => got.push(id));
    const only = endpoint.loan(1000)!;
    const first = endpoint.sendAsync(1, bytes(1000));
    const second = endpoint.sendAsync(2, bytes(1000));
    // The slot is there now, and the first two are not awake yet.
    only.cancel();
    const third = endpoint.sendAsync(3, bytes(1000));
    for (let turn = 0; turn < 100; turn++) {
      receiver.progress();
      await new Promise(setImmediate);
    }
    expect(got).toEqual([1, 2, 3]);
    await Promise.all([first, second, third]);
  });

  it.each([
    ['grow', 8, 64],
    ['grow', 1000, 4000],
    ['are transferred away', 1000, 0],
    ['are transferred away', 8, 0],
  ])(
    'refuses data that %s from %d bytes while they wait, and writes nothing of them (TR-07)',
    async (_, length, becomes) => {
      const { receiver, sender, endpoint } = makePair({ slots: 2, slotBytes: 1024 });
      receiver.on(1, () => {});
      const loans = [endpoint.loan(1024)!, endpoint.loan(1024)!];
      for (const { data } of loans) data.fill(7);
      while (endpoint.trySend(1, bytes(8)) === 'sent');
      const { buffer, resize } = resizable(length, 4000);
      const data = new Uint8Array(buffer).fill(9);
      const sending = Promise.allSettled([endpoint.sendAsync(1, data), endpoint.sendAsync(1, bytes(8))]);
      // Whichever lies before the other.
      const first = loans[0]!.byteOffset < loans[1]!.byteOffset ? loans[0]! : loans[1]!;
      const second = loans[0] === first ? loans[1]! : loans[0]!;
      await new Promise(setImmediate);
      if (becomes > 0) resize(becomes);
      else structuredClone(buffer, { transfer: [buffer] });
      first.cancel();
      for (let turn = 0; turn < 20; turn++) {
        receiver.progress();
        sender.progress();
        await new Promise(setImmediate);
      }
      const [changed, other] = await sending;
      expect(changed).toMatchObject({ status: 'rejected', reason: expect.any(TypeError) });
      expect(other).toMatchObject({ status: 'fulfilled' });
      expect(second.data.every((byte) => byte === 7)).toBe(true);
      // The slot is not lost.
      expect(endpoint.loan(1024)).toBeDefined();
      second.cancel();
    },
  );

  it('takes the largest message, and refuses larger ones with the maximum (TR-07)', () => {
    const { receiver, endpoint, context } = makePair({ laneBytes: 64, inlineBytes: 8, largeSlots: [] });
    const sizes: number[] = [];
    receiver.on(1, (message) => sizes.push(message.byteLength));
    expect(endpoint.maxDataBytes).toBe(4096);
    for (const size of [4097, 40_960]) {
      expect(() => endpoint.trySend(1, bytes(size))).toThrow('at most 4096');
      expect(() => endpoint.send(1, bytes(size))).toThrow('at most 4096');
      expect(() => endpoint.loan(size)).toThrow('at most 4096');
    }
    expect(() => endpoint.trySend(1, bytes(0), bytes(9))).toThrow('at most 8');
    expect(endpoint.trySend(1, bytes(4096), bytes(8))).toBe('sent');
    expect(endpoint.trySend(1, bytes(1))).toBe('sent');
    while (receiver.progress() > 0);
    expect(sizes).toEqual([4096, 1]);
    expect(context.usage().slots).toBe(0);
  });

  it('publishes what was corked at once, or when the lane is full', () => {
    const { receiver, endpoint } = makePair();
    let got = 0;
    receiver.on(1, () => got++);
    endpoint.cork();
    for (let i = 0; i < 5; i++) endpoint.trySend(1);
    receiver.progress();
    expect(got).toBe(0);
    endpoint.uncork();
    receiver.progress();
    expect(got).toBe(5);
    endpoint.cork();
    let sent = 0;
    while (endpoint.trySend(1) === 'sent') sent++;
    while (receiver.progress() > 0);
    expect(got).toBe(5 + sent);
    endpoint.uncork();
  });
});

describe('kept data', () => {
  it('stays until it is released, whether it came in a slot or in the lane', () => {
    const { receiver, endpoint, context } = makePair();
    const leases: ReturnType<Message['keep']>[] = [];
    receiver.on(1, (message) => {
      leases.push(message.keep());
      expect(codeOf(() => message.keep())).toBe('ERR_HEDDLE_NOT_HOLDER');
    });
    endpoint.trySend(1, bytes(1000, 1));
    endpoint.trySend(1, bytes(10, 2));
    receiver.progress();
    expect(context.usage().slots).toBe(2);
    expect(leases[0]?.data).toEqual(bytes(1000, 1));
    expect(leases[1]?.data).toEqual(bytes(10, 2));
    for (const lease of leases) lease.release();
    expect(context.usage().slots).toBe(0);
    expect(codeOf(() => leases[0]?.release())).toBe('ERR_HEDDLE_STALE_DESCRIPTOR');
    expect(codeOf(() => leases[0]?.data)).toBe('ERR_HEDDLE_STALE_DESCRIPTOR');
  });

  it('is an error to keep from the lane where all slots are out', () => {
    const { receiver, endpoint } = makePair();
    let code = '';
    receiver.on(1, (message) => {
      code = codeOf(() => message.keep());
    });
    const loans = Array.from({ length: 8 }, () => endpoint.loan(1));
    endpoint.trySend(1, bytes(10));
    receiver.progress();
    expect(code).toBe('ERR_HEDDLE_EXHAUSTED');
    for (const loan of loans) loan?.cancel();
  });

  it('is told with its holder and age, so that what is forgotten is found, and lasts when all around it is closed', () => {
    let now = 1000;
    const segment = Segment.create({ platform: { ...realPlatform, now: () => now } });
    onTestFinished(() => segment.detach());
    const { context, receiver, sender, endpoint } = makePair({ segment, slotBytes: 1000 });
    const leases: ReturnType<Message['keep']>[] = [];
    receiver.on(1, (message) => leases.push(message.keep()));
    const loan = endpoint.loan(8);
    for (const size of [1000, 10]) {
      endpoint.trySend(1, bytes(size, 7));
      receiver.progress();
      now += 500;
    }
    const { id: threadId } = segment.thread;
    expect(context.kept()).toMatchObject([
      { threadId, handedOver: false, ageMs: 1000 },
      { threadId, handedOver: false, ageMs: 500 },
    ]);
    expect(context.kept({ olderThanMs: 600 })).toHaveLength(1);
    const handle = leases[1]!.handOver();
    expect(context.kept({ olderThanMs: 0 })[1]).toMatchObject({ handedOver: true });
    expect(context.report()).toMatch(/kept: descriptor \d+ of size 0, held by thread \d+, for 1000 ms/);
    // Closed at once; what is kept is out of reach of everybody else until it is released.
    endpoint.close();
    receiver.close();
    sender.close();
    loan?.cancel();
    expect(context.usage().slots).toBe(2);
    expect(leases[0]!.data).toEqual(bytes(1000, 7));
    leases[0]!.release();
    context.lease(handle).release();
    expect(context.kept()).toEqual([]);
    expect(context.usage()).toEqual({ workers: 0, lanes: 0, slots: 0 });
  });

  it('is taken over by its handle, once', () => {
    const { receiver, endpoint, context } = makePair();
    let handle: ReturnType<ReturnType<Message['keep']>['handOver']> | undefined;
    receiver.on(1, (message) => {
      const lease = message.keep();
      handle = lease.handOver();
      // Taken back: what is not handed over nobody else can take.
      context.lease(handle);
      expect(codeOf(() => context.lease(handle!))).toBe('ERR_HEDDLE_NOT_HOLDER');
      handle = lease.handOver();
    });
    endpoint.trySend(1, bytes(100, 5));
    receiver.progress();
    const taken = context.lease(structuredClone(handle!));
    expect(taken.data).toEqual(bytes(100, 5));
    expect(codeOf(() => context.lease(handle!))).toBe('ERR_HEDDLE_NOT_HOLDER');
    taken.release();
    expect(codeOf(() => context.lease(handle!))).toBe('ERR_HEDDLE_STALE_DESCRIPTOR');
    expect(context.usage().slots).toBe(0);
  });

  it('is not taken over by a handle that leads outside of its slot', () => {
    const { receiver, endpoint, context } = makePair();
    let handle: LeaseHandle | undefined;
    receiver.on(1, (message) => {
      handle = message.keep().handOver();
    });
    endpoint.trySend(1, bytes(1000, 5));
    receiver.progress();
    const wrong: [Partial<Record<keyof LeaseHandle, unknown>>, typeof TypeError | typeof RangeError][] = [
      [{ byteLength: 4097 }, RangeError],
      [{ byteLength: -1 }, RangeError],
      [{ byteLength: '8' }, TypeError],
      [{ at: -8 }, RangeError],
      [{ at: 8 }, RangeError],
      [{ at: undefined }, TypeError],
    ];
    for (const [part, type] of wrong) {
      expect(() => context.lease({ ...handle!, ...part } as LeaseHandle)).toThrow(type);
    }
    const taken = context.lease(handle!);
    expect(taken.data).toEqual(bytes(1000, 5));
    taken.release();
  });

  it('is out of reach of who handed it over, until that takes it back', () => {
    const { receiver, endpoint, context } = makePair();
    const leases: Lease[] = [];
    receiver.on(1, (message) => leases.push(message.keep()));
    for (let i = 0; i < 3; i++) endpoint.trySend(1, bytes(100, i));
    receiver.progress();
    const [lease, back, disposed] = leases as [Lease, Lease, Lease];
    const taken = context.lease(lease.handOver());
    expect(codeOf(() => lease.data)).toBe('ERR_HEDDLE_NOT_HOLDER');
    expect(codeOf(() => lease.release())).toBe('ERR_HEDDLE_NOT_HOLDER');
    // As at the end of a block that began with `using`.
    lease[Symbol.dispose]();
    expect(taken.data).toEqual(bytes(100, 0));
    taken.release();
    taken[Symbol.dispose]();
    expect(codeOf(() => lease.release())).toBe('ERR_HEDDLE_STALE_DESCRIPTOR');
    back.handOver();
    back.release();
    expect(codeOf(() => back.release())).toBe('ERR_HEDDLE_STALE_DESCRIPTOR');
    const handle = disposed.handOver();
    disposed[Symbol.dispose]();
    context.lease(handle).release();
    expect(context.usage().slots).toBe(0);
  });

  it('that came back as its thread detached has nothing to release at the end of its block', () => {
    const { receiver, endpoint, context } = makePair();
    let lease: Lease | undefined;
    receiver.on(1, (message) => {
      lease = message.keep();
    });
    endpoint.trySend(1, bytes(100));
    receiver.progress();
    context[Symbol.dispose]();
    lease![Symbol.dispose]();
    expect(codeOf(() => lease!.release())).toBe('ERR_HEDDLE_DETACHED');
  });
});

describe('closing', () => {
  it('of the endpoint: what was sent before still arrives, and the lane is used again', () => {
    const { context, receiver, sender, endpoint } = makePair();
    const got: number[] = [];
    receiver.on(1, (message) => got.push(message.byteLength));
    endpoint.trySend(1, bytes(10));
    endpoint.trySend(1, bytes(1000));
    endpoint.close();
    expect(endpoint.trySend(1)).toBe('closed');
    expect(codeOf(() => endpoint.send(1))).toBe('ERR_HEDDLE_CLOSED');
    receiver.progress();
    receiver.progress();
    expect(got).toEqual([10, 1000]);
    expect(context.usage()).toEqual({ workers: 2, lanes: 0, slots: 0 });
    for (let i = 0; i < 50; i++) {
      const again = sender.connect(receiver.address);
      again.trySend(1, bytes(1));
      again.close();
      expect(receiver.progress()).toBe(1);
    }
    expect(context.usage().lanes).toBe(0);
  });

  it('of the receiver: senders fail, are told once from progress, and unread slots come back', () => {
    const { context, receiver, sender } = makePair();
    const reports: unknown[] = [];
    const endpoint = sender.connect(receiver.address, { onClosed: (report) => reports.push(report) });
    receiver.on(1, () => {});
    endpoint.trySend(1, bytes(1000));
    endpoint.trySend(1, bytes(1));
    expect(context.usage().slots).toBe(1);
    receiver.close();
    expect(context.usage().slots).toBe(0);
    expect(endpoint.trySend(1)).toBe('closed');
    expect(endpoint.closed).toBe(true);
    expect(codeOf(() => endpoint.send(1))).toBe('ERR_HEDDLE_CLOSED');
    expect(codeOf(() => endpoint.flush())).toBe('ERR_HEDDLE_CLOSED');
    sender.progress();
    sender.progress();
    expect(reports).toEqual([{ address: receiver.address, begun: 0, unread: 2 }]);
    expect(codeOf(() => sender.connect(receiver.address))).toBe('ERR_HEDDLE_CLOSED');
    expect(context.usage()).toMatchObject({ workers: 1, lanes: 0 });
    expect(codeOf(() => receiver.progress())).toBe('ERR_HEDDLE_CLOSED');
    receiver.close();
  });

  it('of the context is refused from inside a handler, and changes nothing', async () => {
    const { context, receiver, endpoint } = makePair();
    receiver.on(1, () => context[Symbol.dispose]());
    endpoint.trySend(1);
    expect(codeOf(() => receiver.progress())).toBe('ERR_HEDDLE_OUTSTANDING');
    expect(endpoint.trySend(3)).toBe('sent');
    // A handler that waits for it has returned by then.
    let closing: Promise<void> | undefined;
    receiver.on(3, () => {
      closing = context.close();
    });
    receiver.progress();
    await closing;
    expect(context.segment.attached).toBe(false);
  });

  it('of the context is done although the function of a completion throws', () => {
    const { context, receiver, endpoint } = makePair();
    receiver.on(1, () => {});
    const completion = new Completion(() => {
      throw new Error('from the completion');
    });
    endpoint.trySend(1, bytes(1), undefined, completion);
    expect(() => context[Symbol.dispose]()).toThrow('from the completion');
    expect(completion.failed).toBe(1);
    expect(context.segment.attached).toBe(false);
  });

  it('of the receiver: is told from progress alone, and no wait sleeps through it', async () => {
    const { receiver, sender } = makePair();
    const reports: unknown[] = [];
    sender.connect(receiver.address, { onClosed: (report) => reports.push(report) });
    sender.progress();
    expect(sender.arm()).toBe(true);
    receiver.close();
    expect(sender.arm()).toBe(false);
    expect(sender.wait()).toBe(true);
    expect(await sender.waitAsync()).toBe(true);
    expect(reports).toEqual([]);
    sender.progress();
    expect(reports).toHaveLength(1);
    expect(sender.arm()).toBe(true);
  });

  it('of the receiver, while messages are held back: their slots come back', () => {
    const { context, receiver, sender, endpoint } = makePair();
    endpoint.trySend(1, bytes(1000));
    endpoint.cork();
    endpoint.trySend(1, bytes(1000));
    endpoint.trySend(1, bytes(1000));
    receiver.close();
    expect(context.usage().slots).toBe(2);
    sender.progress();
    endpoint.close();
    expect(context.usage()).toEqual({ workers: 1, lanes: 0, slots: 0 });
  });

  it('ends everything that waits, with an error, once', async () => {
    const { receiver, sender, endpoint } = makePair();
    receiver.on(1, () => {});
    while (endpoint.trySend(1, bytes(8)) === 'sent');
    const outcomes: string[] = [];
    const note = (promise: Promise<unknown>) =>
      promise.then(
        () => outcomes.push('done'),
        (error) => outcomes.push(error.code),
      );
    const pending = [
      note(endpoint.sendAsync(1, bytes(8))),
      note(endpoint.sendAsync(1, bytes(800))),
      note(endpoint.flushAsync()),
    ];
    await new Promise(setImmediate);
    receiver.close();
    sender.progress();
    await Promise.all(pending);
    expect(outcomes).toEqual(['ERR_HEDDLE_CLOSED', 'ERR_HEDDLE_CLOSED', 'ERR_HEDDLE_CLOSED']);
  });

  it('of the context ends a send that waits for room with a slot in hand', async () => {
    const { context, endpoint } = makePair();
    while (endpoint.trySend(1, bytes(8)) === 'sent');
    const pending = endpoint.sendAsync(1, bytes(1000)).catch(({ code }) => code);
    // It has its slot by then.
    await new Promise(setImmediate);
    expect(context.usage().slots).toBe(1);
    context[Symbol.dispose]();
    expect(await pending).toBe('ERR_HEDDLE_CLOSED');
  });

  it('of the context ends a send that waits for a slot, and a flush', async () => {
    const { context, receiver, sender, endpoint } = makePair();
    const loans = Array.from({ length: 8 }, () => endpoint.loan(1000)!);
    const code = (promise: Promise<unknown>) => promise.catch((error) => error.code);
    const pending = code(endpoint.sendAsync(1, bytes(1000)));
    const behind = code(endpoint.sendAsync(1, bytes(8)));
    const flushing = code(endpoint.flushAsync());
    const waiting = code(sender.waitAsync());
    const running = receiver.run();
    await new Promise(setImmediate);
    context[Symbol.dispose]();
    expect(await pending).toBe('ERR_HEDDLE_CLOSED');
    expect(await behind).toBe('ERR_HEDDLE_CLOSED');
    // It came behind what was not sent.
    expect(await flushing).toBe('ERR_HEDDLE_CLOSED');
    expect(await waiting).toBe('ERR_HEDDLE_CLOSED');
    await running;
    for (const loan of loans) loan.cancel();
  });

  it('by shutdown: what was sent is read, then every call fails, and waits end (TR-11, LC-01)', async () => {
    const { context, receiver, sender, endpoint } = makePair();
    let got = 0;
    receiver.on(1, () => got++);
    const running = sender.run();
    const waiting = sender.waitAsync();
    endpoint.trySend(1);
    await new Promise(setImmediate);
    context.shutdown();
    expect(endpoint.trySend(1)).toBe('closed');
    expect(receiver.progress()).toBe(1);
    expect(codeOf(() => receiver.progress())).toBe('ERR_HEDDLE_CLOSED');
    expect(codeOf(() => receiver.wait())).toBe('ERR_HEDDLE_CLOSED');
    expect(codeOf(() => context.createWorker())).toBe('ERR_HEDDLE_CLOSED');
    expect(codeOf(() => Context.attach(context.handle))).toBe('ERR_HEDDLE_CLOSED');
    await running;
    await expect(waiting).rejects.toMatchObject({ code: 'ERR_HEDDLE_CLOSED' });
    expect(got).toBe(1);
  });

  it('by shutdown: what was sent is read although its sender leaves with something held back', () => {
    const { context, receiver, endpoint } = makePair();
    const got: number[] = [];
    receiver.on(1, ({ byteLength }) => got.push(byteLength));
    for (const size of [10, 1000]) endpoint.trySend(1, bytes(size));
    endpoint.cork();
    for (const size of [20, 2000]) endpoint.trySend(1, bytes(size));
    context.shutdown();
    endpoint.close();
    expect(context.usage().slots).toBe(1);
    receiver.progress();
    expect(got).toEqual([10, 1000]);
    expect(receiver.counts.lost).toBe(0);
    expect(context.usage()).toMatchObject({ lanes: 0, slots: 0 });
  });
});

describe('progress', () => {
  it('is refused from inside a handler', () => {
    const { receiver, endpoint } = makePair();
    const codes: string[] = [];
    receiver.on(1, () =>
      codes.push(
        codeOf(() => receiver.progress()),
        codeOf(() => receiver.close()),
      ),
    );
    endpoint.trySend(1);
    receiver.progress();
    expect(codes).toEqual(['ERR_HEDDLE_OUTSTANDING', 'ERR_HEDDLE_OUTSTANDING']);
  });

  it('waits for messages, signals and time', () => {
    const { receiver, endpoint } = makePair();
    receiver.on(1, () => {});
    expect(receiver.wait({ timeout: 1 })).toBe(false);
    endpoint.trySend(1);
    expect(receiver.wait()).toBe(true);
    expect(receiver.arm()).toBe(false);
    receiver.progress();
    expect(receiver.arm()).toBe(true);
    receiver.signal();
    expect(receiver.wait()).toBe(true);
    expect(receiver.wait({ timeout: 0 })).toBe(false);
  });

  it.each([
    ['adaptive', Idle.adaptive()],
    ['busy', Idle.busy()],
    ['backoff', Idle.backoff({ pauses: 4 })],
    ['park', Idle.park()],
    ['eventLoop', Idle.eventLoop()],
  ] as const)('waits, runs and iterates as its idle strategy says: %s', async (_name, idle) => {
    const { context, receiver, sender } = makePair();
    const other = context.createWorker({ idle });
    const endpoint = sender.connect(other.address);
    let got = 0;
    other.on(1, () => got++);
    expect(other.wait({ timeout: 1 })).toBe(false);
    expect(receiver.wait({ timeout: 1, idle })).toBe(false);
    endpoint.trySend(1);
    expect(other.wait()).toBe(true);
    other.progress();
    other.signal();
    expect(other.wait()).toBe(true);
    const abort = new AbortController();
    const running = other.run({ signal: abort.signal });
    for (let i = 0; i < 3; i++) {
      await new Promise(setImmediate);
      endpoint.trySend(1);
      while (got < i + 2) await new Promise(setImmediate);
    }
    abort.abort();
    await running;
    const iterator = other.messages();
    const next = iterator.next();
    await new Promise(setImmediate);
    endpoint.trySend(7);
    expect((await next).value?.id).toBe(7);
    await iterator.return();
    expect(other.progress()).toBe(0);
  });

  it('takes an idle strategy of the program’s own, and refuses what is none', () => {
    const { receiver } = makePair();
    const asked: number[] = [];
    const idle: IdleStrategy = {
      idle: (looks) => {
        asked.push(looks);
        return looks < 3 ? 'look' : 'sleep';
      },
    };
    receiver.wait({ idle, timeout: 1 });
    expect(asked).toEqual([1, 2, 3]);
    for (const wrong of [{}, 'busy', null]) {
      expect(() => receiver.wait({ idle: wrong as never })).toThrow(TypeError);
    }
  });

  it('gives the event loop its turn while messages are iterated over', async () => {
    const { receiver, endpoint } = makePair();
    let turns = 0;
    const timer = setInterval(() => turns++, 1);
    endpoint.trySend(1);
    for await (const _message of receiver.messages()) {
      if (turns >= 3) break;
      endpoint.trySend(1);
    }
    clearInterval(timer);
    expect(turns).toBeGreaterThanOrEqual(3);
  });

  it('runs on the event loop until the signal, and lets the loop turn while messages keep coming', async () => {
    const { receiver, endpoint } = makePair();
    const abort = new AbortController();
    let got = 0;
    let turns = 0;
    receiver.on(1, () => {
      got++;
      endpoint.trySend(1);
    });
    const timer = setInterval(() => {
      if (++turns === 3) abort.abort();
    }, 1);
    endpoint.trySend(1);
    await receiver.run({ signal: abort.signal });
    clearInterval(timer);
    expect(turns).toBe(3);
    expect(got).toBeGreaterThan(10);
  });

  it('ends a run with what a handler threw', async () => {
    const { receiver, endpoint } = makePair();
    receiver.on(1, () => {
      throw new Error('from the handler');
    });
    const running = receiver.run();
    endpoint.trySend(1);
    await expect(running).rejects.toThrow('from the handler');
  });

  it('iterates over messages, and gives each slot back', async () => {
    const { context, receiver, endpoint } = makePair();
    const sizes = [1, 1000, 0, 2000];
    for (const size of sizes) endpoint.trySend(size % 7, bytes(size));
    const got: number[] = [];
    for await (const message of receiver.messages()) {
      got.push(message.byteLength);
      if (got.length === sizes.length) break;
    }
    expect(got).toEqual(sizes);
    expect(context.usage().slots).toBe(0);
    expect(receiver.progress()).toBe(0);
  });

  it('iterates over messages while endpoints come and go', async () => {
    const { context, receiver, sender, endpoint: first } = makePair();
    const other = context.createWorker();
    // All endpoints from a worker to a worker share a lane, which ends with the last of them.
    first.close();
    let got = 0;
    let sent = 0;
    const send = () => {
      const endpoint = (sent % 2 === 0 ? sender : other).connect(receiver.address);
      endpoint.trySend(1, bytes(4, sent++));
      endpoint.close();
    };
    send();
    for await (const message of receiver.messages()) {
      expect(message.data[0]).toBe(got);
      if (++got === 100) break;
      send();
    }
    receiver.progress();
    expect(context.usage().lanes).toBe(0);
  });

  it('flushes: what was sent was handled', async () => {
    const { receiver, endpoint } = makePair();
    receiver.on(1, () => {});
    endpoint.flush();
    endpoint.trySend(1);
    expect(codeOf(() => endpoint.flush({ timeout: 1 }))).toBe('ERR_HEDDLE_TIMED_OUT');
    const flushed = endpoint.flushAsync();
    receiver.progress();
    await flushed;
  });
});

describe('a thread that must not block', () => {
  it('is refused each blocking form, always, and has the others (LC-03)', async () => {
    const segment = Segment.create({ platform: { ...realPlatform, canBlock: () => false } });
    const { receiver, endpoint } = makePair({ segment });
    let got = 0;
    receiver.on(1, () => got++);
    for (const act of [() => receiver.wait(), () => endpoint.send(1), () => endpoint.flush()]) {
      expect(codeOf(act)).toBe('ERR_HEDDLE_MUST_NOT_BLOCK');
      endpoint.trySend(1);
      expect(codeOf(act)).toBe('ERR_HEDDLE_MUST_NOT_BLOCK');
    }
    expect(await receiver.waitAsync()).toBe(true);
    receiver.progress();
    await endpoint.sendAsync(1);
    receiver.progress();
    await endpoint.flushAsync();
    expect(got).toBe(4);
  });
});

describe('layout', () => {
  it('keeps words that different sides write on lines of their own, also between neighbours (PF-08)', () => {
    const { tail, head, state } = laneLayout.offsets;
    const shape = {
      maxWorkers: 3,
      maxLanes: 2,
      laneBytes: 64,
      inlineBytes: 8,
      mtType: 'spinlock',
      slotBytes: [8],
    } as const;
    const lines = [
      workerRowAt(0) + workerRowLayout.offsets.owner,
      workerRowAt(0) + workerRowLayout.offsets.doorbell,
      workerRowAt(0) + workerRowLayout.offsets.entry,
      workerRowAt(1) + workerRowLayout.offsets.owner,
      ...[state, tail, head, laneLayout.wordCount].map((word) => laneAt(shape, 0) + word),
      laneAt(shape, 1) + state,
    ].map((word) => Math.floor(word / 32));
    expect(new Set(lines).size).toBe(lines.length);
    expect(laneAt(shape, 1) % 32).toBe(0);
  });

  it('places the lanes of the largest context beyond 2 GiB exactly (PL-11)', () => {
    const shape = {
      maxWorkers: 4096,
      maxLanes: 65_536,
      laneBytes: 2 ** 24,
      inlineBytes: 8,
      mtType: 'spinlock',
      slotBytes: [8],
    } as const;
    expect(laneAt(shape, 65_536) - laneAt(shape, 0)).toBe(65_536 * laneStride(shape));
    expect(laneStride(shape) * 4).toBe(2 ** 24 + laneLayout.byteLength);
  });
});

describe('addresses and contexts', () => {
  it('travel as objects and as bytes', () => {
    const { receiver } = makePair();
    const address = receiver.address;
    expect(addressFromBytes(addressToBytes(address))).toEqual(address);
    expect(structuredClone(address)).toEqual(address);
    expect(() => addressFromBytes(bytes(20))).toThrow(TypeError);
    expect(() => addressFromBytes(bytes(3))).toThrow(TypeError);
    const shared = new Uint8Array(new SharedArrayBuffer(20));
    shared.set(addressToBytes(address));
    expect(addressFromBytes(shared)).toEqual(address);
  });

  it('of an earlier worker: its signal wakes nobody who is in its row now', () => {
    const { context, receiver } = makePair();
    receiver.close();
    const next = context.createWorker();
    expect(next.address.row).toBe(receiver.address.row);
    receiver.signal();
    expect(next.wait({ timeout: 0 })).toBe(false);
  });

  it('of an earlier worker in the same row lead nowhere', () => {
    const { context, receiver, sender } = makePair();
    const { address } = receiver;
    receiver.close();
    const next = context.createWorker();
    expect(next.address.row).toBe(address.row);
    expect(codeOf(() => sender.connect(address))).toBe('ERR_HEDDLE_CLOSED');
    expect(sender.connect(next.address).trySend(1)).toBe('sent');
  });

  it('refuse bad arguments before anything changes', () => {
    const { context, receiver, sender, endpoint } = makePair();
    const wrong = (value: unknown) => value as never;
    expect(() => sender.connect(wrong({}))).toThrow(TypeError);
    expect(() => sender.connect({ ...receiver.address, segment: '0123456789abcdef' })).toThrow(RangeError);
    expect(() => sender.connect({ ...receiver.address, row: 1.5 })).toThrow(RangeError);
    expect(() => endpoint.trySend(wrong('a'))).toThrow(TypeError);
    expect(() => endpoint.trySend(65_536)).toThrow(RangeError);
    expect(() => endpoint.trySend(-1)).toThrow(RangeError);
    expect(() => endpoint.trySend(1, wrong('text'))).toThrow(TypeError);
    expect(() => endpoint.trySend(1, wrong(new Float64Array(1)))).toThrow(TypeError);
    expect(() => endpoint.loan(-1)).toThrow(RangeError);
    expect(() => receiver.progress(-1)).toThrow(RangeError);
    expect(() => receiver.on(1, wrong(undefined))).toThrow(TypeError);
    expect(() => context.spawn(new URL('file:///x.js'), { workerData: wrong('text') })).toThrow(TypeError);
    expect(() => Context.attach(wrong({ heddle: 'mpool' }))).toThrow(TypeError);
    for (const options of [
      { laneBytes: 100 },
      { laneBytes: 32 },
      { inlineBytes: 4096, laneBytes: 1024 },
      { slots: 0 },
      { maxWorkers: 0.5 },
      { slotBytes: -1 },
    ]) {
      expect(() => Context.create({ ...SMALL, ...options })).toThrow(RangeError);
    }
    expect(receiver.progress()).toBe(0);
  });

  it('that cannot be made leave nothing behind', () => {
    const segment = Segment.create({ byteLength: 2 ** 21 });
    onTestFinished(() => segment.detach());
    const { free } = segment.space.usage();
    // The lanes, then the pool, find no room.
    for (const options of [{ maxLanes: 2048, laneBytes: 4096 }, { slots: 2 ** 18 }]) {
      expect(() => Context.create({ ...SMALL, segment, ...options })).toThrow();
      expect(segment.space.usage().free).toBe(free);
    }
    makePair({ segment });
  });

  it('have as many workers and lanes as was said, and say so', () => {
    const { context, receiver } = makePair({ maxWorkers: 3, maxLanes: 1 });
    const third = context.createWorker();
    expect(codeOf(() => context.createWorker())).toBe('ERR_HEDDLE_EXHAUSTED');
    expect(codeOf(() => receiver.connect(third.address))).toBe('ERR_HEDDLE_EXHAUSTED');
  });

  it('have a segment with room for more threads than workers', () => {
    expect(planOf({}).maxThreads).toBe(128);
    expect(planOf({ maxWorkers: 4 }).maxThreads).toBe(64);
    expect(planOf({ maxWorkers: 4096 }).maxThreads).toBe(512);
  });

  it('grant only thread modes that there are', () => {
    const { context, receiver } = makePair();
    expect(codeOf(() => context.createWorker({ threadMode: 'exclusive' as never }))).toBe(
      'ERR_HEDDLE_UNSUPPORTED',
    );
    expect(receiver.threadMode).toBe('single');
    const shared = context.createWorker({ threadMode: 'serialized' });
    expect(shared.threadMode).toBe('serialized');
  });

  it('are one per thread, until each use was closed', async () => {
    const { context } = makePair();
    const again = Context.attach(context.handle);
    expect(again).toBe(context);
    await again.close();
    expect(context.createWorker().closed).toBe(false);
  });
});
