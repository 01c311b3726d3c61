import { describe, expect, it, onTestFinished } from 'vitest';
import { Completion } from './completion.js';
import { Context } from './context.js';
import type { ContextOptions } from './context-options.js';
import type { Lease } from './lease.js';
import type { Loan } from './loan.js';
import { bytes, codeOf, makePair, SMALL } from './pair.test-worker.js';

const KIB = 1024;
const WITH_LARGE: ContextOptions = {
  slots: 4,
  largeSlots: [
    { bytes: 64 * KIB, count: 2 },
    { bytes: 128 * KIB, count: 1 },
  ],
};

const make = (options: ContextOptions = {}) => makePair({ ...WITH_LARGE, ...options });

describe('many messages at once', () => {
  it('arrive in order, in whatever form, and are published together', () => {
    const { receiver, endpoint, context } = make();
    const got: number[][] = [];
    receiver.on(1, ({ byteLength, data }) => got.push([byteLength, data[0] ?? -1]));
    const loan = endpoint.loan(70_000)!;
    loan.data[0] = 3;
    expect(endpoint.sendMany(1, [bytes(8, 1), bytes(1000, 2), loan, bytes(0)])).toBe(4);
    expect(receiver.progress()).toBe(4);
    expect(got).toEqual([
      [8, 1],
      [1000, 2],
      [70_000, 3],
      [0, -1],
    ]);
    expect(context.usage().slots).toBe(0);
    expect(endpoint.sendMany(1, [])).toBe(0);
  });

  it('go as far as there is room: the answer says how many, and the rest can follow', () => {
    const { receiver, endpoint } = make({ laneBytes: 128, inlineBytes: 16 });
    const all = Array.from({ length: 20 }, (_, i) => bytes(8, i));
    const got: number[] = [];
    receiver.on(1, ({ data }) => got.push(data[0]!));
    for (let sent = 0; sent < all.length; receiver.progress()) {
      const now = endpoint.sendMany(1, all.slice(sent));
      expect(now).toBeGreaterThan(0);
      expect(now).toBeLessThanOrEqual(8);
      sent += now;
    }
    expect(got).toEqual(all.map((_, i) => i));
  });

  it('go as far as there are slots; a loan that did not go stays the sender’s', () => {
    const { receiver, endpoint, context } = make();
    const loan = endpoint.loan(100)!;
    const large = Array.from({ length: 4 }, () => bytes(2000));
    expect(endpoint.sendMany(1, [...large, loan])).toBe(3);
    expect(endpoint.sendMany(1, [loan, bytes(5)])).toBe(2);
    receiver.on(1, () => {});
    expect(receiver.progress()).toBe(5);
    expect(context.usage().slots).toBe(0);
  });

  it('are held back by a cork like any other', () => {
    const { receiver, endpoint } = make();
    receiver.on(1, () => {});
    endpoint.cork();
    expect(endpoint.sendMany(1, [bytes(1), bytes(2)])).toBe(2);
    expect(receiver.progress()).toBe(0);
    endpoint.uncork();
    expect(receiver.progress()).toBe(2);
  });

  it('are sent up to a bad one', () => {
    const { receiver, endpoint } = make();
    receiver.on(1, () => {});
    for (const nothing of ['text', null, undefined, {}] as unknown as Uint8Array[]) {
      const bad = [bytes(8), bytes(1000), bytes(8), nothing, bytes(8)];
      expect(codeOf(() => endpoint.sendMany(1, bad))).toBe('TypeError');
      expect(receiver.progress()).toBe(3);
    }
    expect(codeOf(() => endpoint.sendMany(65_536, [bytes(8)]))).toBe('RangeError');
    expect(codeOf(() => endpoint.sendMany(1, [bytes(8)], 'head' as unknown as Uint8Array))).toBe('TypeError');
    expect(receiver.progress()).toBe(0);
  });

  it.each([bytes(8), bytes(1000)])('write to no lane that a getter among them has left: %#', (data) => {
    const { context, receiver, sender, endpoint } = make();
    receiver.on(1, () => {});
    const another = context.createWorker();
    const got: number[] = [];
    another.on(1, (message) => got.push(message.data[0]!));
    const all = [bytes(8), data, bytes(8), bytes(8)];
    Object.defineProperty(all, 1, {
      get() {
        if (!endpoint.closed) {
          endpoint.close();
          receiver.progress();
          // The same lane, and as far.
          sender.connect(another.address).trySend(1, bytes(8, 100));
        }
        return data;
      },
    });
    expect(codeOf(() => endpoint.sendMany(1, all))).toBe('ERR_HEDDLE_CLOSED');
    expect(context.usage()).toMatchObject({ lanes: 1, slots: 0 });
    expect([another.progress(), got]).toEqual([1, [100]]);
  });

  it('are sent up to one whose getter throws', () => {
    const { receiver, endpoint } = make();
    receiver.on(1, () => {});
    const all = [bytes(8), bytes(1000), bytes(8), bytes(8)];
    Object.defineProperty(all, 2, {
      get() {
        throw new RangeError('on purpose');
      },
    });
    expect(codeOf(() => endpoint.sendMany(1, all))).toBe('RangeError');
    expect(receiver.progress()).toBe(2);
    expect(endpoint.trySend(1)).toBe('sent');
    expect(receiver.progress()).toBe(1);
  });

  it('fail where the receiver is gone, and their slots come back', () => {
    const { receiver, sender, endpoint, context } = make();
    const loan = endpoint.loan(100)!;
    receiver.close();
    expect(codeOf(() => endpoint.sendMany(1, [bytes(8), bytes(2000), loan]))).toBe('ERR_HEDDLE_CLOSED');
    // What comes after it does not make them forgotten.
    expect(endpoint.trySend(1, bytes(8))).toBe('closed');
    expect(endpoint.trySend(1, bytes(2000))).toBe('closed');
    sender.progress();
    expect(context.usage().slots).toBe(0);
    expect(codeOf(() => endpoint.sendMany(1, [bytes(8)]))).toBe('ERR_HEDDLE_CLOSED');
  });

  it('fail where the receiver is gone and there is no room, too', () => {
    const { receiver, endpoint } = make();
    while (endpoint.trySend(1, bytes(8)) === 'sent');
    receiver.close();
    expect(codeOf(() => endpoint.sendMany(1, [bytes(8), bytes(1000)]))).toBe('ERR_HEDDLE_CLOSED');
  });

  it('wait behind asynchronous sends', async () => {
    const { receiver, endpoint } = make();
    while (endpoint.trySend(1, bytes(60)) === 'sent');
    const waiting = endpoint.sendAsync(2, bytes(60));
    expect(endpoint.sendMany(3, [bytes(1)])).toBe(0);
    const got: number[] = [];
    for (const id of [1, 2, 3]) receiver.on(id, (message) => got.push(message.id));
    receiver.progress();
    await waiting;
    expect(endpoint.sendMany(3, [bytes(1)])).toBe(1);
    receiver.progress();
    expect(got.slice(-2)).toEqual([2, 3]);
  });
});

