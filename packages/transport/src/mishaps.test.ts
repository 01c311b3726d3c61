import { once } from 'node:events';
import type { Worker } from 'node:worker_threads';
import { Segment } from '@heddle/memory';
import { countingPlatform } from '@heddle/memory/counting';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { addressFromBytes, addressToBytes } from './address.js';
import { Context } from './context.js';
import type { Lease } from './lease.js';
import { ENDINGS, ON_PURPOSE } from './mate.test-worker.js';
import { MOMENTS } from './mishaps.test-worker.js';
import { bytes, codeOf, codeOfAsync, makePair, SMALL } from './pair.test-worker.js';
import { THREAD_MODES } from './thread-mode.js';

const url = new URL('./mishaps.test-worker.js', import.meta.url);

describe('addresses', () => {
  it('of another context are refused, also where both live in one segment', () => {
    const { context, receiver, sender } = makePair();
    const elsewhere = makePair();
    const beside = Context.create({ ...SMALL, segment: context.segment, name: 'beside' });
    onTestFinished(() => beside[Symbol.dispose]());
    // Like the other one in all but the context.
    const twin = beside.createWorker({ threadMode: 'multi' });
    expect([twin.address.row, twin.address.generation]).toEqual([
      receiver.address.row,
      receiver.address.generation,
    ]);
    for (const address of [
      elsewhere.receiver.address,
      twin.address,
      { ...receiver.address, row: 4 },
      { ...receiver.address, row: 0xffff },
    ]) {
      expect(codeOf(() => sender.connect(address))).toBe('RangeError');
      expect(codeOf(() => context.openWorker(address))).toBe('RangeError');
      expect(addressFromBytes(addressToBytes(address))).toEqual(address);
    }
    expect(context.usage()).toEqual({ workers: 2, lanes: 1, slots: 0 });
  });

  it('that are no more, or none, are refused', () => {
    const { context, receiver, sender, endpoint } = makePair();
    const { address } = receiver;
    const encoded = addressToBytes(address);
    for (const wrong of [
      encoded.subarray(0, 19),
      bytes(0),
      bytes(20),
      encoded.subarray(1),
      undefined,
      'text',
    ]) {
      expect(() => addressFromBytes(wrong as Uint8Array)).toThrow(TypeError);
    }
    for (const wrong of [null, undefined, 'text', {}, encoded, { ...address, segment: 'x' }]) {
      expect(() => sender.connect(wrong as never)).toThrow(TypeError);
      expect(() => context.openWorker(wrong as never)).toThrow(TypeError);
    }
    for (const wrong of [{ row: -1 }, { row: 0.5 }, { generation: 2 ** 31 }, { context: -1 }]) {
      expect(() => sender.connect({ ...address, ...wrong })).toThrow(RangeError);
    }
    receiver.close();
    expect(codeOf(() => sender.connect(address))).toBe('ERR_HEDDLE_CLOSED');
    expect(codeOf(() => context.openWorker(address))).toBe('ERR_HEDDLE_CLOSED');
    expect(endpoint.trySend(1)).toBe('closed');
    sender.progress();
    expect(context.usage()).toEqual({ workers: 1, lanes: 0, slots: 0 });
  });
});

describe('connecting', () => {
  it('to itself is a way like any other', () => {
    const { context, receiver } = makePair();
    const self = receiver.connect(receiver.address);
    let got = 0;
    receiver.on(1, (message) => {
      if (++got === 1) receiver.connect(message.sender).trySend(1, bytes(1000));
    });
    self.trySend(1);
    expect([receiver.progress(), receiver.progress(), got]).toEqual([1, 1, 2]);
    receiver.close();
    expect(self.trySend(1)).toBe('closed');
    expect(context.usage()).toMatchObject({ workers: 1, slots: 0 });
  });

  it('twice to one address shares a lane, which ends with the last of them', () => {
    const { context, receiver, sender, endpoint } = makePair();
    const again = sender.connect(receiver.address);
    expect(context.usage().lanes).toBe(1);
    const got: number[] = [];
    receiver.on(1, ({ byteLength }) => got.push(byteLength));
    endpoint.trySend(1, bytes(1));
    again.trySend(1, bytes(2));
    endpoint.close();
    expect([endpoint.trySend(1), again.trySend(1, bytes(3))]).toEqual(['closed', 'sent']);
    receiver.progress();
    expect(got).toEqual([1, 2, 3]);
    again.close();
    receiver.progress();
    expect(context.usage().lanes).toBe(0);
  });
});

