import { parentPort, workerData } from 'node:worker_threads';
import { Barrier } from './barrier.js';
import { Condition } from './condition.js';
import { Mutex } from './mutex.js';
import type { LockHandle } from './placement.js';
import { RwLock } from './rw-lock.js';
import { Semaphore } from './semaphore.js';
import { SeqLock } from './seq-lock.js';

/** Words that the threads of a test share, beside the structures. `own` has a word for each thread. */
export const SHARED = { stop: 0, units: 1, inside: 2, most: 3, served: 4, own: 8 } as const;
export const SHARED_WORDS = 64;

export interface Assignment {
  readonly handles: readonly LockHandle[];
  readonly data: SharedArrayBuffer;
  readonly index: number;
  readonly job:
    | 'barrier'
    | 'semaphore'
    | 'consume'
    | 'produce'
    | 'read'
    | 'write'
    | 'seq-read'
    | 'seq-write'
    | 'storm';
  readonly rounds: number;
  readonly parties: number;
}

const jobs: Record<Assignment['job'], (assignment: Assignment, words: Int32Array) => void> = {
  /** Each round everyone sees what everyone wrote for it, and one of them is the last. */
  barrier({ handles, index, rounds, parties }, words) {
    const barrier = Barrier.from(handles[0]!);
    for (let round = 1; round <= rounds; round++) {
      words[SHARED.own + index] = round;
      if (barrier.wait() === 'last') words[SHARED.served] = words[SHARED.served]! + 1;
      for (let i = 0; i < parties; i++) {
        const seen = words[SHARED.own + i]!;
        if (seen !== round)
          throw new Error(`Thread ${index} sees round ${seen} of thread ${i} in round ${round}`);
      }
      // Nobody writes the next round before everyone has looked.
      barrier.wait();
    }
  },
  /** No more inside than there are permits. */
  semaphore({ handles, rounds, parties }, words) {
    const semaphore = Semaphore.from(handles[0]!);
    for (let round = 0; round < rounds; round++) {
      if (round % 3 === 0) {
        if (!semaphore.tryAcquire()) semaphore.acquire();
      } else semaphore.acquire();
      const inside = Atomics.add(words, SHARED.inside, 1) + 1;
      if (inside > parties) throw new Error(`${inside} inside`);
      Atomics.sub(words, SHARED.inside, 1);
      semaphore.release();
    }
  },
  consume({ handles, rounds }, words) {
    const mutex = Mutex.from(handles[0]!);
    const condition = Condition.from(handles[1]!);
    for (let round = 0; round < rounds; round++) {
      mutex.lock();
      condition.waitUntil(mutex, () => words[SHARED.units]! > 0);
      words[SHARED.units] = words[SHARED.units]! - 1;
      mutex.unlock();
    }
  },
  produce({ handles, rounds }, words) {
    const mutex = Mutex.from(handles[0]!);
    const condition = Condition.from(handles[1]!);
    for (let round = 0; round < rounds; round++) {
      mutex.lock();
      words[SHARED.units] = words[SHARED.units]! + 1;
      mutex.unlock();
      condition.notifyOne();
    }
  },
  /** Reads until it is told to stop, never seeing half a change. */
  read({ handles, index, rounds }, words) {
    const { read } = RwLock.from(handles[0]!);
    for (let round = 0; round < rounds && Atomics.load(words, SHARED.stop) === 0; round++) {
      read.lock();
      if (words[SHARED.inside] !== words[SHARED.most]) throw new Error('Half a change is to be seen');
      read.unlock();
      words[SHARED.own + index] = round + 1;
    }
  },
  write({ handles, rounds }, words) {
    const { write } = RwLock.from(handles[0]!);
    for (let round = 0; round < rounds && Atomics.load(words, SHARED.stop) === 0; round++) {
      write.lock();
      words[SHARED.inside] = words[SHARED.inside]! + 1;
      words[SHARED.most] = words[SHARED.most]! + 1;
      write.unlock();
    }
  },
  'seq-read'({ handles, index, rounds }, words) {
    const lock = SeqLock.from(handles[0]!);
    const values = new Int32Array(lock.length);
    for (let round = 0; round < rounds; round++) {
      lock.read(values);
      if (values.some((value) => value !== values[0])) throw new Error(`Half a write: ${values.join()}`);
    }
    words[SHARED.own + index] = rounds;
  },
  'seq-write'({ handles, rounds }) {
    const lock = SeqLock.from(handles[0]!);
    for (let round = 0; round < rounds; round++) lock.update((values) => values.fill(values[0]! + 1));
  },
  /** Notifies every word of every structure each millisecond. */
  storm({ handles }, words) {
    const segments = handles.map(({ segment }) => new Int32Array(segment.buffer));
    while (Atomics.load(words, SHARED.stop) === 0) {
      Atomics.wait(words, SHARED.stop, 0, 1);
      for (const segment of segments) {
        for (let index = 0; index < segment.length; index++) Atomics.notify(segment, index);
      }
    }
  },
};

if (workerData?.handles) {
  const assignment = workerData as Assignment;
  jobs[assignment.job](assignment, new Int32Array(assignment.data));
  parentPort!.postMessage('end');
}
