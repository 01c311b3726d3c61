import { once } from 'node:events';
import type { Worker } from 'node:worker_threads';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { WorkerAddress } from './address.js';
import { Completion } from './completion.js';
import { Context } from './context.js';
import type { ContextOptions } from './context-options.js';
import { fill, ID, type SendingTask, TOLD } from './sending.test-worker.js';

const LONG = process.env['HEDDLE_STRESS'] === 'long';
// The long setting takes minutes.
if (LONG) vi.setConfig({ testTimeout: 1_800_000 });
const url = new URL('./sending.test-worker.js', import.meta.url);

/** Mostly small, of every size of slots. */
const sizeOf = (sequence: number) =>
  [8, 100, 1000, 5000, 8, 70_000, 200_000, 8][sequence % 8]! + (sequence % 7);

function make(options: ContextOptions = {}) {
  const context = Context.create({
    laneBytes: 1024,
    inlineBytes: 128,
    slotBytes: 2048,
    // More than there are records in a lane, so that each message can be kept.
    slots: 64,
    largeSlots: [
      { bytes: 80_000, count: 4 },
      { bytes: 300_000, count: 4 },
    ],
    ...options,
  });
  onTestFinished(() => context[Symbol.dispose]());
  const worker = context.createWorker({ name: 'test' });
  const told = new Int32Array(new SharedArrayBuffer(64));
  const hello: WorkerAddress[] = [];
  worker.on(ID.hello, (message) => hello.push(message.sender));
  const start = (role: SendingTask['role'], to = worker.address): Worker =>
    context.spawn<Worker>(url, { workerData: { role, to, told: told.buffer } });
  /** Starts a thread that keeps messages, and makes a way to it. */
  const keeper = async () => {
    const thread = start('keep');
    while (hello.length === 0) if (worker.progress() === 0) await worker.waitAsync();
    return { thread, endpoint: worker.connect(hello.pop()!) };
  };
  return { context, worker, told, start, keeper };
}

describe('sending between threads', () => {
  it('data of every size, kept and released late: each ends once, well, and nothing is out afterwards', async () => {
    const { context, worker, told, keeper } = make();
    const { thread, endpoint } = await keeper();
    const exit = once(thread, 'exit');
    const count = LONG ? 100_000 : 1000;
    const scratch = new Uint8Array(300_000);
    let ended = 0;
    const completion = new Completion((error) => {
      if (!error) ended++;
    });
    for (let i = 0; i < count; i++) {
      const data = fill(scratch.subarray(i % 9, (i % 9) + sizeOf(i)), i);
      const options = i % 2 === 0 ? { completion } : {};
      // The other thread releases what it keeps when more comes.
      endpoint.send(ID.data, data, undefined, options);
      worker.progress();
    }
    endpoint.send(ID.stop);
    while (completion.pending > 0) if (worker.progress() === 0) await worker.waitAsync();
    await exit;
    expect([ended, completion.done, completion.failed]).toEqual([count / 2, count / 2, 0]);
    expect([told[TOLD.received], told[TOLD.faults]]).toEqual([count, 0]);
    worker.progress();
    expect(context.usage()).toEqual({ workers: 1, lanes: 0, slots: 0 });
  });

  it('to one that is killed at random: each ends once, and nothing is out afterwards (PL-08)', async () => {
    const { context, worker, told, keeper } = make();
    const rounds = LONG ? 200 : 5;
    const scratch = new Uint8Array(300_000);
    for (let round = 0; round < rounds; round++) {
      const { thread, endpoint } = await keeper();
      const exit = once(thread, 'exit');
      const before = Atomics.load(told, TOLD.received);
      const completion = new Completion();
      let sent = 0;
      let killed = false;
      while (!endpoint.closed) {
        const data = fill(scratch.subarray(0, sizeOf(sent)), sent);
        if (endpoint.trySend(ID.data, data, undefined, completion) === 'sent') sent++;
        else await new Promise(setImmediate);
        worker.progress();
        if (!killed && Atomics.load(told, TOLD.received) - before > 3 + round * 7) {
          killed = true;
          void thread.terminate();
        }
      }
      await exit;
      while (completion.pending > 0) worker.progress();
      expect(completion.done + completion.failed).toBe(sent);
      expect(completion.done).toBeLessThanOrEqual(Atomics.load(told, TOLD.received) - before);
      endpoint.close();
      // Another thread may be the one that recovers.
      await vi.waitUntil(
        () => {
          worker.progress();
          const { workers, lanes, slots } = context.usage();
          return workers === 1 && lanes + slots === 0;
        },
        { timeout: 60_000 },
      );
    }
    expect(told[TOLD.faults]).toBe(0);
  });

  it('a thread that is blocked for a slot goes on with an error when its receiver dies', async () => {
    const { context, told, start, keeper } = make({ slots: 1, largeSlots: [] });
    const { thread, endpoint } = await keeper();
    // No slot is of the receiver, so that its death frees none.
    const held = context.createWorker().connect(endpoint.address).loan(1)!;
    const blocked = start('block', endpoint.address);
    const exit = once(blocked, 'exit');
    await (Atomics.waitAsync(told, TOLD.ready, 0).value as Promise<unknown> | string);
    await thread.terminate();
    await exit;
    expect(told[TOLD.closed]).toBe(1);
    held.cancel();
    expect(context.usage().slots).toBe(0);
  });
});