describe('what cannot be meant', () => {
  const wrong = <T>(value: unknown) => value as T;

  it('is refused before anything is taken or sent', async () => {
    const { context, receiver, sender, endpoint } = makePair();
    for (const idle of [{}, null, 5]) {
      expect(() => context.createWorker({ idle: wrong(idle) })).toThrow(TypeError);
      expect(() => context.openWorker(receiver.address, { idle: wrong(idle) })).toThrow(TypeError);
      expect(() => receiver.messages({ idle: wrong(idle) })).toThrow(TypeError);
    }
    for (const name of [5, {}, null]) {
      expect(() => context.createWorker({ name: wrong(name) })).toThrow(TypeError);
      expect(() => context.openWorker(receiver.address, { name: wrong(name) })).toThrow(TypeError);
    }
    for (const onClosed of [5, {}, null]) {
      expect(() => sender.connect(receiver.address, { onClosed: wrong(onClosed) })).toThrow(TypeError);
    }
    for (const bad of [null, 5, 'text', []]) {
      expect(() => endpoint.trySend(1, wrong(bad))).toThrow(TypeError);
      expect(() => endpoint.trySend(1, bytes(1), wrong(bad))).toThrow(TypeError);
      expect(() => endpoint.sendMany(1, wrong([bad]))).toThrow(TypeError);
    }
    expect(() => endpoint.sendMany(1, wrong(null))).toThrow(TypeError);
    expect(() => endpoint.trySend(1, bytes(1), bytes(0), wrong({}))).toThrow(TypeError);
    expect(() => endpoint.send(1, bytes(1), bytes(0), { completion: wrong({}) })).toThrow(TypeError);
    expect(await codeOfAsync(endpoint.sendAsync(1, bytes(1), bytes(0), { timeout: Number.NaN }))).toBe(
      'RangeError',
    );
    const signal = AbortSignal.abort(new Error('no more'));
    await expect(endpoint.sendAsync(1, bytes(1), bytes(0), { signal })).rejects.toThrow('no more');
    endpoint.cork();
    endpoint.trySend(1);
    for (const timeout of [Number.NaN, wrong<number>('5')]) {
      expect(['RangeError', 'TypeError']).toContain(codeOf(() => endpoint.flush({ timeout })));
      expect(['RangeError', 'TypeError']).toContain(codeOf(() => sender.flush({ timeout })));
    }
    for (const budget of ['5', 5n, null, {}])
      expect(() => receiver.progress(wrong(budget))).toThrow(TypeError);
    expect(receiver.progress()).toBe(0);
    expect(context.usage()).toEqual({ workers: 2, lanes: 1, slots: 0 });
  });

  it('is bytes that only say so', () => {
    const { context, receiver, endpoint } = makePair();
    for (const length of [-8, 5, 5000, Number.NaN]) {
      const bad = wrong<Uint8Array>({ [Symbol.toStringTag]: 'Uint8Array', length, byteLength: length });
      expect(() => endpoint.trySend(1, bad)).toThrow(TypeError);
      expect(() => endpoint.trySend(1, bytes(1), bad)).toThrow(TypeError);
      expect(() => endpoint.sendMany(1, [bad])).toThrow(TypeError);
    }
    expect(receiver.progress()).toBe(0);
    expect(context.usage().slots).toBe(0);
  });

  it('is a completion that is none, also where earlier sends wait', async () => {
    const { receiver, endpoint } = makePair();
    receiver.on(1, () => {});
    while (endpoint.trySend(1) === 'sent');
    const waiting = endpoint.sendAsync(1);
    expect(() => endpoint.trySend(1, bytes(1), bytes(0), wrong({}))).toThrow(TypeError);
    receiver.progress();
    await waiting;
  });

  it('is a loan of another context, and it stays what it was', () => {
    const [one, other] = [makePair(), makePair()];
    const loan = one.endpoint.loan(100)!;
    const others = other.endpoint.loan(100)!;
    expect(() => other.endpoint.trySend(1, loan)).toThrow(TypeError);
    expect(() => other.endpoint.send(1, loan)).toThrow(TypeError);
    expect(() => other.endpoint.sendMany(1, [loan])).toThrow(TypeError);
    expect(one.endpoint.trySend(1, loan)).toBe('sent');
    expect(other.endpoint.trySend(1, others)).toBe('sent');
  });

  it('is a place to copy data to that there is not', () => {
    const { receiver, endpoint } = makePair();
    receiver.on(1, (message) => {
      for (const at of [-1, 0.5, 51, Number.NaN, Infinity, '1', 1n]) {
        const target = new Uint8Array(100);
        expect(() => message.copyTo(target, wrong(at))).toThrow(RangeError);
        expect(target).toEqual(new Uint8Array(100));
      }
      for (const bad of [
        null,
        {},
        new Array(100),
        new Float64Array(100),
        new DataView(new ArrayBuffer(100)),
      ]) {
        expect(() => message.copyTo(wrong(bad))).toThrow(TypeError);
      }
      const target = new Uint8Array(100);
      expect(message.copyTo(target, 50)).toBe(50);
      expect(target.subarray(50)).toEqual(bytes(50, 1));
    });
    endpoint.trySend(1, bytes(50, 1));
    expect(receiver.progress()).toBe(1);
  });

  it('is a lease of what there is not, and it stays to be taken', () => {
    const { context, receiver, endpoint } = makePair();
    const leases: Lease[] = [];
    receiver.on(1, (message) => leases.push(message.keep()));
    endpoint.trySend(1, bytes(100, 1));
    receiver.progress();
    const handle = leases[0]!.handOver();
    for (const bad of [
      { size: 4 },
      { size: '0' },
      { at: -1 },
      { at: 8 },
      { byteLength: -1 },
      { byteLength: SMALL.slotBytes! + 1 },
      { byteLength: Number.NaN },
      { byteLength: '5' },
      { asker: SMALL.maxWorkers },
      { asker: -2 },
    ]) {
      expect(['RangeError', 'TypeError']).toContain(
        codeOf(() => context.lease({ ...handle, ...wrong(bad) })),
      );
    }
    expect(codeOf(() => context.lease({ ...handle, descriptor: -1 }))).toBe('ERR_HEDDLE_BAD_DESCRIPTOR');
    const lease = context.lease(handle);
    expect(lease.data).toEqual(bytes(100, 1));
    lease.release();
  });
});

