import { once } from 'node:events';
import type { Worker } from 'node:worker_threads';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { WorkerAddress } from './address.js';
import { Context } from './context.js';
import type { ContextOptions } from './context-options.js';
import { Checker, fill, headerOf, ID, type Task, TOLD } from './transport.test-worker.js';
import type { TransportWorker } from './transport-worker.js';

const LONG = process.env['HEDDLE_STRESS'] === 'long';
// The long setting takes minutes.
if (LONG) vi.setConfig({ testTimeout: 1_800_000 });
const url = new URL('./transport.test-worker.js', import.meta.url);

function make(options: ContextOptions = {}) {
  const context = Context.create({
    laneBytes: 4096,
    slotBytes: 8192,
    slots: 64,
    maxLanes: 128,
    ...options,
  });
  onTestFinished(() => context[Symbol.dispose]());
  const worker = context.createWorker({ name: 'test' });
  const told = new Int32Array(new SharedArrayBuffer(256));
  /** Addresses of those who said hello. */
  const hello: WorkerAddress[] = [];
  worker.on(ID.address, (message) => hello.push(message.sender));
  const start = (task: Omit<Task, 'told'>): Worker =>
    context.spawn<Worker>(url, { workerData: { told: told.buffer, ...task } });
  return { context, worker, told, hello, start };
}

/** Lets this thread receive until something holds. */
async function until(worker: TransportWorker, holds: () => boolean): Promise<void> {
  while (!holds()) {
    worker.progress();
    await new Promise(setImmediate);
  }
}

const toldAtLeast = (told: Int32Array, word: number, least: number) => () =>
  Atomics.load(told, word) >= least;

describe('threads', () => {
  it.each([['polling'], ['waiting'], ['event-loop']] as const)(
    'send mixed messages to one receiver, %s: none lost, none twice, in order',
    async (mode) => {
      const { context, worker, start } = make({ laneBytes: 512, inlineBytes: 64, slots: 16 });
      const senders = 4;
      const count = LONG ? 50_000 : 500;
      const checker = new Checker(5000);
      worker.on(ID.data, (message) => checker.see(message));
      const threads = Array.from({ length: senders }, (_, from) =>
        start({ role: 'send', to: worker.address, from, count, maxBytes: 5000, mode }),
      );
      let ended = 0;
      for (const thread of threads) thread.once('exit', () => ended++);
      await until(worker, () => ended === senders);
      worker.progress();
      expect(checker.received).toBe(senders * count);
      expect(checker.faults).toBe(0);
      expect(context.usage()).toEqual({ workers: 1, lanes: 0, slots: 0 });
    },
  );

  it.each([['waiting'], ['event-loop']] as const)('echo, the receiver %s', async (mode) => {
    const { worker, hello, start } = make();
    const thread = start({ role: 'echo', to: worker.address, mode });
    await until(worker, () => hello.length === 1);
    const endpoint = worker.connect(hello[0]!);
    const checker = new Checker(3000);
    worker.on(ID.answer, (message) => checker.see(message));
    const scratch = new Uint8Array(3000);
    const count = LONG ? 20_000 : 500;
    for (let i = 0; i < count; i++) {
      endpoint.send(ID.data, fill(scratch, 0, i), headerOf(0, i));
      while (checker.received <= i) if (worker.progress() === 0) worker.wait();
    }
    expect(checker).toMatchObject({ faults: 0, received: count });
    await thread.terminate();
  });

  it('all to all, receivers of every kind, more threads than cores', async () => {
    const { context, worker, told, hello, start } = make({ laneBytes: 256, inlineBytes: 48, slots: 32 });
    const modes = ['polling', 'waiting', 'event-loop'] as const;
    const senders = 3;
    const count = LONG ? 30_000 : 300;
    const gatherers = modes.map((mode) =>
      start({ role: 'gather', to: worker.address, mode, count: senders, maxBytes: 500 }),
    );
    await until(worker, () => hello.length === modes.length);
    const ends = gatherers.map((thread) => once(thread, 'exit'));
    const all = hello.flatMap((to) => Array.from({ length: senders }, (_, from) => ({ to, from })));
    const threads = all.map(({ to, from }, i) =>
      start({ role: 'send', to, from, count, maxBytes: 500, mode: modes[i % 3]! }),
    );
    let ended = 0;
    for (const thread of threads) thread.once('exit', () => ended++);
    await until(worker, () => ended === threads.length);
    for (const to of hello) {
      const endpoint = worker.connect(to);
      for (let i = 0; i < senders; i++) await endpoint.sendAsync(ID.stop);
      endpoint.close();
    }
    await Promise.all(ends);
    expect(Atomics.load(told, TOLD.faults)).toBe(0);
    expect(Atomics.load(told, TOLD.received)).toBe(senders * count * modes.length);
    worker.progress();
    expect(context.usage()).toEqual({ workers: 1, lanes: 0, slots: 0 });
  });

  it('release on a third thread what another one keeps', async () => {
    const { context, worker, told, hello, start } = make();
    start({ role: 'release', to: worker.address });
    await until(worker, () => hello.length === 1);
    const releaser = worker.connect(hello[0]!);
    const self = worker.connect(worker.address);
    worker.on(ID.data, (message) => {
      const handle = message.keep().handOver();
      releaser.send(ID.lease, new TextEncoder().encode(JSON.stringify(handle)));
    });
    const count = LONG ? 20_000 : 500;
    for (let i = 0; i < count; i++) {
      self.send(ID.data, new Uint8Array(i % 2 === 0 ? 1000 : 10));
      worker.progress();
    }
    await until(worker, toldAtLeast(told, TOLD.received, count));
    expect(Atomics.load(told, TOLD.faults)).toBe(0);
    expect(context.usage().slots).toBe(0);
  });
});

