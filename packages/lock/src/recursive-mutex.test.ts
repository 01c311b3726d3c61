import { countingPlatform } from '@heddle/memory/counting';
import { expect, test } from 'vitest';
import { RecursiveMutex } from './recursive-mutex.js';
import { recursiveMutexLayout } from './recursive-mutex.layout.js';

function make() {
  const words = new Int32Array(new SharedArrayBuffer(recursiveMutexLayout.byteLength));
  const platform = countingPlatform();
  const mutex = RecursiveMutex.over(words, { token: 1, platform });
  const other = RecursiveMutex.over(words, { token: 2 });
  platform.reset();
  return { words, platform, mutex, other };
}

test('its owner may take it again, and releases it as often', () => {
  const { mutex, other } = make();
  expect(mutex.lock()).toBe('acquired');
  expect(mutex.lock()).toBe('acquired');
  expect(mutex.tryLock()).toBe('acquired');
  mutex.run(() => expect(other.tryLock()).toBeNull());
  for (let i = 0; i < 3; i++) {
    expect(other.tryLock()).toBeNull();
    mutex.unlock();
  }
  expect(other.tryLock()).toBe('acquired');
  expect(() => mutex.unlock()).toThrow(expect.objectContaining({ code: 'ERR_HEDDLE_NOT_OWNER' }));
});

test('taking it costs a load more than a mutex, taking it again a load', () => {
  const { platform, mutex } = make();
  mutex.lock();
  expect(platform.counts()).toEqual({ load: 1, compareExchange: 1 });
  platform.reset();
  mutex.lock();
  mutex.unlock();
  expect(platform.counts()).toEqual({ load: 2 });
  platform.reset();
  mutex.unlock();
  expect(platform.counts()).toEqual({ compareExchange: 1 });
});

test('how often a dead owner had it does not matter to the next, be it a task', async () => {
  const { mutex, other } = make();
  for (let i = 0; i < 3; i++) other.lock();
  mutex.core.recover(2);
  await mutex.runAsync((guard) => guard.markConsistent());
  mutex.lock();
  mutex.unlock();
  expect(mutex.locked).toBe(false);
});