describe('opening a worker', () => {
  it.each(THREAD_MODES)('of thread mode %s again in one thread gives the same one', (threadMode) => {
    const { context, sender } = makePair();
    const worker = context.createWorker({ threadMode });
    const again = context.openWorker(structuredClone(worker.address));
    expect(again === worker).toBe(true);
    const endpoint = sender.connect(worker.address);
    const got: number[] = [];
    worker.on(1, ({ data }) => got.push(data[0]!));
    for (let i = 0; i < 4; i++) {
      endpoint.trySend(1, Uint8Array.of(i));
      (i % 2 === 0 ? worker : again).progress();
    }
    expect([got, worker.progress(), again.progress()]).toEqual([[0, 1, 2, 3], 0, 0]);
    worker.close();
    expect(codeOf(() => context.openWorker(worker.address))).toBe('ERR_HEDDLE_CLOSED');
  });
});

describe('an endpoint that shares a lane', () => {
  it('lets go of what it holds back when it closes, so that the others’ messages go on', () => {
    const { receiver, sender, endpoint } = makePair();
    const other = sender.connect(receiver.address);
    let got = 0;
    receiver.on(1, () => got++);
    endpoint.cork();
    endpoint.trySend(1);
    endpoint.close();
    other.trySend(1);
    expect([receiver.progress(), got]).toEqual([2, 2]);
    // Neither does it hold back or let go of theirs afterwards.
    endpoint.cork();
    other.trySend(1);
    expect([receiver.progress(), got]).toEqual([1, 3]);
    other.cork();
    other.trySend(1);
    expect(endpoint.uncork()).toBe(false);
    expect([receiver.progress(), other.uncork(), receiver.progress(), got]).toEqual([0, true, 1, 4]);
  });
});