describe('deaths', () => {
  it('of receivers that hold and have unread messages, again and again: nothing runs out (PL-08)', async () => {
    const { context, worker, told, hello, start } = make({ slots: 8, laneBytes: 1024 });
    const rounds = LONG ? 200 : 6;
    for (let round = 0; round < rounds; round++) {
      const thread = start({ role: 'hold', to: worker.address });
      await until(worker, () => hello.length === round + 1);
      const reports: unknown[] = [];
      const endpoint = worker.connect(hello[round]!, { onClosed: (report) => reports.push(report) });
      const data = new Uint8Array(1000).fill(round);
      endpoint.send(ID.data, data);
      endpoint.send(ID.data, data);
      await until(worker, toldAtLeast(told, TOLD.ready, round + 1));
      endpoint.send(ID.data, data);
      endpoint.send(ID.data, data);
      await thread.terminate();
      await until(worker, () => reports.length === 1);
      expect(reports).toMatchObject([{ unread: 2 }]);
      expect(endpoint.trySend(ID.data)).toBe('closed');
      // Recovery may be at the way back here still.
      await until(worker, () => context.usage().workers === 1 && context.usage().lanes === 0);
      expect(context.usage().slots).toBe(0);
    }
  });

  it('of senders at any moment, and new ones: each message at most once, in order, memory conserved', async () => {
    const { context, worker, told, start } = make({ laneBytes: 512, inlineBytes: 64, slots: 16 });
    const rounds = LONG ? 200 : 6;
    const checker = new Checker(3000);
    worker.on(ID.data, (message) => checker.see(message, true));
    for (let round = 0; round < rounds; round++) {
      const before = checker.received;
      Atomics.store(told, TOLD.next, 0);
      const thread = start({
        role: 'send',
        to: worker.address,
        from: round,
        count: 1_000_000,
        maxBytes: 3000,
        mode: (['polling', 'waiting', 'event-loop'] as const)[round % 3]!,
      });
      await until(worker, () => checker.received > before + round * 7);
      const ended = thread.terminate();
      let gone = false;
      void ended.then(() => {
        gone = true;
      });
      await until(worker, () => gone && context.usage().lanes === 0);
    }
    expect(checker.faults).toBe(0);
    await until(worker, () => context.usage().workers === 1);
    expect(context.usage()).toEqual({ workers: 1, lanes: 0, slots: 0 });
  });

  it('are seen while the parent blocks, by the janitor', async () => {
    const { worker, told, hello, start } = make();
    const thread = start({ role: 'block', to: worker.address, mode: 'waiting' });
    await until(worker, () => hello.length === 1 && Atomics.load(told, TOLD.ready) === 1);
    const reports: unknown[] = [];
    worker.connect(hello[0]!, { onClosed: (report) => reports.push(report) });
    void thread.terminate();
    // No turn of this event loop until the report is there.
    while (reports.length === 0) {
      worker.wait();
      worker.progress();
    }
    expect(reports).toMatchObject([{ unread: 0 }]);
  });
});

