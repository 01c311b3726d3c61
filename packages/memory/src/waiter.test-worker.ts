import { isMainThread, workerData } from 'node:worker_threads';
import { realPlatform } from './platform.js';
import { Waiter } from './waiter.js';

/** What the threads of waiter.test.ts share: whose turn it is, whether to stop, rounds done. */
export const TURN = 0;
export const STOP = 1;
export const ROUNDS = 2;
export const SHARED_WORDS = 3;

export interface WaiterJob {
  readonly words: Int32Array;
  readonly role: 'storm' | 'pass' | 'pass-async';
  readonly index: number;
  readonly threads: number;
  readonly rounds: number;
}

/** Notifies the word all the time, whether there is a reason or not. */
function storm({ words }: WaiterJob): void {
  const { atomics } = realPlatform;
  while (atomics.load(words, STOP) === 0) {
    atomics.notify(words, TURN);
    atomics.wait(words, STOP, 0, 1);
  }
}

/** Passes the turn on to the next thread, `rounds` times. */
async function pass({ words, role, index, threads, rounds }: WaiterJob): Promise<void> {
  const { atomics } = realPlatform;
  const waiter = new Waiter(words, TURN);
  for (let round = 0; round < rounds; round++) {
    for (let turn = atomics.load(words, TURN); turn % threads !== index; turn = atomics.load(words, TURN)) {
      if (role === 'pass') waiter.wait(turn);
      else await waiter.waitAsync(turn);
    }
    // Plain: only the thread whose turn it is touches it.
    words[ROUNDS]! += 1;
    atomics.add(words, TURN, 1);
    waiter.wake();
  }
}

if (!isMainThread) {
  const job = workerData as WaiterJob;
  if (job.role === 'storm') storm(job);
  else await pass(job);
}
