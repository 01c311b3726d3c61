import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { Segment } from '@heddle/memory';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { SpscRing } from './spsc-ring.js';
import { type SpscTask, TOLD } from './spsc-ring.test-worker.js';

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

function start(task: Omit<SpscTask, 'handle'>, ring: SpscRing) {
  const worker = new Worker(new URL('./spsc-ring.test-worker.js', import.meta.url), {
    workerData: { ...task, handle: ring.handle } satisfies SpscTask,
  });
  workers.add(worker);
  segment.watch(worker);
  const ended = once(worker, 'exit').then(([code]) => code as number);
  worker.on('error', (error) => expect.unreachable(`${error.stack}`));
  return { worker, ended };
}

const shared = (words: number) => new SharedArrayBuffer(words * 4);

describe('every record arrives once, in order and whole', () => {
  for (const [mode, capacityBytes, maxBytes] of [
    ['blocking', 64, 40],
    ['blocking', 4096, 1000],
    ['drain', 1024, 300],
    ['claim', 256, 100],
    ['async', 128, 64],
  ] as const) {
    test(`${mode}, ${capacityBytes} bytes, with stray wakes (LK-03, TR-12)`, async () => {
      const count = (LONG ? 50 : 1) * (mode === 'async' ? 5_000 : 40_000);
      const ring = SpscRing.create(segment, { name: 'r', capacityBytes });
      const task = { mode, maxBytes, count, seen: shared(count), told: shared(8) };
      const all = (['read', 'write', 'stray-wakes'] as const).map((role) => start({ ...task, role }, ring));
      for (const { ended } of all) expect(await ended).toBe(0);
      const told = new Int32Array(task.told);
      expect(told[TOLD.faults]).toBe(0);
      expect(told[TOLD.ended]).toBe(1);
      expect(new Int32Array(task.seen).every((times) => times === 1)).toBe(true);
    });
  }
});

test('TR-12: more rings than cores, each of 2 records, lose no wake', async () => {
  const count = LONG ? 200_000 : 4_000;
  const rings = [0, 1, 2].map((i) => SpscRing.create(segment, { name: `r${i}`, capacityBytes: 32 }));
  const tasks = rings.map(() => ({
    mode: 'blocking' as const,
    maxBytes: 8,
    count,
    seen: shared(count),
    told: shared(8),
  }));
  const all = rings.flatMap((ring, i) =>
    (['read', 'write'] as const).map((role) => start({ ...tasks[i]!, role }, ring)),
  );
  for (const { ended } of all) expect(await ended).toBe(0);
  for (const { seen, told } of tasks) {
    expect(new Int32Array(told)[TOLD.faults]).toBe(0);
    expect(new Int32Array(seen).every((times) => times === 1)).toBe(true);
  }
});

test('killed readers lose at most the record at hand, nothing is read twice, the last one ends at the close', async () => {
  const kills = LONG ? 200 : 8;
  const count = kills * 4_000;
  const ring = SpscRing.create(segment, { name: 'r', capacityBytes: 512 });
  const task = { mode: 'drain' as const, maxBytes: 60, count, seen: shared(count), told: shared(8) };
  const seen = new Int32Array(task.seen);
  const writer = start({ ...task, role: 'write' }, ring);
  for (let kill = 0; kill < kills; kill++) {
    const { worker, ended } = start({ ...task, role: 'read' }, ring);
    // It is killed as soon as it has come so far, wherever it is then.
    const goal = Math.floor(((kill + 0.5) / kills) * count);
    await until(() => seen[goal]! + seen[goal + 1]! > 0);
    await worker.terminate();
    await ended;
  }
  const last = start({ ...task, role: 'read' }, ring);
  expect(await writer.ended).toBe(0);
  expect(await last.ended).toBe(0);
  const told = new Int32Array(task.told);
  expect(told[TOLD.faults]).toBe(0);
  // The last one that is killed may have come to the end already.
  expect([1, 2]).toContain(told[TOLD.ended]);
  expect(seen.every((times) => times <= 1)).toBe(true);
  expect(seen.filter((times) => times === 0).length).toBeLessThanOrEqual(kills);
});

test('killed writers lose nothing that was written, and the reader goes on with the next one', async () => {
  const kills = LONG ? 200 : 8;
  const count = kills * 4_000;
  const ring = SpscRing.create(segment, { name: 'r', capacityBytes: 512 });
  const task = { mode: 'blocking' as const, maxBytes: 60, count, seen: shared(count), told: shared(8) };
  const told = new Int32Array(task.told);
  const reader = start({ ...task, role: 'read' }, ring);
  for (let kill = 0; kill < kills; kill++) {
    const { worker, ended } = start({ ...task, role: 'write' }, ring);
    const goal = Math.floor(((kill + 0.5) / kills) * count);
    await until(() => Atomics.load(told, TOLD.next) > goal);
    await worker.terminate();
    await ended;
  }
  expect(await start({ ...task, role: 'write' }, ring).ended).toBe(0);
  expect(await reader.ended).toBe(0);
  expect(told[TOLD.faults]).toBe(0);
  const seen = new Int32Array(task.seen);
  // A writer that died between writing and telling was followed by one that wrote the record again.
  expect(seen.every((times) => times >= 1)).toBe(true);
  expect(seen.reduce((sum, times) => sum + times, 0) - count).toBeLessThanOrEqual(kills);
});

test('TR-11: a close from a third thread ends blocked threads, whenever it comes', async () => {
  for (let round = 0; round < (LONG ? 200 : 6); round++) {
    const empty = SpscRing.create(segment, { name: `empty${round}`, capacityBytes: 64 });
    const task = { mode: 'blocking' as const, maxBytes: 8, count: 0, seen: shared(1), told: shared(8) };
    const reader = start({ ...task, role: 'read' }, empty);
    await once(reader.worker, 'online');
    for (let spin = 0; spin < round * 50_000; spin++);
    empty.close();
    expect(await reader.ended).toBe(0);
    expect(new Int32Array(task.told)[TOLD.ended]).toBe(1);
  }
});

/** Lets the event loop turn until it holds. Bounded by the test's own time. */
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve));
}
