import { countingPlatform } from '@heddle/memory/counting';
import { expect, test } from 'vitest';
import { NullLock } from './null-lock.js';
import { nullLockLayout } from './null-lock.layout.js';

const wrongThread = expect.objectContaining({ code: 'ERR_HEDDLE_WRONG_THREAD' });

function make() {
  const words = new Int32Array(new SharedArrayBuffer(nullLockLayout.byteLength));
  const platform = countingPlatform();
  return {
    platform,
    lock: NullLock.over(words, { token: 1, platform }),
    other: NullLock.over(words, { token: 2 }),
  };
}

test('after the first use it costs no call of Atomics', () => {
  const { platform, lock } = make();
  lock.lock();
  lock.unlock();
  expect(platform.counts()).toEqual({ load: 1, compareExchange: 1 });
  lock.lock();
  lock.unlock();
  lock.tryLock();
  lock.unlock();
  expect(platform.total()).toBe(2);
});

test('every thread but the first is refused, whether or not it is held', async () => {
  const { lock, other } = make();
  lock.lock();
  lock.unlock();
  expect(() => other.lock()).toThrow(wrongThread);
  expect(() => other.tryLock()).toThrow(wrongThread);
  expect(() => other.unlock()).toThrow(wrongThread);
  await expect(other.lockAsync()).rejects.toEqual(wrongThread);
});

test('after the death of its thread another one may use it', () => {
  const { lock, other } = make();
  lock.lock();
  lock.unlock();
  other.core.recover(1);
  expect(other.lock()).toBe('acquired');
  expect(() => lock.core.recover(1)).not.toThrow();
  expect(other.locked).toBe(true);
});

test('it works on a thread that must not block, since it never does', () => {
  const words = new Int32Array(new SharedArrayBuffer(nullLockLayout.byteLength));
  const platform = { ...countingPlatform(), canBlock: () => false };
  expect(NullLock.over(words, { token: 1, platform }).lock()).toBe('acquired');
});
