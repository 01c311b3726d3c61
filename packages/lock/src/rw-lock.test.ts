import { HeddleError } from '@heddle/memory';
import { countingPlatform } from '@heddle/memory/counting';
import { beforeEach, expect, test } from 'vitest';
import { RwLock } from './rw-lock.js';

const options = { maxThreads: 4 };
let words: Int32Array;
let lock: RwLock;
let other: RwLock;
beforeEach(() => {
  words = new Int32Array(new SharedArrayBuffer(RwLock.byteLengthFor(options)));
  lock = RwLock.over(words, { token: 1 });
  other = RwLock.over(words, { token: 2 });
});

function codeOf(action: () => unknown): string {
  try {
    action();
  } catch (error) {
    if (error instanceof HeddleError) return error.code;
    throw error;
  }
  return 'nothing thrown';
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

test('many read at a time, or one writes', () => {
  lock.read.lock();
  expect(other.read.tryLock()).toBe('acquired');
  expect(other.read.locked).toBe(true);
  expect(RwLock.over(words, { token: 3 }).write.tryLock()).toBeNull();
  lock.read.unlock();
  other.read.unlock();
  lock.write.lock();
  expect(other.read.tryLock()).toBeNull();
  expect(other.write.tryLock()).toBeNull();
  lock.write.unlock();
  expect(other.read.tryLock()).toBe('acquired');
});

test('nesting and upgrading are errors, and change nothing', async () => {
  lock.read.lock();
  expect(codeOf(() => lock.read.lock())).toBe('ERR_HEDDLE_RELOCK');
  expect(codeOf(() => lock.read.tryLock())).toBe('ERR_HEDDLE_RELOCK');
  expect(codeOf(() => lock.write.lock())).toBe('ERR_HEDDLE_RELOCK');
  expect(codeOf(() => lock.write.tryLock())).toBe('ERR_HEDDLE_RELOCK');
  await expect(lock.write.lockAsync()).rejects.toEqual(
    expect.objectContaining({ code: 'ERR_HEDDLE_RELOCK' }),
  );
  lock.read.unlock();
  lock.write.lock();
  expect(codeOf(() => lock.read.lock())).toBe('ERR_HEDDLE_RELOCK');
  lock.write.unlock();
  expect(other.write.tryLock()).toBe('acquired');
});

test('two readers that want to write are both told', () => {
  lock.read.lock();
  other.read.lock();
  expect(codeOf(() => lock.write.lock())).toBe('ERR_HEDDLE_RELOCK');
  expect(codeOf(() => other.write.lock({ timeout: 1 }))).toBe('ERR_HEDDLE_RELOCK');
  lock.read.unlock();
  other.read.unlock();
  expect(lock.write.tryLock()).toBe('acquired');
});

test('readers that come after a writer who waits stay out, and read after it (LK-08)', async () => {
  lock.read.lock();
  const writing = other.write.lockAsync();
  await turn();
  const third = RwLock.over(words, { token: 3 });
  expect(third.read.tryLock()).toBeNull();
  const order: string[] = [];
  const reading = third.read.runAsync(() => order.push('read'));
  expect(codeOf(() => lock.read.lock())).toBe('ERR_HEDDLE_RELOCK');
  lock.read.unlock();
  const guard = await writing;
  order.push('write');
  guard.release();
  await reading;
  expect(order).toEqual(['write', 'read']);
});

test('readers that wait are let in before the next writer (LK-08)', async () => {
  lock.write.lock();
  const third = RwLock.over(words, { token: 3 });
  const order: string[] = [];
  const reading = third.read.runAsync(() => order.push('read'));
  const writing = other.write.runAsync(() => order.push('write'));
  await turn();
  lock.write.unlock();
  await Promise.all([reading, writing]);
  expect(order).toEqual(['read', 'write']);
});

test('a blocking call fails at once while a task of the same thread is in its way', async () => {
  const guard = await lock.read.lockAsync();
  expect(codeOf(() => lock.read.lock())).toBe('ERR_HEDDLE_RELOCK');
  expect(codeOf(() => lock.write.lock())).toBe('ERR_HEDDLE_RELOCK');
  expect(codeOf(() => lock.read.unlock())).toBe('ERR_HEDDLE_NOT_OWNER');
  guard.release();
  const writing = await lock.write.lockAsync();
  expect(codeOf(() => lock.read.lock())).toBe('ERR_HEDDLE_RELOCK');
  expect(codeOf(() => lock.write.lock())).toBe('ERR_HEDDLE_RELOCK');
  writing.release();
  expect(lock.read.lock()).toBe('acquired');
});

test('a writer that gives up leaves the lock to the readers', async () => {
  lock.read.lock();
  expect(codeOf(() => other.write.lock({ timeout: 1 }))).toBe('ERR_HEDDLE_TIMED_OUT');
  const abort = new AbortController();
  const given = other.write.lockAsync({ signal: abort.signal });
  await turn();
  abort.abort('enough');
  await expect(given).rejects.toBe('enough');
  expect(RwLock.over(words, { token: 3 }).read.tryLock()).toBe('acquired');
});

test('a reader that gives up leaves the lock to the writers', async () => {
  lock.write.lock();
  expect(codeOf(() => other.read.lock({ timeout: 1 }))).toBe('ERR_HEDDLE_TIMED_OUT');
  const abort = new AbortController();
  const given = other.read.lockAsync({ signal: abort.signal });
  await turn();
  abort.abort('enough');
  await expect(given).rejects.toBe('enough');
  lock.write.unlock();
  expect(RwLock.over(words, { token: 3 }).write.tryLock()).toBe('acquired');
});

test('a dead reader keeps nobody out, and nobody is told', () => {
  other.read.lock();
  expect(lock.write.tryLock()).toBeNull();
  lock.recover(2);
  expect(lock.write.tryLock()).toBe('acquired');
});

test('a dead writer is told of to readers until a writer marks the data consistent', () => {
  other.write.lock();
  lock.recover(2);
  expect(lock.read.lock()).toBe('owner-died');
  expect(codeOf(() => lock.read.markConsistent())).toBe('ERR_HEDDLE_NOT_OWNER');
  lock.read.unlock();
  expect(lock.write.lock()).toBe('owner-died');
  lock.write.markConsistent();
  lock.write.unlock();
  expect(lock.read.lock()).toBe('acquired');
});

test('a writer that was told and gives up leaves it to the next to be told', () => {
  other.write.lock();
  lock.recover(2);
  RwLock.over(words, { token: 3 }).read.lock();
  expect(lock.write.tryLock()).toBeNull();
  expect(codeOf(() => lock.write.lock({ timeout: 1 }))).toBe('ERR_HEDDLE_TIMED_OUT');
  RwLock.over(words, { token: 3 }).read.unlock();
  expect(lock.write.lock()).toBe('owner-died');
});

test('a poisoned one is refused to both sides', () => {
  other.write.lock();
  lock.recover(2);
  lock.write.lock();
  lock.write.unlock();
  expect(codeOf(() => lock.read.lock())).toBe('ERR_HEDDLE_POISONED');
  expect(codeOf(() => lock.write.lock())).toBe('ERR_HEDDLE_POISONED');
});

test('each side costs what it says', () => {
  const platform = countingPlatform();
  const mine = RwLock.over(words, { token: 1, platform });
  mine.read.lock();
  mine.read.unlock();
  platform.reset();
  mine.read.lock();
  expect(platform.counts()).toEqual({ compareExchange: 1, load: 2 });
  mine.read.unlock();
  expect(platform.counts()).toEqual({ compareExchange: 2, load: 3 });
  platform.reset();
  mine.write.lock();
  expect(platform.counts()).toEqual({ compareExchange: 2, load: 6 });
  mine.write.unlock();
  expect(platform.counts()).toEqual({ compareExchange: 4, load: 10 });
});

test('a thread without a line, and a bad number of threads, are refused', () => {
  for (const maxThreads of [0, 513, 1.5])
    expect(() => RwLock.byteLengthFor({ maxThreads })).toThrow(RangeError);
  expect(() => RwLock.over(words, { token: 5 })).toThrow(RangeError);
});

test('a task that waits to read keeps no writer out while its event loop is busy', async () => {
  lock.write.lock();
  const reading = other.read.lockAsync();
  await turn();
  lock.write.unlock();
  // The event loop has not turned since: the task cannot have noticed.
  expect(lock.write.tryLock()).toBe('acquired');
  lock.write.unlock();
  (await reading).release();
  expect(lock.write.tryLock()).toBe('acquired');
});
