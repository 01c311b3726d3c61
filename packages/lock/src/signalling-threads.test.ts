import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { Barrier } from './barrier.js';
import { Condition } from './condition.js';
import { Mutex } from './mutex.js';
import { RwLock } from './rw-lock.js';
import { Semaphore } from './semaphore.js';
import { SeqLock } from './seq-lock.js';
import type { SharedObject } from './shared-object.js';
import { type Assignment, SHARED, SHARED_WORDS } from './signalling-threads.test-worker.js';

const LONG = process.env['HEDDLE_STRESS'] === 'long';
if (LONG) vi.setConfig({ testTimeout: 900_000 });
const THREADS = 4 * availableParallelism();

let objects: SharedObject[];
let data: SharedArrayBuffer;
let words: Int32Array;
beforeEach(() => {
  data = new SharedArrayBuffer(SHARED_WORDS * 4);
  words = new Int32Array(data);
  return () => {
    for (const object of objects) object[Symbol.dispose]();
  };
});

/** Starts a thread; the promise rejects with what it failed with. */
function start(index: number, job: Assignment['job'], rounds: number, parties = 0): Promise<void> {
  const handles = objects.map(({ handle }) => handle);
  const assignment: Assignment = { handles, data, index, job, rounds, parties };
  const worker = new Worker(new URL('./signalling-threads.test-worker.js', import.meta.url), {
    workerData: assignment,
  });
  for (const { segment } of objects) segment!.watch(worker);
  return new Promise((resolve, reject) => {
    worker.once('error', reject);
    worker.once('exit', () => resolve());
  });
}

/** Lets a storm of stray wakes go on until `threads` have ended. */
async function inStorm(threads: readonly Promise<void>[]): Promise<void> {
  const storm = start(SHARED_WORDS, 'storm', 0);
  try {
    await Promise.all(threads);
  } finally {
    Atomics.store(words, SHARED.stop, 1);
    await storm;
  }
}

const many = (count: number, job: Assignment['job'], rounds: number, parties = 0) =>
  Array.from({ length: count }, (_, i) => start(i, job, rounds, parties));

describe('barrier', () => {
  test.each([2, 3, 8])(
    '%i threads stay in step, in a storm of stray wakes (LK-03, LK-11)',
    async (parties) => {
      const rounds = LONG ? 50_000 : 300;
      objects = [new Barrier({ parties })];
      await inStorm(many(parties, 'barrier', rounds, parties));
      expect(words[SHARED.served]).toBe(rounds);
    },
  );
});

test('a semaphore never lets more in than it has permits, and has them all in the end (LK-03)', async () => {
  const semaphore = new Semaphore({ permits: 3 });
  objects = [semaphore];
  await inStorm(many(THREADS, 'semaphore', LONG ? 50_000 : 500, 3));
  expect(semaphore.available).toBe(3);
});

test('every unit that is notified is consumed (LK-01)', async () => {
  const rounds = LONG ? 30_000 : 2000;
  objects = [new Mutex(), new Condition()];
  await inStorm([...many(3, 'consume', rounds), start(3, 'produce', rounds * 3)]);
  expect(words[SHARED.units]).toBe(0);
});

test('a writer gets in among readers who overlap (LK-08)', async () => {
  objects = [new RwLock()];
  const readers = many(4, 'read', 2 ** 31);
  while (words.subarray(SHARED.own, SHARED.own + 4).some((rounds) => rounds === 0)) await turn();
  await start(4, 'write', 20);
  expect(words[SHARED.inside]).toBe(20);
  Atomics.store(words, SHARED.stop, 1);
  await Promise.all(readers);
});

test('a reader gets in among writers who never cease (LK-08)', async () => {
  objects = [new RwLock()];
  const writers = many(4, 'write', 2 ** 31);
  while (words[SHARED.inside] === 0) await turn();
  await start(4, 'read', 20);
  expect(words[SHARED.own + 4]).toBe(20);
  Atomics.store(words, SHARED.stop, 1);
  await Promise.all(writers);
  expect(words[SHARED.inside]).toBe(words[SHARED.most]);
});

test('four threads for each core read and write, in a storm of stray wakes (LK-03)', async () => {
  objects = [new RwLock()];
  const rounds = LONG ? 20_000 : 500;
  const writers = Math.floor(THREADS / 2);
  await inStorm([
    ...many(writers, 'write', rounds),
    ...Array.from({ length: THREADS - writers }, (_, i) => start(writers + i, 'read', rounds)),
  ]);
  expect(words[SHARED.inside]).toBe(writers * rounds);
});

test('readers of a sequence lock see whole writes, and no write is lost', async () => {
  const lock = new SeqLock({ length: 40 });
  objects = [lock];
  const rounds = LONG ? 50_000 : 2000;
  await Promise.all([
    ...many(2, 'seq-write', rounds),
    start(2, 'seq-read', rounds),
    start(3, 'seq-read', rounds),
  ]);
  expect(lock.read()[39]).toBe(2 * rounds);
  expect(lock.version).toBe(2 * rounds);
});

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));