describe('ends', () => {
  it('every blocked, polling and pending receiver by shutdown (TR-11, LC-01)', async () => {
    const { context, worker, told, hello, start } = make();
    const modes = ['waiting', 'waiting', 'polling', 'polling', 'event-loop', 'event-loop'] as const;
    for (let round = 0; round < (LONG ? 20 : 1); round++) {
      const inner = round === 0 ? { context, worker, told, hello, start } : make();
      const threads = modes.map((mode) => inner.start({ role: 'block', to: inner.worker.address, mode }));
      const exits = threads.map((thread) => once(thread, 'exit'));
      await until(inner.worker, () => inner.hello.length === modes.length);
      const endpoint = inner.worker.connect(inner.hello[0]!);
      endpoint.send(ID.data);
      inner.context.shutdown();
      await Promise.all(exits);
      expect(Atomics.load(inner.told, TOLD.ended)).toBe(modes.length);
      expect(Atomics.load(inner.told, TOLD.received)).toBe(1);
    }
  });

  it('nothing with the thread that made the context (LC-05)', async () => {
    const { Worker } = await import('node:worker_threads');
    const creator = new Worker(
      `const { parentPort, workerData } = require('node:worker_threads');
       import(workerData).then(({ Context }) => {
         globalThis.context = Context.create({ slots: 8, slotBytes: 4096 });
         parentPort.postMessage(globalThis.context.handle);
         parentPort.once('message', () => process.exit());
       });`,
      { eval: true, workerData: new URL('./index.js', import.meta.url).href },
    );
    const [handle] = await once(creator, 'message');
    const context = Context.attach(handle);
    onTestFinished(() => context[Symbol.dispose]());
    const worker = context.createWorker();
    const endpoint = worker.connect(worker.address);
    let got = 0;
    worker.on(ID.data, () => got++);
    creator.postMessage('end');
    await once(creator, 'exit');
    for (let i = 0; i < 100; i++) {
      endpoint.send(ID.data, new Uint8Array(1000));
      worker.progress();
    }
    expect(got).toBe(100);
  });

  it('a request whose answer comes too late: the answer is dropped, the others are right (TR-10)', async () => {
    const { context, worker, hello, start } = make();
    start({ role: 'echo', to: worker.address, mode: 'waiting' });
    await until(worker, () => hello.length === 1);
    const endpoint = worker.connect(hello[0]!);
    const waiting = new Map<number, (data: number) => void>();
    let late = 0;
    worker.on(ID.answer, (message) => {
      const sequence = new Int32Array(message.header.slice().buffer)[1]!;
      const settle = waiting.get(sequence);
      if (settle) settle(message.data[0]!);
      else late++;
    });
    // The first request is given up before its answer is looked at.
    endpoint.send(ID.data, Uint8Array.of(1).fill(1), headerOf(0, 0));
    for (let i = 1; i <= 100; i++) {
      let answer = -1;
      waiting.set(i, (data) => {
        answer = data;
      });
      endpoint.send(ID.data, new Uint8Array(1000).fill(i), headerOf(0, i));
      while (answer < 0) if (worker.progress() === 0) worker.wait();
      expect(answer).toBe(i);
      waiting.delete(i);
    }
    expect(late).toBe(1);
    // The last slot is put by the other thread after it has answered.
    await until(worker, () => context.usage().slots === 0);
  });
});

