import { defineModel, type Model, type SimulatedThread } from '../index.js';

const LOCK = 0;
const INSIDE = 1;
const COUNT = 2;
const names = { lock: LOCK, inside: INSIDE, count: COUNT };

interface Lock {
  lock(words: Int32Array, atomics: Atomics): void;
  unlock(words: Int32Array, atomics: Atomics): void;
}

/** Two sections; between them nothing of the first matters any more. */
const lockTwice =
  (lock: Lock) =>
  (thread: SimulatedThread): void => {
    for (let round = 0; round < 2; round++) {
      thread.checkpoint(round);
      lockOnce(lock)(thread);
    }
  };

/** A section that notices company, and counts plainly under the lock. */
const lockOnce =
  (lock: Lock) =>
  ({ words, atomics }: SimulatedThread): void => {
    lock.lock(words, atomics);
    if (atomics.add(words, INSIDE, 1) !== 0) throw new Error('two threads are inside');
    words[COUNT] = words[COUNT]! + 1;
    atomics.sub(words, INSIDE, 1);
    lock.unlock(words, atomics);
  };

const countIs =
  (expected: number) =>
  ({ words }: { words: Int32Array }): string | undefined => {
    if (words[COUNT] !== expected) return `${words[COUNT]} of ${expected} increments`;
    return words[LOCK] === 0 ? undefined : `the lock is left ${words[LOCK]}`;
  };

function lockModel(name: string, lock: Lock, threads: number, rest: Partial<Model> = {}): Model {
  return defineModel({
    name,
    words: 3,
    names,
    threads: Array.from({ length: threads }, () => lockOnce(lock)),
    check: countIs(threads),
    ...rest,
  });
}

/** Free or held: nobody can tell whether somebody sleeps, so unlock wakes nobody. */
const twoState: Lock = {
  lock(words, atomics) {
    while (atomics.compareExchange(words, LOCK, 0, 1) !== 0) atomics.wait(words, LOCK, 1);
  },
  unlock(words, atomics) {
    if (atomics.exchange(words, LOCK, 0) === 2) atomics.notify(words, LOCK, 1);
  },
};

/** Free, held, held with waiters (Drepper, "Futexes are tricky", mutex2). */
const threeState: Lock = {
  lock(words, atomics) {
    if (atomics.compareExchange(words, LOCK, 0, 1) === 0) return;
    while (atomics.exchange(words, LOCK, 2) !== 0) atomics.wait(words, LOCK, 2);
  },
  unlock(words, atomics) {
    if (atomics.exchange(words, LOCK, 0) === 2) atomics.notify(words, LOCK, 1);
  },
};

/** A waiter that was woken takes the lock as if nobody else waited. */
const forgetsWaiters: Lock = {
  lock(words, atomics) {
    let seen = atomics.compareExchange(words, LOCK, 0, 1);
    while (seen !== 0) {
      if (seen === 2 || atomics.compareExchange(words, LOCK, 1, 2) !== 0) atomics.wait(words, LOCK, 2);
      seen = atomics.compareExchange(words, LOCK, 0, 1);
    }
  },
  unlock: threeState.unlock,
};

/** Spins on a load, with a pause, and takes by CAS. */
const spinLock: Lock = {
  lock(words, atomics) {
    while (atomics.compareExchange(words, LOCK, 0, 1) !== 0) {
      while (atomics.load(words, LOCK) !== 0) (atomics as { pause?: () => void }).pause?.();
    }
  },
  unlock(words, atomics) {
    atomics.store(words, LOCK, 0);
  },
};

/** The same, with nothing that tells of the spinning. */
const silentSpinLock: Lock = {
  lock(words, atomics) {
    while (atomics.exchange(words, LOCK, 1) !== 0);
  },
  unlock: spinLock.unlock,
};

/** Waits for the lock by looking at the word plainly, which an engine may do once for all. */
const plainSpinLock: Lock = {
  lock(words, atomics) {
    for (;;) {
      if (words[LOCK] === 0 && atomics.compareExchange(words, LOCK, 0, 1) === 0) return;
    }
  },
  unlock: spinLock.unlock,
};

export default [
  lockModel('2-state mutex, 3 threads', twoState, 3, {
    expect: { fail: 'lost-wake', reason: 'sleeps on lock' },
  }),
  lockModel('3-state mutex, 3 threads', threeState, 3),
  lockModel('3-state mutex, 2 threads, twice each', threeState, 2, {
    threads: [lockTwice(threeState), lockTwice(threeState)],
    check: countIs(4),
  }),
  lockModel('3-state mutex, 3 threads, stray wakes', threeState, 3, { strayWakes: 1 }),
  lockModel('mutex whose woken waiter forgets the others, 3 threads', forgetsWaiters, 3, {
    expect: { fail: 'lost-wake', reason: 'sleeps on lock' },
  }),
  lockModel('mutex whose woken waiter forgets the others, 6 threads, random priorities', forgetsWaiters, 6, {
    search: { strategy: 'pct', schedules: 2000, seed: 1 },
    expect: { fail: 'lost-wake', reason: 'sleeps on lock' },
  }),
  lockModel('spinlock with pause, 3 threads', spinLock, 3),
  lockModel('spinlock on exchange without pause, 2 threads', silentSpinLock, 2),
  lockModel('spinlock on a hint, 2 threads', plainSpinLock, 2, {
    hints: ['lock'],
    expect: { fail: 'hint', reason: 'plain reads only' },
  }),
  defineModel({
    name: '3-state mutex, unlocked in a finally, 2 threads',
    words: 3,
    names,
    threads: Array.from({ length: 2 }, () => ({ words, atomics }: SimulatedThread) => {
      threeState.lock(words, atomics);
      try {
        words[COUNT] = words[COUNT]! + 1;
      } finally {
        threeState.unlock(words, atomics);
      }
    }),
    check: countIs(2),
  }),
  defineModel({
    name: '3-state mutex, kills without recovery',
    words: 3,
    names,
    threads: [lockOnce(threeState), lockOnce(threeState)],
    kills: 1,
    expect: { fail: ['deadlock', 'lost-wake'], reason: 'after a death' },
  }),
];
