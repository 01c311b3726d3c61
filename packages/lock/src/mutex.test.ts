import { realPlatform } from '@heddle/memory';
import { countingPlatform } from '@heddle/memory/counting';
import { expect, test } from 'vitest';
import { mutexLayout } from './mutex.layout.js';
import { RawMutex } from './raw-mutex.js';
import { RESERVED } from './word-flags.js';

const { state } = mutexLayout.offsets;

function counted() {
  const words = new Int32Array(new SharedArrayBuffer(mutexLayout.byteLength));
  const platform = countingPlatform();
  const mutex = new RawMutex(words, 1, platform);
  platform.reset();
  return { words, platform, mutex };
}

test('lock and unlock cost one compare-and-exchange each while nobody waits', () => {
  const { platform, mutex } = counted();
  mutex.lock();
  expect(platform.counts()).toEqual({ compareExchange: 1 });
  mutex.unlock();
  expect(platform.counts()).toEqual({ compareExchange: 2 });
  platform.reset();
  mutex.tryLock();
  mutex.unlock();
  expect(platform.counts()).toEqual({ compareExchange: 2 });
});

test('a task takes two loads and a compare-and-exchange while nobody waits', () => {
  const { platform, mutex } = counted();
  expect(mutex.taskSteps().begin()).toEqual({ done: true, value: 'acquired' });
  mutex.unlockTask();
  expect(platform.counts()).toEqual({ load: 2, compareExchange: 2 });
});

test('a release to a task adds one to the gate and notifies', () => {
  const { words, platform, mutex } = counted();
  mutex.lock();
  expect(new RawMutex(words, 2).taskSteps().begin().done).toBe(false);
  platform.reset();
  mutex.unlock();
  expect(platform.counts()).toEqual({ compareExchange: 2, add: 1, notify: 1 });
});

test('the gate wraps past 2^31 and 2^32', () => {
  for (const preset of [2 ** 31 - 1, -1]) {
    const { words, mutex } = counted();
    words[mutexLayout.offsets.taskGate] = preset;
    const steps = new RawMutex(words, 2).taskSteps();
    mutex.lock();
    const step = steps.begin();
    expect(step).toEqual({ done: false, index: mutexLayout.offsets.taskGate, expected: preset });
    mutex.unlock();
    expect(words[mutexLayout.offsets.taskGate]).toBe((preset + 1) | 0);
    expect(steps.onWake()).toEqual({ done: true, value: 'acquired' });
  }
});

test('a lock that is reserved for the heir is refused to everyone else', () => {
  const { words, mutex } = counted();
  words[state] = RESERVED;
  words[mutexLayout.offsets.heir] = 2;
  expect(mutex.tryLock()).toBeNull();
  expect(mutex.taskSteps().begin().done).toBe(false);
  mutex.recover(2);
  expect(mutex.tryLock()).toBe('acquired');
});

/** A thread that blocks, as steps, and the clock by which it waits. */
function heirOf(words: Int32Array, token: number) {
  const clock = { now: 0 };
  const platform = countingPlatform({ ...realPlatform, now: () => clock.now });
  const steps = new RawMutex(words, token, platform, 0).blockingSteps();
  return { clock, platform, steps };
}

test('an heir that has waited a millisecond gets the lock at the next release', () => {
  const { words, mutex } = counted();
  mutex.lock();
  const { clock, steps } = heirOf(words, 2);
  expect(steps.begin().done).toBe(false);
  // Before that, whoever runs may pass.
  mutex.unlock();
  expect(new RawMutex(words, 3).tryLock()).toBe('acquired');
  clock.now = 1;
  expect(steps.onWake().done).toBe(false);
  new RawMutex(words, 3).unlock();
  expect(new RawMutex(words, 3).tryLock()).toBeNull();
  expect(mutex.taskSteps().begin().done).toBe(false);
  expect(steps.onWake()).toEqual({ done: true, value: 'acquired' });
});

test('who blocks steps aside once for a task that has waited a millisecond, and no longer', () => {
  const { words, mutex } = counted();
  const clock = { now: 0 };
  const task = new RawMutex(words, 4, { ...realPlatform, now: () => clock.now }).taskSteps();
  mutex.lock();
  expect(task.begin().done).toBe(false);
  clock.now = 1;
  expect(task.onWake().done).toBe(false);
  mutex.unlock();
  const { platform, steps } = heirOf(words, 2);
  expect(steps.begin()).toEqual({ done: true, value: 'acquired' });
  expect(platform.counts().wait).toBe(1);
  expect(task.onWake().done).toBe(false);
});

test('a task that has waited a millisecond may take what is reserved for the heir', () => {
  const { words, mutex } = counted();
  mutex.lock();
  const { clock, steps } = heirOf(words, 2);
  expect(steps.begin().done).toBe(false);
  clock.now = 1;
  expect(steps.onWake().done).toBe(false);
  const taskClock = { now: 0 };
  const task = new RawMutex(words, 4, { ...realPlatform, now: () => taskClock.now }).taskSteps();
  expect(task.begin().done).toBe(false);
  taskClock.now = 1;
  expect(task.onWake().done).toBe(false);
  mutex.unlock();
  expect(task.onWake()).toEqual({ done: true, value: 'acquired' });
  expect(steps.onWake().done).toBe(false);
  new RawMutex(words, 4).unlockTask();
  expect(steps.onWake()).toEqual({ done: true, value: 'acquired' });
});
