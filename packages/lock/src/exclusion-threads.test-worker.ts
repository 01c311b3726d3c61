import { parentPort, workerData } from 'node:worker_threads';
import { exclusionClass } from './exclusion-kinds.test-worker.js';
import type { ExclusiveLock } from './exclusive-lock.js';
import type { LockHandle } from './placement.js';

/** Words that the threads of a test share, beside the locks. */
export const DATA = { first: 0, second: 1, stop: 2 } as const;
export const DATA_WORDS = 3;

/** What a thread of a test does. */
export type Job =
  | { readonly do: 'count'; readonly rounds: number; readonly style: Style }
  | { readonly do: 'hold'; readonly end: 'wait' | 'throw' | 'exit' }
  | { readonly do: 'once' }
  | { readonly do: 'storm' };

/** Which forms it uses. */
export type Style = 'blocking' | 'mixed' | 'task';

export interface Assignment {
  readonly kind: string;
  readonly locks: readonly LockHandle[];
  readonly data: SharedArrayBuffer;
  readonly index: number;
  readonly job: Job;
}

// Without `await` at the top: Node 20 aborts where a thread is terminated while it evaluates such a module.
if (workerData?.locks) work(workerData as Assignment);

function work({ kind, locks: handles, data, index, job }: Assignment): void {
  const locks: ExclusiveLock[] = handles.map((handle) => exclusionClass(kind).from(handle));
  const words = new Int32Array(data);
  switch (job.do) {
    case 'count':
      void count(locks[0]!, words, index, job).then(end);
      return;
    case 'hold':
      for (const lock of locks) lock.lock();
      hold(job.end);
      break;
    case 'once':
      for (const lock of locks) {
        const outcome = lock.lock();
        if (outcome === 'owner-died') lock.markConsistent();
        lock.unlock();
        parentPort!.postMessage(outcome);
      }
      break;
    case 'storm':
      storm(locks[0]!, words);
      break;
  }
  end();
}

function end(): void {
  parentPort!.postMessage('end');
}

/** Two plain words that differ only inside of a section. */
function section(words: Int32Array): void {
  if (words[DATA.first] !== words[DATA.second]) {
    throw new Error(`Two threads in one section: ${words[DATA.first]} and ${words[DATA.second]}`);
  }
  words[DATA.first] = words[DATA.first]! + 1;
  words[DATA.second] = words[DATA.second]! + 1;
}

async function count(
  lock: ExclusiveLock,
  words: Int32Array,
  index: number,
  { rounds, style }: Extract<Job, { do: 'count' }>,
): Promise<void> {
  for (let round = 0; round < rounds && Atomics.load(words, DATA.stop) === 0; round++) {
    const way = style === 'mixed' ? (round + index) % 4 : style === 'task' ? 3 : 0;
    if (way === 3) {
      await lock.runAsync(() => section(words));
    } else {
      if (way === 0) lock.lock();
      else if (way === 1) tryOften(lock);
      else timedOften(lock);
      section(words);
      lock.unlock();
    }
  }
}

function tryOften(lock: ExclusiveLock): void {
  for (let i = 0; i < 100; i++) if (lock.tryLock()) return;
  lock.lock();
}

function timedOften(lock: ExclusiveLock): void {
  for (;;) {
    try {
      lock.lock({ timeout: 0.05 });
      return;
    } catch (error) {
      if ((error as { code?: string }).code !== 'ERR_HEDDLE_TIMED_OUT') throw error;
    }
  }
}

function hold(end: 'wait' | 'throw' | 'exit'): void {
  parentPort!.postMessage('holding');
  if (end === 'throw') throw new Error('The owner dies of this, as the test wants it');
  if (end === 'exit') process.exit(0);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}

/** Notifies every word of the lock each millisecond until it is told to stop. */
function storm(lock: ExclusiveLock, words: Int32Array): void {
  const { segment } = lock;
  while (Atomics.load(words, DATA.stop) === 0) {
    Atomics.wait(words, DATA.stop, 0, 1);
    for (let index = 0; index < segment!.words.length; index++) Atomics.notify(segment!.words, index);
  }
}
