import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { Segment } from '@heddle/memory';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type ManyTask, TOLD } from './many-threads.test-worker.js';
import { MpmcQueue } from './mpmc-queue.js';
import { MpscRing } from './mpsc-ring.js';

const LONG = process.env['HEDDLE_STRESS'] === 'long';
if (LONG) vi.setConfig({ testTimeout: 900_000 });

let segment: Segment;
const workers = new Set<Worker>();

beforeEach(() => {
  segment = Segment.create({ byteLength: 2 ** 23 });
});

afterEach(async () => {
  for (const worker of workers) await worker.terminate();
  workers.clear();
  segment.detach();
});

function start(task: ManyTask) {
  const worker = new Worker(new URL('./many-threads.test-worker.js', import.meta.url), { workerData: task });
  workers.add(worker);
  segment.watch(worker);
  const ended = once(worker, 'exit').then(([code]) => code as number);
  worker.on('error', (error) => expect.unreachable(`${error.stack}`));
  return { worker, ended };
}

const shared = (words: number) => new SharedArrayBuffer(words * 4);

/** What all threads of a test have in common, and what they told. */
function run(structure: MpscRing | MpmcQueue, mode: ManyTask['mode'], count: number) {
  const task = { handle: structure.handle, mode, count, seen: shared(count), told: shared(8) };
  return {
    seen: new Int32Array(task.seen),
    told: new Int32Array(task.told),
    start: (role: ManyTask['role']) => start({ ...task, role }),
  };
}

describe('MPSC ring', () => {
  for (const [mode, capacityBytes] of [
    ['blocking', 256],
    ['claim', 1024],
    ['async', 256],
  ] as const) {
    test(`${mode}: six senders, one receiver, stray wakes: every record once and whole (LK-03, TR-12)`, async () => {
      const ring = MpscRing.create(segment, { name: 'r', capacityBytes, maxProducers: 6 });
      const { start, seen, told } = run(ring, mode, (LONG ? 40 : 1) * (mode === 'async' ? 6_000 : 60_000));
      const senders = Array.from({ length: 6 }, () => start('send'));
      const others = [start('receive'), start('stray-wakes')];
      for (const { ended } of senders) expect(await ended).toBe(0);
      ring.close();
      for (const { ended } of others) expect(await ended).toBe(0);
      expect(told[TOLD.faults]).toBe(0);
      expect(seen.every((times) => times === 1)).toBe(true);
    });
  }

  test('TR-05: killed senders lose at most the record at hand, the others go on', async () => {
    const kills = LONG ? 200 : 10;
    const count = kills * 6_000;
    const ring = MpscRing.create(segment, { name: 'r', capacityBytes: 512, maxProducers: 4 });
    const { start, seen, told } = run(ring, 'claim', count);
    const receiver = start('receive');
    const steady = [start('send'), start('send')];
    for (let kill = 0; kill < kills; kill++) {
      const victim = start('send');
      const goal = Math.floor(((kill + 0.5) / kills) * count);
      await until(() => Atomics.load(told, TOLD.next) > goal);
      await victim.worker.terminate();
      await victim.ended;
    }
    for (const { ended } of steady) expect(await ended).toBe(0);
    ring.close();
    expect(await receiver.ended).toBe(0);
    expect(told[TOLD.faults]).toBe(0);
    expect(told[TOLD.abandoned]).toBeLessThanOrEqual(kills);
    expect(seen.every((times) => times <= 1)).toBe(true);
    expect(seen.filter((times) => times === 0).length).toBeLessThanOrEqual(kills);
  });

  test('killed receivers lose at most the record at hand, nothing is read twice', async () => {
    const kills = LONG ? 200 : 10;
    const count = kills * 6_000;
    const ring = MpscRing.create(segment, { name: 'r', capacityBytes: 512, maxProducers: 4 });
    const { start, seen, told } = run(ring, 'blocking', count);
    const senders = [start('send'), start('send'), start('send')];
    for (let kill = 0; kill < kills; kill++) {
      const victim = start('receive');
      const goal = Math.floor(((kill + 0.5) / kills) * count);
      await until(() => Atomics.load(told, TOLD.next) > goal);
      await victim.worker.terminate();
      await victim.ended;
    }
    const last = start('receive');
    for (const { ended } of senders) expect(await ended).toBe(0);
    ring.close();
    expect(await last.ended).toBe(0);
    expect(told[TOLD.faults]).toBe(0);
    expect(seen.every((times) => times <= 1)).toBe(true);
    expect(seen.filter((times) => times === 0).length).toBeLessThanOrEqual(kills);
  });
});

describe('MPMC queue', () => {
  for (const mode of ['blocking', 'async'] as const) {
    test(`${mode}: four putters, three takers, two places, stray wakes: every number once (LK-03, TR-12)`, async () => {
      const queue = MpmcQueue.create(segment, { name: 'q', capacity: 2 });
      const { start, seen, told } = run(queue, mode, (LONG ? 40 : 1) * (mode === 'async' ? 4_000 : 20_000));
      const putters = Array.from({ length: 4 }, () => start('send'));
      const others = [start('receive'), start('receive'), start('receive'), start('stray-wakes')];
      for (const { ended } of putters) expect(await ended).toBe(0);
      queue.close();
      for (const { ended } of others) expect(await ended).toBe(0);
      expect(told[TOLD.ended]).toBe(3);
      expect(seen.every((times) => times === 1)).toBe(true);
    });
  }

  test('killed putters and takers lose at most the number at hand', async () => {
    const kills = LONG ? 200 : 10;
    const count = kills * 6_000;
    const queue = MpmcQueue.create(segment, { name: 'q', capacity: 64 });
    const { start, seen, told } = run(queue, 'blocking', count);
    const steady = { put: start('send'), take: start('receive') };
    for (let kill = 0; kill < kills; kill++) {
      const victims = [start('send'), start('receive')];
      const goal = Math.floor(((kill + 0.5) / kills) * count);
      await until(() => Atomics.load(told, TOLD.next) > goal);
      for (const { worker, ended } of victims) {
        await worker.terminate();
        await ended;
      }
    }
    expect(await steady.put.ended).toBe(0);
    queue.close();
    expect(await steady.take.ended).toBe(0);
    expect(seen.every((times) => times <= 1)).toBe(true);
    expect(seen.filter((times) => times === 0).length).toBeLessThanOrEqual(2 * kills);
  });
});

/** Lets the event loop turn until it holds. Bounded by the test's own time. */
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve));
}
