import { defineModel, type End, type SimulatedThread } from '../index.js';

const PERMITS = 0;
const GRANTS = 1;
const names = { permits: PERMITS, grants: GRANTS };

/** Takes one from a word, unless it is 0. */
function takeOne({ words, atomics }: SimulatedThread, word: number): boolean {
  for (let value = atomics.load(words, word); value > 0; ) {
    const seen = atomics.compareExchange(words, word, value, value - 1);
    if (seen === value) return true;
    value = seen;
  }
  return false;
}

/**
 * Counts waiters as negative permits, and grants a permit to each that is counted. One that times out stays
 * counted, and a permit is granted to nobody.
 */
const handOver = {
  acquire(thread: SimulatedThread, timeoutMs: number): boolean {
    const { words, atomics } = thread;
    if (atomics.sub(words, PERMITS, 1) > 0) return true;
    for (;;) {
      if (takeOne(thread, GRANTS)) return true;
      if (atomics.wait(words, GRANTS, 0, timeoutMs) === 'timed-out') return false;
    }
  },
  release({ words, atomics }: SimulatedThread): void {
    if (atomics.add(words, PERMITS, 1) >= 0) return;
    atomics.add(words, GRANTS, 1);
    atomics.notify(words, GRANTS, 1);
  },
};

/** Counts permits only; a waiter sleeps while there is none. */
const counting = {
  acquire(thread: SimulatedThread, timeoutMs: number): boolean {
    for (;;) {
      if (takeOne(thread, PERMITS)) return true;
      if (thread.atomics.wait(thread.words, PERMITS, 0, timeoutMs) === 'timed-out') return false;
    }
  },
  release({ words, atomics }: SimulatedThread): void {
    atomics.add(words, PERMITS, 1);
    atomics.notify(words, PERMITS, 1);
  },
};

const holder =
  (semaphore: typeof handOver) =>
  (thread: SimulatedThread): string => {
    if (!semaphore.acquire(thread, Number.POSITIVE_INFINITY)) return 'nothing';
    semaphore.release(thread);
    return 'released';
  };

const impatient =
  (semaphore: typeof handOver) =>
  (thread: SimulatedThread): string => {
    if (!semaphore.acquire(thread, 10)) return 'timed out';
    semaphore.release(thread);
    return 'released';
  };

const onePermit = (words: Int32Array): void => {
  words[PERMITS] = 1;
};

const conserve = ({ words }: End): string | undefined =>
  words[PERMITS] === 1 ? undefined : `${words[PERMITS]} permits of 1; ${words[GRANTS]} granted to nobody`;

export default [
  defineModel({
    name: 'semaphore that counts a timed-out waiter',
    words: 2,
    names,
    init: onePermit,
    threads: { holder: holder(handOver), impatient: impatient(handOver) },
    conserve,
    expect: { fail: 'leak', reason: '1 granted to nobody' },
  }),
  defineModel({
    name: 'semaphore that counts permits only, 3 threads',
    words: 2,
    names,
    init: onePermit,
    threads: { first: holder(counting), impatient: impatient(counting), last: holder(counting) },
    conserve,
    strayWakes: 1,
  }),
];
