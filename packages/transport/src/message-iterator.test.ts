import { realPlatform, Segment } from '@heddle/memory';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Context } from './context.js';
import { Entry } from './entry.js';
import { bytes, codeOf, makePair } from './pair.test-worker.js';
import { THREAD_MODES, type ThreadMode } from './thread-mode.js';
import { contextLayout, workerRowAt, workerRowLayout } from './transport.layout.js';
import type { TransportWorker } from './transport-worker.js';

const make = (threadMode?: ThreadMode) => makePair({}, threadMode);

describe.each(THREAD_MODES)('an iteration over messages of a worker of thread mode %s', (threadMode) => {
  it('that is dropped without a return keeps nothing: the next call ends its message', async () => {
    const { context, receiver, endpoint } = make(threadMode);
    for (const size of [10, 1000, 20]) endpoint.trySend(1, bytes(size));
    const { value: message } = await receiver.messages().next();
    expect(message?.data).toEqual(bytes(10));
    const got: number[] = [];
    receiver.on(1, ({ byteLength }) => got.push(byteLength));
    expect(receiver.progress()).toBe(2);
    expect(got).toEqual([1000, 20]);
    expect(codeOf(() => message?.data)).toBe('ERR_HEDDLE_STALE_DESCRIPTOR');
    expect(context.usage().slots).toBe(0);
    endpoint.flush({ timeout: 0 });
  });

  it('that is dropped leaves the rest to another one', async () => {
    const { receiver, endpoint } = make(threadMode);
    for (let i = 0; i < 20; i++) endpoint.trySend(1, bytes(1, i));
    for (let i = 0; i < 20; i++) {
      const { value: message } = await receiver.messages().next();
      expect(message?.data[0]).toBe(i);
    }
    expect(receiver.progress()).toBe(0);
    endpoint.flush({ timeout: 0 });
  });

  it('that is dropped with a message in a slot: closing brings the slot back', async () => {
    for (const close of ['worker', 'context'] as const) {
      const { context, receiver, endpoint } = make(threadMode);
      endpoint.trySend(1, bytes(1000));
      await receiver.messages().next();
      expect(context.usage().slots).toBe(1);
      if (close === 'worker') {
        receiver.close();
        expect(context.usage()).toMatchObject({ workers: 1, slots: 0 });
      } else {
        await context.close();
        expect(context.segment.attached).toBe(false);
      }
    }
  });

  it('that is dropped does not keep the worker from sleeping until the next message', async () => {
    const { receiver, endpoint } = make(threadMode);
    endpoint.trySend(1);
    await receiver.messages().next();
    expect(receiver.wait({ timeout: 1 })).toBe(false);
    const waiting = receiver.waitAsync();
    endpoint.trySend(1);
    expect(await waiting).toBe(true);
  });

  it('ends by return: its message is over, and the worker goes on', async () => {
    const { context, receiver, endpoint } = make(threadMode);
    endpoint.trySend(1, bytes(1000));
    endpoint.trySend(2);
    const messages = receiver.messages();
    const { value: message } = await messages.next();
    expect(await messages.return()).toEqual({ done: true, value: undefined });
    expect(codeOf(() => message?.data)).toBe('ERR_HEDDLE_STALE_DESCRIPTOR');
    expect(context.usage().slots).toBe(0);
    expect(await messages.next()).toEqual({ done: true, value: undefined });
    receiver.on(2, () => {});
    expect(receiver.progress()).toBe(1);
  });

  it('ends by throw, with what was thrown', async () => {
    const { receiver, endpoint } = make(threadMode);
    endpoint.trySend(1);
    const messages = receiver.messages();
    await messages.next();
    await expect(messages.throw(new Error('thrown'))).rejects.toThrow('thrown');
    expect(await messages.next()).toEqual({ done: true, value: undefined });
    expect(receiver.progress()).toBe(0);
  });

  it('ends by a break out of loops inside, and by an exception', async () => {
    const { receiver, endpoint } = make(threadMode);
    for (let i = 0; i < 3; i++) endpoint.trySend(1);
    const body = async () => {
      outer: for (;;) {
        for await (const _message of receiver.messages()) for (;;) break outer;
      }
      for await (const _message of receiver.messages()) throw new Error('from the body');
    };
    await expect(body()).rejects.toThrow('from the body');
    receiver.on(1, () => {});
    expect(receiver.progress()).toBe(1);
    endpoint.flush({ timeout: 0 });
  });

  it('ends by return while it waits: at once, and takes no message any more', async () => {
    const { receiver, endpoint } = make(threadMode);
    const messages = receiver.messages();
    const pending = messages.next();
    // It sleeps by then.
    while (!receiver.arm()) await new Promise(setImmediate);
    await new Promise(setImmediate);
    await messages.return();
    endpoint.trySend(1);
    expect(await pending).toEqual({ done: true, value: undefined });
    receiver.on(1, () => {});
    expect(receiver.progress()).toBe(1);
  });

  it('keeps nothing of a message that was kept: its data stays with the lease', async () => {
    const { context, receiver, endpoint } = make(threadMode);
    for (const size of [10, 1000, 10]) endpoint.trySend(1, bytes(size, size));
    const messages = receiver.messages();
    const leases = [];
    for (let i = 0; i < 3; i++) leases.push((await messages.next()).value!.keep());
    await messages.return();
    endpoint.flush({ timeout: 0 });
    expect(leases.map(({ data }) => [data.length, data[0]])).toEqual([
      [10, 10],
      [1000, 1000 & 0xff],
      [10, 10],
    ]);
    for (const lease of leases) lease.release();
    expect(context.usage().slots).toBe(0);
  });

  it('can be ended by a handler, a callback, or the report of a closed receiver', async () => {
    const { context, receiver, sender, endpoint } = make(threadMode);
    const gone = context.createWorker();
    const reports: number[] = [];
    receiver.connect(gone.address, {
      onClosed: ({ unread }) => {
        reports.push(unread);
        void second.return();
      },
    });
    const first = receiver.messages();
    const second = receiver.messages();
    endpoint.trySend(1, bytes(1000));
    endpoint.trySend(1, bytes(1000));
    await first.next();
    receiver.on(1, () => void first.return());
    expect(receiver.progress()).toBe(1);
    expect(await first.next()).toEqual({ done: true, value: undefined });
    gone.close();
    endpoint.trySend(1, bytes(1000));
    // It is asked already: so it answers, and is over with the next one.
    expect((await second.next()).done).toBe(false);
    expect(reports).toEqual([0]);
    expect(await second.next()).toEqual({ done: true, value: undefined });
    sender.close();
    expect(context.usage().slots).toBe(0);
  });

  it('can be closed from inside, the worker and the context', async () => {
    for (const close of ['worker', 'context'] as const) {
      const { context, receiver, endpoint } = make(threadMode);
      endpoint.trySend(1, bytes(1000));
      endpoint.trySend(1);
      let got = 0;
      for await (const message of receiver.messages()) {
        got++;
        if (close === 'worker') receiver.close();
        else await context.close({ timeout: 0 });
        expect(codeOf(() => message.data)).toBe('ERR_HEDDLE_STALE_DESCRIPTOR');
      }
      expect(got).toBe(1);
    }
  });
});