describe('a thread that has closed its use', () => {
  it('gets an error from whatever it calls, and nothing is out', async () => {
    const { context, receiver, sender, endpoint } = makePair();
    const leases: Lease[] = [];
    receiver.on(1, (message) => leases.push(message.keep()));
    endpoint.trySend(1, bytes(1000));
    receiver.progress();
    const lent = endpoint.loan(1000)!;
    const { handle } = context;
    await context.close();
    const closed = 'ERR_HEDDLE_CLOSED';
    expect([endpoint.trySend(1), endpoint.trySend(1, bytes(1000)), endpoint.closed]).toEqual([
      'closed',
      'closed',
      true,
    ]);
    for (const act of [
      () => endpoint.loan(1),
      () => endpoint.send(1),
      () => endpoint.sendMany(1, [bytes(1)]),
      () => sender.connect(receiver.address),
      () => receiver.progress(),
      () => receiver.arm(),
      () => receiver.wait(),
      () => context.createWorker(),
      () => context.openWorker(receiver.address),
      () => context.spawn(url),
      () => context.adopt({ threadId: 5, once() {}, off() {} }),
      () => context.lifeline(),
      () => context.locked(() => {}),
      () => context.shutdown(),
    ]) {
      expect(codeOf(act), String(act)).toBe(closed);
    }
    for (const act of [
      () => endpoint.sendAsync(1),
      () => endpoint.loanAsync(1),
      () => receiver.waitAsync(),
      () => receiver.run().then(() => Promise.reject({ code: closed })),
    ]) {
      expect(await codeOfAsync(act()), String(act)).toBe(closed);
    }
    expect(codeOf(() => lent.data)).toBe('ERR_HEDDLE_DETACHED');
    expect(codeOf(() => leases[0]!.data)).toBe('ERR_HEDDLE_DETACHED');
    expect(codeOf(() => leases[0]!.release())).toBe('ERR_HEDDLE_DETACHED');
    // What harms nobody is done, or not.
    leases[0]![Symbol.dispose]();
    lent.cancel();
    endpoint.uncork();
    endpoint.close();
    receiver.close();
    await context.close();
    context[Symbol.dispose]();
    const again = Context.attach(handle);
    expect(again === context).toBe(false);
    expect(again.usage()).toEqual({ workers: 0, lanes: 0, slots: 0 });
    again[Symbol.dispose]();
  });

  it('has to say a time that can be meant', async () => {
    const { context } = makePair();
    expect(await codeOfAsync(context.close({ timeout: Number.NaN }))).toBe('RangeError');
    expect(await codeOfAsync(context.close({ timeout: '1' as never }))).toBe('TypeError');
    expect(() => context.kept({ olderThanMs: Number.NaN })).toThrow(RangeError);
    expect(context.segment.attached).toBe(true);
    await context.close();
  });

  it('may have closed it with endpoints open, again and again: the segment is as it was', () => {
    const segment = Segment.create({ byteLength: 2 ** 22 });
    onTestFinished(() => segment.detach());
    const first = Context.create({ ...SMALL, janitor: true, segment });
    const { handle } = first;
    first[Symbol.dispose]();
    let before: object | undefined;
    for (let round = 0; round < 20; round++) {
      const context = Context.attach(handle);
      expect(Context.attach(handle)).toBe(context);
      const [receiver, sender] = [context.createWorker(), context.createWorker()];
      const endpoint = sender.connect(receiver.address);
      endpoint.trySend(1, bytes(1000));
      endpoint.trySend(1, bytes(8));
      context[Symbol.dispose]();
      expect(receiver.closed).toBe(false);
      context[Symbol.dispose]();
      expect(receiver.closed).toBe(true);
      before ??= segment.space.usage();
      expect(segment.space.usage()).toEqual(before);
      expect(segment.threads()).toHaveLength(1);
    }
  });
});

