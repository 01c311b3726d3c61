import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { EXCLUSION_KINDS } from './exclusion-kinds.test-worker.js';
import { type Assignment, DATA, DATA_WORDS, type Job, type Style } from './exclusion-threads.test-worker.js';
import type { ExclusiveLock } from './exclusive-lock.js';
import { Segment } from './index.js';
import { Mutex } from './mutex.js';

const LONG = process.env['HEDDLE_STRESS'] === 'long';
if (LONG) vi.setConfig({ testTimeout: 900_000 });
const THREADS = 4 * availableParallelism();

interface Thread {
  readonly worker: Worker;
  readonly messages: unknown[];
  /** Resolves when the thread has ended, with what it failed with. */
  readonly ended: Promise<Error | undefined>;
  said(message: unknown): Promise<void>;
}

describe.each(EXCLUSION_KINDS.filter(({ skips }) => !skips.otherThreads))(
  '$kind on threads',
  ({ kind, Class }) => {
    let lock: ExclusiveLock;
    let locks: ExclusiveLock[];
    let data: SharedArrayBuffer;
    let words: Int32Array;
    const threads = new Set<Thread>();

    beforeEach(() => {
      lock = new Class();
      locks = [lock];
      data = new SharedArrayBuffer(DATA_WORDS * 4);
      words = new Int32Array(data);
    });

    afterEach(async () => {
      Atomics.store(words, DATA.stop, 1);
      for (const { worker } of threads) await worker.terminate();
      threads.clear();
      for (const each of locks) each[Symbol.dispose]();
    });

    function start(index: number, job: Job): Thread {
      const assignment: Assignment = { kind, locks: locks.map((each) => each.handle), data, index, job };
      const worker = new Worker(new URL('./exclusion-threads.test-worker.js', import.meta.url), {
        workerData: assignment,
      });
      for (const each of locks) each.segment!.watch(worker);
      const messages: unknown[] = [];
      worker.on('message', (message) => messages.push(message));
      let failure: Error | undefined;
      worker.on('error', (error) => {
        failure = error as Error;
      });
      const ended = new Promise<Error | undefined>((resolve) => worker.once('exit', () => resolve(failure)));
      const said = async (message: unknown) => {
        while (!messages.includes(message)) {
          const gone = await Promise.race([
            new Promise<false>((resolve) => worker.once('message', () => resolve(false))),
            ended.then(() => true),
          ]);
          if (gone && !messages.includes(message))
            throw failure ?? new Error(`It ended without ${String(message)}`);
        }
      };
      const thread = { worker, messages, ended, said };
      threads.add(thread);
      return thread;
    }

    async function count(style: Style, rounds: number, storm: boolean): Promise<void> {
      const counting = Array.from({ length: THREADS }, (_, i) => start(i, { do: 'count', rounds, style }));
      const stormy = storm ? start(THREADS, { do: 'storm' }) : undefined;
      const failures = await Promise.all(counting.map(({ ended }) => ended));
      expect(failures).toEqual(Array(THREADS).fill(undefined));
      Atomics.store(words, DATA.stop, 1);
      await stormy?.ended;
      expect(words[DATA.first]).toBe(THREADS * rounds);
      expect(words[DATA.second]).toBe(THREADS * rounds);
      expect(lock.locked).toBe(false);
    }

    test('four threads for each core count exactly (LK-10)', () =>
      count('blocking', LONG ? 200_000 : 5000, false));

    test('every form at once, in a storm of stray wakes (LK-03)', () =>
      count('mixed', LONG ? 20_000 : 500, true));

    test('tasks of many threads count exactly', () => count('task', LONG ? 5000 : 200, false));

    test.each(['wait', 'throw', 'exit'] as const)(
      'the next owner is told when the owner ends by %s, and nobody hangs (LK-06)',
      async (end) => {
        locks = [lock, new Class(), new Class()];
        const owner = start(0, { do: 'hold', end });
        await owner.said('holding');
        const next = [start(1, { do: 'once' }), start(2, { do: 'once' })];
        if (end === 'wait') await owner.worker.terminate();
        await Promise.all(next.map(({ said }) => said('end')));
        const outcomes = next.flatMap(({ messages }) => messages.filter((message) => message !== 'end'));
        expect(outcomes.sort()).toEqual([...Array(3).fill('acquired'), ...Array(3).fill('owner-died')]);
      },
    );
  },
);

test('a janitor tells the main thread of a death while it blocks for the lock (LK-06, LC-03)', async () => {
  const segment = Segment.create({ byteLength: 2 ** 20, janitor: true });
  const mutex = Mutex.create(segment, { name: 'held' });
  const { handle, transferList } = segment.lifeline();
  const assignment: Assignment = {
    kind: 'mutex',
    locks: [{ ...mutex.handle, segment: handle }],
    data: new SharedArrayBuffer(DATA_WORDS * 4),
    index: 0,
    job: { do: 'hold', end: 'exit' },
  };
  const worker = new Worker(new URL('./exclusion-threads.test-worker.js', import.meta.url), {
    workerData: assignment,
    transferList,
  });
  await new Promise((resolve) => worker.once('message', resolve));
  expect(mutex.lock()).toBe('owner-died');
  mutex.markConsistent();
  mutex.unlock();
  segment.detach();
});
