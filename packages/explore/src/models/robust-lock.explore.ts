import { defineModel, type Model, type RecoveryBody, type SimulatedThread } from '../index.js';

// The lock word: the owner's id in the low bits, then whether somebody waits, then whether the last owner died.
const OWNER = 0xff;
const WAITERS = 0x100;
const DIED = 0x200;

const LOCK = 0;
const COUNT = 1;

/** A lock that knows its owner, so that recovery can free it. Returns whether the last owner died. */
function lock({ words, atomics, index }: SimulatedThread): boolean {
  const me = index + 1;
  let value = atomics.compareExchange(words, LOCK, 0, me);
  if (value === 0) return false;
  let waiters = 0;
  for (;;) {
    if ((value & OWNER) === 0) {
      const seen = atomics.compareExchange(words, LOCK, value, me | waiters | (value & WAITERS));
      if (seen === value) return (value & DIED) !== 0;
      value = seen;
      continue;
    }
    if ((value & WAITERS) === 0) {
      const seen = atomics.compareExchange(words, LOCK, value, value | WAITERS);
      if (seen !== value) {
        value = seen;
        continue;
      }
      value |= WAITERS;
    }
    // Having slept, it cannot know whether others sleep too, and keeps the mark.
    waiters = WAITERS;
    atomics.wait(words, LOCK, value);
    value = atomics.load(words, LOCK);
  }
}

function unlock({ words, atomics }: SimulatedThread): void {
  if ((atomics.exchange(words, LOCK, 0) & WAITERS) !== 0) atomics.notify(words, LOCK, 1);
}

function lockOnce(thread: SimulatedThread): void {
  lock(thread);
  thread.words[COUNT] = thread.words[COUNT]! + 1;
  unlock(thread);
}

/** Marks the lock of a dead owner; says whether it was one. */
function mark({ words, atomics }: SimulatedThread, dead: number): boolean {
  let value = atomics.load(words, LOCK);
  while ((value & OWNER) === dead + 1) {
    const seen = atomics.compareExchange(words, LOCK, value, (value & WAITERS) | DIED);
    if (seen === value) return true;
    value = seen;
  }
  return false;
}

const wakeAlways: RecoveryBody = (thread, dead) => {
  mark(thread, dead);
  thread.atomics.notify(thread.words, LOCK, 1);
};

/** A thread killed between its unlock and its notify owns nothing, and leaves a sleeper. */
const wakeIfOwnerDied: RecoveryBody = (thread, dead) => {
  if (mark(thread, dead)) thread.atomics.notify(thread.words, LOCK, 1);
};

const neverWake: RecoveryBody = (thread, dead) => {
  mark(thread, dead);
};

function robustLock(name: string, recover: RecoveryBody, rest: Partial<Model> = {}): Model {
  return defineModel({
    name,
    words: 2,
    names: { lock: LOCK, count: COUNT },
    threads: [lockOnce, lockOnce, lockOnce],
    recover,
    kills: 1,
    check: ({ words, dead }) => {
      if ((words[LOCK]! & OWNER) !== 0) return `the lock is left to thread ${(words[LOCK]! & OWNER) - 1}`;
      const alive = dead.filter((one) => !one).length;
      return words[COUNT]! >= alive ? undefined : `${words[COUNT]} increments by ${alive} living threads`;
    },
    ...rest,
  });
}

export default [
  robustLock('robust lock, killed at every step, 3 threads', wakeAlways),
  robustLock('robust lock, two deaths, recovery killed too, 2 threads', wakeAlways, {
    threads: [lockOnce, lockOnce],
    kills: 2,
  }),
  robustLock('robust lock, two detectors of one death, 2 threads', wakeAlways, {
    threads: [lockOnce, lockOnce],
    recover: [wakeAlways, wakeAlways],
  }),
  robustLock('robust lock that wakes only if the owner died', wakeIfOwnerDied, {
    expect: { fail: ['lost-wake', 'deadlock'], reason: 'after a death' },
  }),
  robustLock('robust lock that marks and never wakes', neverWake, {
    expect: { fail: ['lost-wake', 'deadlock'], reason: 'after a death' },
  }),
];