describe('messages larger than a slot', () => {
  it('take a slot of the smallest size that holds them, in one piece, and keep their order (TR-14)', () => {
    const { receiver, endpoint, context } = make();
    const sizes = [100, 4 * KIB, 4 * KIB + 1, 64 * KIB, 64 * KIB + 1, 128 * KIB, 10];
    const got: number[] = [];
    receiver.on(1, ({ data, byteLength }) => {
      expect(data).toEqual(bytes(byteLength, byteLength));
      got.push(byteLength);
    });
    for (const size of sizes) {
      const sent = endpoint.trySend(1, bytes(size, size));
      // The largest size has one slot.
      if (sent === 'no-resource') receiver.progress();
      if (sent === 'no-resource') expect(endpoint.trySend(1, bytes(size, size))).toBe('sent');
    }
    while (receiver.progress() > 0);
    expect(got).toEqual(sizes);
    expect(context.usage().slots).toBe(0);
    expect(endpoint.maxDataBytes).toBe(128 * KIB);
    expect(codeOf(() => endpoint.trySend(1, bytes(128 * KIB + 1)))).toBe('ERR_HEDDLE_RECORD_TOO_LARGE');
  });

  it('are limited by the slots of their size, and leave the others alone (TR-13)', () => {
    const { receiver, endpoint } = make();
    const loans: Loan[] = [];
    for (let loan = endpoint.loan(5000); loan; loan = endpoint.loan(5000)) loans.push(loan);
    expect(loans.length).toBe(2);
    expect(endpoint.trySend(1, bytes(5000))).toBe('no-resource');
    expect(endpoint.trySend(1, bytes(100))).toBe('sent');
    expect(endpoint.trySend(1, bytes(100_000))).toBe('sent');
    receiver.on(1, () => {});
    receiver.progress();
    for (const loan of loans) loan.cancel();
    expect(endpoint.trySend(1, bytes(5000))).toBe('sent');
  });

  it('are reused where they lie: a loan is the place that the last one was', () => {
    const { receiver, endpoint } = make();
    receiver.on(1, () => {});
    const places = new Set<number>();
    for (let i = 0; i < 8; i++) {
      const loan = endpoint.loan(128 * KIB)!;
      places.add(loan.byteOffset);
      endpoint.trySend(1, loan);
      receiver.progress();
    }
    expect(places.size).toBe(1);
  });

  it('are kept, handed over, released on whichever worker, and reported (PL-06)', () => {
    const { context, receiver, endpoint } = make();
    let lease: Lease | undefined;
    receiver.on(1, (message) => {
      lease = message.keep();
    });
    endpoint.trySend(1, bytes(70_000, 7));
    receiver.progress();
    expect(context.usage().slots).toBe(1);
    expect(context.report()).toMatch(/transport\.pool\.2\.\w+\.\w+": 1 outstanding/);
    const handle = structuredClone(lease!.handOver());
    const taken = context.lease(handle);
    expect(taken.data).toEqual(bytes(70_000, 7));
    taken.release();
    expect(context.usage().slots).toBe(0);
    expect(codeOf(() => context.lease({ ...handle, size: 3 }))).toBe('RangeError');
    expect(codeOf(() => context.lease(handle))).toBe('ERR_HEDDLE_STALE_DESCRIPTOR');
  });

  it('come back when their receiver closes unread', () => {
    const { context, receiver, sender, endpoint } = make();
    endpoint.trySend(1, bytes(70_000));
    endpoint.trySend(1, bytes(5000));
    receiver.close();
    sender.progress();
    expect(context.usage().slots).toBe(0);
  });

  it('of 64 MiB travel by default, in one piece', () => {
    const context = Context.create({ janitor: false });
    onTestFinished(() => context[Symbol.dispose]());
    const receiver = context.createWorker();
    const endpoint = context.createWorker().connect(receiver.address);
    const length = 64 * KIB * KIB;
    expect(endpoint.maxDataBytes).toBe(length);
    const loan = endpoint.loan(length)!;
    const view = loan.data;
    view[0] = 1;
    view[length - 1] = 2;
    endpoint.trySend(1, loan);
    let ends: number[] = [];
    receiver.on(1, ({ data }) => {
      ends = [data.length, data[0]!, data[length - 1]!];
    });
    receiver.progress();
    expect(ends).toEqual([length, 1, 2]);
  });

  it.each([
    [[{ bytes: 4096, count: 1 }], RangeError],
    [[{ bytes: 8192, count: 0 }], RangeError],
    [[{ bytes: 2 ** 30 + 1, count: 1 }], RangeError],
    [Array.from({ length: 8 }, (_, i) => ({ bytes: 8192 + i, count: 1 })), RangeError],
    [[8192], TypeError],
    [8192, TypeError],
  ])('are refused as an option: %j', (largeSlots, error) => {
    const options = { ...SMALL, ...WITH_LARGE, largeSlots } as unknown as ContextOptions;
    expect(() => Context.create(options)).toThrow(error);
  });
});

describe('a wait for a slot', () => {
  it('on the event loop ends when the receiver closes', async () => {
    const { receiver, endpoint } = make({ slots: 1, largeSlots: [] });
    const held = endpoint.loan(1)!;
    const outcome = endpoint.sendAsync(1, bytes(1000)).then(
      () => 'sent',
      (error) => error.code,
    );
    await new Promise(setImmediate);
    receiver.close();
    expect(await outcome).toBe('ERR_HEDDLE_CLOSED');
    held.cancel();
  });

  it('on the event loop ends when the endpoint closes, and when the context is shut down', async () => {
    for (const end of ['endpoint', 'context'] as const) {
      const { context, endpoint } = make({ slots: 1, largeSlots: [] });
      const held = endpoint.loan(1)!;
      const outcome = endpoint.sendAsync(1, bytes(1000)).then(
        () => 'sent',
        (error) => error.code,
      );
      await new Promise(setImmediate);
      if (end === 'endpoint') endpoint.close();
      else context.shutdown();
      expect(await outcome).toBe('ERR_HEDDLE_CLOSED');
      held.cancel();
    }
  });

  it('is not for slots that this thread holds back itself', () => {
    const { receiver, endpoint } = make({ slots: 2, largeSlots: [] });
    receiver.on(1, () => {});
    endpoint.cork();
    expect(endpoint.trySend(1, bytes(1000))).toBe('sent');
    expect(endpoint.trySend(1, bytes(1000))).toBe('sent');
    expect(endpoint.trySend(1, bytes(1000))).toBe('no-resource');
    expect(receiver.progress()).toBe(2);
  });
});

describe('a completion', () => {
  it('is a counter, a function and a promise: done when the handler has returned', async () => {
    const { receiver, sender, endpoint, context } = make();
    receiver.on(1, () => {});
    const ends: unknown[] = [];
    const completion = new Completion((error) => ends.push(error));
    await completion.finished();
    for (const size of [0, 8, 5000])
      expect(endpoint.trySend(1, bytes(size), bytes(3), completion)).toBe('sent');
    const finished = completion.finished();
    sender.progress();
    expect(completion.pending).toBe(3);
    receiver.progress();
    expect(completion.pending).toBe(3);
    expect(sender.progress()).toBe(3);
    expect([completion.pending, completion.done, completion.failed]).toEqual([0, 3, 0]);
    expect(ends).toEqual([undefined, undefined, undefined]);
    await finished;
    sender.progress();
    expect(ends.length).toBe(3);
    expect(context.usage().slots).toBe(0);
  });

  it('waits for what was kept, until it is released, on whichever thread has it', () => {
    const { context, receiver, sender, endpoint } = make();
    const leases: Lease[] = [];
    receiver.on(1, (message) => leases.push(message.keep()));
    const completion = new Completion();
    endpoint.trySend(1, bytes(8), undefined, completion);
    endpoint.trySend(1, bytes(8), undefined, completion);
    receiver.progress();
    sender.progress();
    expect(completion.pending).toBe(2);
    leases[1]!.release();
    sender.progress();
    expect(completion.done).toBe(1);
    context.lease(leases[0]!.handOver()).release();
    sender.progress();
    expect(completion.done).toBe(2);
  });

  it('wakes a sender that sleeps for it', async () => {
    const { receiver, sender, endpoint } = make();
    const leases: Lease[] = [];
    receiver.on(1, (message) => leases.push(message.keep()));
    receiver.on(2, () => {});
    const completion = new Completion();
    for (const [id, act] of [
      [1, () => leases.pop()!.release()],
      [2, () => receiver.progress()],
    ] as const) {
      endpoint.trySend(id, bytes(8), undefined, completion);
      if (id === 1) receiver.progress();
      const woken = sender.waitAsync();
      act();
      expect(await woken).toBe(true);
      sender.progress();
      expect(completion.pending).toBe(0);
    }
    expect(sender.arm()).toBe(true);
  });

  it('is told while messages are iterated over, too', async () => {
    const { receiver, sender, endpoint } = make();
    receiver.on(1, () => {});
    const completion = new Completion();
    endpoint.trySend(1, bytes(8), undefined, completion);
    receiver.progress();
    const stop = new AbortController();
    const iterating = (async () => {
      for await (const _ of sender.messages({ signal: stop.signal }));
    })();
    await completion.finished();
    stop.abort();
    await iterating;
    expect(completion.done).toBe(1);
  });

  it('comes with a send that waits', async () => {
    const { receiver, sender, endpoint } = make();
    receiver.on(1, () => {});
    const completion = new Completion();
    endpoint.send(1, bytes(8), undefined, { completion });
    while (endpoint.trySend(1, bytes(8)) === 'sent');
    const sent = endpoint.sendAsync(1, bytes(8), undefined, { completion });
    expect(completion.pending).toBe(1);
    while (receiver.progress() > 0);
    await sent;
    receiver.progress();
    sender.progress();
    expect(completion.done).toBe(2);
  });

  it('is not begun by what was not sent', () => {
    const { endpoint } = make();
    const completion = new Completion();
    while (endpoint.trySend(1, bytes(8), undefined, completion) === 'sent');
    const sent = completion.pending;
    expect(endpoint.trySend(1, bytes(8), undefined, completion)).toBe('no-resource');
    expect(completion.pending).toBe(sent);
    expect(sent).toBe(4);
  });

  it('ends with an error, once, where the receiver closes: unread, and kept', async () => {
    const { receiver, sender, endpoint, context } = make();
    const leases: Lease[] = [];
    receiver.on(1, (message) => leases.push(message.keep()));
    receiver.on(2, () => {});
    const codes: unknown[] = [];
    const completion = new Completion((error) => codes.push(error?.code));
    endpoint.trySend(1, bytes(8), undefined, completion);
    endpoint.trySend(2, bytes(8), undefined, completion);
    receiver.progress();
    endpoint.trySend(2, bytes(8), undefined, completion);
    const finished = completion.finished().catch((error) => error.code);
    receiver.close();
    sender.progress();
    expect(codes).toEqual(['ERR_HEDDLE_CLOSED', undefined, 'ERR_HEDDLE_CLOSED']);
    expect(await finished).toBe('ERR_HEDDLE_CLOSED');
    leases[0]!.release();
    sender.progress();
    sender.close();
    expect(codes.length).toBe(3);
    expect(context.usage().slots).toBe(0);
  });

  it('ends with an error, once, where the endpoint closes, also from inside of one', () => {
    const { receiver, sender, endpoint } = make();
    const other = sender.connect(receiver.address);
    receiver.on(1, () => {});
    const codes: unknown[] = [];
    const closing = new Completion((error) => {
      codes.push(error?.code);
      endpoint.close();
    });
    const left = new Completion();
    other.trySend(1, bytes(8), undefined, left);
    endpoint.trySend(1, bytes(8), undefined, closing);
    receiver.progress();
    endpoint.trySend(1, bytes(8), undefined, closing);
    sender.progress();
    expect(codes).toEqual([undefined, 'ERR_HEDDLE_CLOSED']);
    expect([left.done, left.failed]).toEqual([1, 0]);
    sender.close();
    expect(codes.length).toBe(2);
  });

  it('whose function throws: the others are told, then progress throws', () => {
    const { receiver, sender, endpoint } = make();
    receiver.on(1, () => {});
    const failing = new Completion(() => {
      throw new Error('mine');
    });
    const other = new Completion();
    endpoint.trySend(1, bytes(8), undefined, failing);
    endpoint.trySend(1, bytes(8), undefined, other);
    receiver.progress();
    expect(() => sender.progress()).toThrow('mine');
    expect([failing.done, other.done]).toEqual([1, 1]);
    expect(codeOf(() => new Completion(1 as unknown as () => void))).toBe('TypeError');
  });
});

describe('fence and flush', () => {
  it('a fence publishes what every endpoint of the worker holds back', () => {
    const { context, receiver, sender, endpoint } = make();
    const second = context.createWorker();
    const toSecond = sender.connect(second.address);
    for (const worker of [receiver, second]) worker.on(1, () => {});
    for (const to of [endpoint, toSecond]) {
      to.cork();
      to.trySend(1, bytes(8));
    }
    expect([receiver.progress(), second.progress()]).toEqual([0, 0]);
    sender.fence();
    expect([receiver.progress(), second.progress()]).toEqual([1, 1]);
    endpoint.trySend(1, bytes(8));
    expect(receiver.progress()).toBe(0);
    endpoint.uncork();
    expect(receiver.progress()).toBe(1);
  });

  it('are refused while asynchronous sends wait, which a blocked thread would keep from going', async () => {
    const { receiver, sender, endpoint } = make();
    receiver.on(1, () => {});
    while (endpoint.trySend(1, bytes(60)) === 'sent');
    const waiting = endpoint.sendAsync(1, bytes(60));
    for (const act of [() => sender.fence(), () => sender.flush(), () => endpoint.flush()]) {
      expect(codeOf(act)).toBe('ERR_HEDDLE_OUTSTANDING');
    }
    receiver.progress();
    await waiting;
    sender.fence();
    expect(codeOf(() => sender.flush({ timeout: 0 }))).toBe('ERR_HEDDLE_TIMED_OUT');
    receiver.progress();
    sender.flush();
  });

  it('an asynchronous flush comes behind asynchronous sends', async () => {
    const { receiver, sender, endpoint } = make();
    let handled = 0;
    receiver.on(1, () => handled++);
    let sent = 2;
    while (endpoint.trySend(1, bytes(60)) === 'sent') sent++;
    const sends = [endpoint.sendAsync(1, bytes(60)), endpoint.sendAsync(1, bytes(60))];
    let seen = -1;
    const flushed = sender.flushAsync().then(() => {
      seen = handled;
    });
    while (seen < 0) {
      receiver.progress();
      await new Promise(setImmediate);
    }
    await Promise.all([...sends, flushed]);
    expect(seen).toBe(sent);
  });
});

describe('a loan that is waited for', () => {
  const taken = (endpoint: ReturnType<typeof make>['endpoint']) => {
    const loans: Loan[] = [];
    for (let loan = endpoint.loan(5000); loan; loan = endpoint.loan(5000)) loans.push(loan);
    return loans;
  };

  it('comes when a slot of its size is back, or the time is up, or it is aborted', async () => {
    const { endpoint, context } = make();
    const loans = taken(endpoint);
    const waiting = endpoint.loanAsync(5000);
    await expect(endpoint.loanAsync(5000, { timeout: 1 })).rejects.toMatchObject({
      code: 'ERR_HEDDLE_TIMED_OUT',
    });
    await expect(endpoint.loanAsync(5000, { signal: AbortSignal.abort('no more') })).rejects.toBe('no more');
    loans.pop()!.cancel();
    const loan = await waiting;
    expect([loan.byteLength, loan.data.byteLength]).toEqual([5000, 5000]);
    for (const each of [...loans, loan]) each.cancel();
    expect(context.usage().slots).toBe(0);
  });

  it.each(['endpoint', 'receiver'] as const)('ends with an error when the %s is closed', async (which) => {
    const all = make();
    const loans = taken(all.endpoint);
    const waiting = all.endpoint.loanAsync(5000);
    await new Promise(setImmediate);
    all[which].close();
    all.sender.progress();
    await expect(waiting).rejects.toMatchObject({ code: 'ERR_HEDDLE_CLOSED' });
    for (const loan of loans) loan.cancel();
    expect(all.context.usage().slots).toBe(0);
  });

  it('of a bad size is refused', async () => {
    const { endpoint } = make();
    await expect(endpoint.loanAsync(-1)).rejects.toThrow(RangeError);
    await expect(endpoint.loanAsync(2 ** 30)).rejects.toMatchObject({ code: 'ERR_HEDDLE_RECORD_TOO_LARGE' });
  });
});