describe('a thread that cannot be started', () => {
  it('leaves no link behind: the janitor ends when nobody is left', async () => {
    const context = Context.create({ ...SMALL, janitor: true });
    const { segment, handle } = context;
    await vi.waitUntil(() => segment.janitor !== 0);
    const cannot = [
      () => context.spawn('not-a-path.js'),
      () => context.spawn(url, { workerData: { f() {} } }),
      () => context.spawn(url, { workerData: 'text' as never }),
      () => context.spawn(url, { workerData: { heddle: 1 } }),
    ];
    expect(cannot.map(codeOf)).toEqual(['ERR_WORKER_PATH', expect.anything(), 'TypeError', 'TypeError']);
    const missing = context.spawn<Worker>(new URL('./no-such-file.js', import.meta.url));
    const [error] = await once(missing, 'error');
    expect(error).toMatchObject({ code: expect.stringContaining('MODULE_NOT_FOUND') });
    expect(segment.threads()).toHaveLength(2);
    await context.close();
    // It clears the word when it ends.
    const look = Segment.attach(handle.segment, { linked: false });
    onTestFinished(() => look.detach());
    await vi.waitUntil(() => look.janitor === 0, { timeout: 20_000, interval: 5 });
  });
});

describe('what goes on for long', () => {
  it('threads that have ended are not held on to', async () => {
    const { context } = makePair();
    const offs: number[] = [];
    for (let i = 0; i < 10; i++) {
      const listeners: (() => void)[] = [];
      context.adopt({
        threadId: 1_000_000 + i,
        once: (_event, listener) => listeners.push(listener),
        off: () => offs.push(i),
      });
      if (i > 0) for (const listener of listeners) listener();
    }
    context[Symbol.dispose]();
    expect(new Set(offs)).toEqual(new Set([0]));
  });

  it('looking at the pools again and again opens them once', () => {
    const platform = countingPlatform();
    const segment = Segment.create({ platform });
    onTestFinished(() => segment.detach());
    const { context } = makePair({ segment });
    const counted = () => {
      platform.reset();
      context.usage();
      context.report();
      context.audit();
      return platform.counts();
    };
    const first = counted();
    const second = counted();
    // Who opens a pool takes a gate, and sets a bit.
    expect([first['or']! > 0, second['or']]).toEqual([true, undefined]);
    expect(counted()).toEqual(second);
  });
});

describe('a thread that ends', () => {
  const context = Context.create({ ...SMALL, janitor: true });
  it.each(MOMENTS.flatMap((moment) => ENDINGS.map((ending) => [moment, ending] as const)))(
    'at "%s", by %s, leaves nothing',
    async (moment, ending) => {
      const receiver = context.createWorker();
      receiver.on(1, () => {});
      const told = new Int32Array(new SharedArrayBuffer(8));
      const workerData = { to: receiver.address, moment, ending, told: told.buffer };
      const thread = context.spawn<Worker>(url, { workerData });
      const errors: string[] = [];
      thread.on('error', (error: Error) => errors.push(error.message));
      const exit = once(thread, 'exit').catch(() => {});
      await vi.waitUntil(() => Atomics.load(told, 0) === 1, { timeout: 20_000, interval: 5 });
      if (ending === 'terminate') void thread.terminate();
      await exit;
      await vi.waitUntil(
        () => {
          receiver.progress();
          const { workers, lanes, slots } = context.usage();
          return workers === 1 && lanes + slots === 0 && context.segment.threads().length === 2;
        },
        { timeout: 20_000, interval: 5 },
      );
      expect(errors).toEqual(ending === 'throw' ? [ON_PURPOSE] : []);
      expect(context.audit()).toMatchObject({ outstanding: 0, consistent: true, putTwice: [] });
      receiver.close();
      if (moment === MOMENTS.at(-1) && ending === ENDINGS.at(-1)) context[Symbol.dispose]();
    },
  );
});