it('two iterations over one worker: each message goes to one, and is over when the other asks', async () => {
  const { receiver, endpoint } = make();
  for (let i = 0; i < 4; i++) endpoint.trySend(1, bytes(1, i));
  const [a, b] = [receiver.messages(), receiver.messages()];
  for (let i = 0; i < 4; i += 2) {
    const { value: first } = await a.next();
    expect(first?.data[0]).toBe(i);
    const { value: second } = await b.next();
    expect(second?.data[0]).toBe(i + 1);
    expect(codeOf(() => first?.data)).toBe('ERR_HEDDLE_STALE_DESCRIPTOR');
    // Of an iteration whose message is over the end changes nothing for the others.
    if (i === 2) await a.return();
    expect(second?.data[0]).toBe(i + 1);
  }
});

it.each(['return', 'no return'])(
  'a next while another one waits is refused, and takes no message: %s',
  async (how) => {
    const { receiver, endpoint } = make();
    const messages = receiver.messages();
    const waiting = messages.next();
    await expect(messages.next()).rejects.toMatchObject({ code: 'ERR_HEDDLE_OUTSTANDING' });
    if (how === 'return') {
      void messages.return();
      expect(await messages.next()).toEqual({ done: true, value: undefined });
      expect((await waiting).done).toBe(true);
      return;
    }
    endpoint.sendMany(1, [bytes(1, 1), bytes(1, 2)]);
    const got: number[] = [];
    for (let { value } = await waiting; got.push(value!.data[0]!) < 2; { value } = await messages.next());
    expect(got).toEqual([1, 2]);
  },
);

it('an iteration that is asked from inside a handler is refused', async () => {
  const { receiver, endpoint } = make();
  let asked: Promise<unknown> | undefined;
  receiver.on(1, () => {
    asked = receiver.messages().next();
  });
  endpoint.trySend(1);
  receiver.progress();
  await expect(asked).rejects.toMatchObject({ code: 'ERR_HEDDLE_OUTSTANDING' });
});

it('an iteration keeps the event loop alive while it waits, and no longer', async () => {
  let held = 0;
  const platform = {
    ...realPlatform,
    keepAlive: () => {
      held++;
      return () => held--;
    },
  };
  const segment = Segment.create({ platform });
  onTestFinished(() => segment.detach());
  const context = Context.create({ segment, janitor: false, slots: 8 });
  onTestFinished(() => context[Symbol.dispose]());
  const worker = context.createWorker();
  const endpoint = worker.connect(worker.address);
  const messages = worker.messages();
  expect(held).toBe(0);
  const pending = messages.next();
  expect(held).toBe(1);
  endpoint.trySend(1);
  await pending;
  expect(held).toBe(0);
});

it('a serialized worker is taken while a message is out, and free with the next call', async () => {
  const { context, receiver, endpoint } = make('serialized');
  endpoint.trySend(1);
  endpoint.trySend(1);
  const other = secondThread(context, receiver);
  await receiver.messages().next();
  expect(() => other.enter()).toThrow('overlap');
  receiver.on(1, () => {});
  expect(receiver.progress()).toBe(1);
  other.enter();
  other.leave();
});

/** The entry to a worker as another thread has it. */
function secondThread(context: Context, { address }: TransportWorker): Entry {
  const { segment } = context;
  const words = segment.wordsAt(
    segment.openStructure(context.name, contextLayout).byteOffset,
    workerRowAt(4) * 4,
  );
  const row = words.subarray(workerRowAt(address.row), workerRowAt(address.row + 1));
  const { entry } = workerRowLayout.offsets;
  return new Entry(row, entry, segment.thread.token + 1, segment.platform, address.generation);
}