describe('thread modes', () => {
  it('single: another thread is refused', async () => {
    const { worker, told, start } = make();
    const thread = start({ role: 'open', to: worker.address });
    await once(thread, 'exit');
    expect(Atomics.load(told, TOLD.code)).toBe(1);
  });

  it('multi: a group of threads shares the messages of many senders, each once, in order', async () => {
    const { context, worker, told, start } = make({ laneBytes: 512, inlineBytes: 64, slots: 32 });
    const group = context.createWorker({ threadMode: 'multi' });
    const modes = ['waiting', 'event-loop', 'polling'] as const;
    const members = modes.map((mode) =>
      start({ role: 'group', to: group.address, mode, maxBytes: 2000, count: 1 }),
    );
    const exits = members.map((thread) => once(thread, 'exit'));
    await until(worker, toldAtLeast(told, TOLD.ready, modes.length));
    const count = LONG ? 30_000 : 500;
    const senders = [0, 1, 2].map((from) =>
      start({ role: 'send', to: group.address, from, count, maxBytes: 2000, mode: modes[from]! }),
    );
    let ended = 0;
    for (const thread of senders) thread.once('exit', () => ended++);
    await until(worker, () => ended === senders.length);
    await until(worker, toldAtLeast(told, TOLD.received, senders.length * count));
    group.close();
    await Promise.all(exits);
    expect(Atomics.load(told, TOLD.received)).toBe(senders.length * count);
    expect(Atomics.load(told, TOLD.faults)).toBe(0);
    expect(context.usage()).toEqual({ workers: 1, lanes: 0, slots: 0 });
  });

  it('multi: members die at any moment: the others go on, nothing twice, nothing leaks', async () => {
    const { context, worker, told, start } = make({ laneBytes: 512, inlineBytes: 64, slots: 32 });
    const group = context.createWorker({ threadMode: 'multi' });
    const task = { role: 'group', to: group.address, maxBytes: 2000, count: 0 } as const;
    const survivor = start({ ...task, mode: 'waiting' });
    const exit = once(survivor, 'exit');
    await until(worker, toldAtLeast(told, TOLD.ready, 1));
    const endpoint = worker.connect(group.address);
    const scratch = new Uint8Array(2000);
    let sent = 0;
    const rounds = LONG ? 100 : 4;
    for (let round = 0; round < rounds; round++) {
      const member = start({ ...task, mode: (['waiting', 'event-loop', 'polling'] as const)[round % 3]! });
      const goal = Atomics.load(told, TOLD.ready) + 1;
      const send = () => {
        if (endpoint.trySend(ID.data, fill(scratch, 0, sent), headerOf(0, sent)) === 'sent') sent++;
        worker.progress();
      };
      while (Atomics.load(told, TOLD.ready) < goal) {
        send();
        await new Promise(setImmediate);
      }
      for (let i = 0; i < round * 50; i++) send();
      let gone = false;
      void member.terminate().then(() => {
        gone = true;
      });
      while (!gone) {
        send();
        await new Promise(setImmediate);
      }
    }
    endpoint.flush();
    expect(Atomics.load(told, TOLD.faults)).toBe(0);
    const missing = sent - Atomics.load(told, TOLD.received);
    // At most the message that each had begun.
    expect(missing).toBeGreaterThanOrEqual(0);
    expect(missing).toBeLessThanOrEqual(rounds);
    group.close();
    worker.progress();
    await exit;
    await until(worker, () => context.usage().lanes === 0);
    expect(context.usage()).toEqual({ workers: 1, lanes: 0, slots: 0 });
  });

  it('serialized: when the thread that made the worker dies, the one that used it last goes on', async () => {
    const { context, worker, hello, start } = make();
    const owner = start({ role: 'own', to: worker.address });
    await until(worker, () => hello.length === 1);
    const shared = context.openWorker(hello[0]!);
    const reports: unknown[] = [];
    const endpoint = worker.connect(hello[0]!, { onClosed: (report) => reports.push(report) });
    let got = 0;
    shared.on(ID.data, () => got++);
    endpoint.send(ID.data);
    shared.progress();
    await owner.terminate();
    await until(worker, () => context.usage().workers === 2);
    endpoint.send(ID.data, new Uint8Array(1000));
    shared.progress();
    expect(got).toBe(2);
    endpoint.send(ID.data, new Uint8Array(1000));
    shared.close();
    worker.progress();
    expect(reports).toMatchObject([{ unread: 1 }]);
    // The lane of the thread that died may be recovered after the worker is.
    await until(worker, () => context.usage().lanes === 0);
    expect(context.usage()).toEqual({ workers: 1, lanes: 0, slots: 0 });
  });

  it('serialized: a thread that used the worker last and has closed it does not go on: it ends with its owner', async () => {
    const { context, worker, hello, start } = make();
    const owner = start({ role: 'own', to: worker.address });
    await until(worker, () => hello.length === 1);
    const shared = context.openWorker(hello[0]!);
    const reports: unknown[] = [];
    const endpoint = worker.connect(hello[0]!, { onClosed: (report) => reports.push(report) });
    shared.on(ID.data, () => {});
    endpoint.send(ID.data);
    shared.progress();
    shared.close();
    endpoint.send(ID.data, new Uint8Array(1000));
    await owner.terminate();
    await until(worker, () => reports.length > 0);
    expect(reports).toMatchObject([{ unread: 1 }]);
    await until(worker, () => context.usage().lanes === 0);
    expect(context.usage()).toEqual({ workers: 1, lanes: 0, slots: 0 });
  });

  it('serialized: one that ended with its owner leads nowhere from another thread, either', async () => {
    const { context, worker, hello, start } = make();
    const owner = start({ role: 'own', to: worker.address });
    await until(worker, () => hello.length === 1);
    const shared = context.openWorker(hello[0]!);
    await owner.terminate();
    await until(worker, () => shared.closed);
    expect(() => shared.connect(worker.address)).toThrow(
      expect.objectContaining({ code: 'ERR_HEDDLE_CLOSED' }),
    );
  });

  it('serialized: threads take turns on one worker, each message once', async () => {
    const { context, worker, told, start } = make({ laneBytes: 512 });
    const shared = context.createWorker({ threadMode: 'serialized' });
    const thread = start({ role: 'open', to: shared.address });
    await until(worker, toldAtLeast(told, TOLD.ready, 1));
    const endpoint = worker.connect(shared.address);
    let here = 0;
    let overlaps = 0;
    shared.on(ID.data, () => here++);
    const count = LONG ? 50_000 : 2000;
    const look = () => {
      try {
        shared.progress(3);
      } catch (error) {
        expect(error).toMatchObject({ code: 'ERR_HEDDLE_WRONG_THREAD' });
        overlaps++;
      }
    };
    for (let i = 0; i < count; ) {
      if (endpoint.trySend(ID.data, new Uint8Array(i % 100)) === 'sent') i++;
      look();
    }
    while (here + Atomics.load(told, TOLD.received) < count) look();
    Atomics.store(told, TOLD.stop, 1);
    Atomics.notify(told, TOLD.stop);
    await once(thread, 'exit');
    expect(here + Atomics.load(told, TOLD.received)).toBe(count);
    expect(context.usage().slots).toBe(0);
    expect(overlaps).toBeGreaterThanOrEqual(0);
  });
});
