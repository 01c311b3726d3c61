import { countingPlatform } from '@heddle/memory/counting';
import { expect, test } from 'vitest';
import { Mutex } from './mutex.js';
import { mutexLayout } from './mutex.layout.js';
import { RwLock } from './rw-lock.js';
import { TicketLock } from './ticket-lock.js';
import { ticketLockLayout } from './ticket-lock.layout.js';

const make = (byteLength: number) => new Int32Array(new SharedArrayBuffer(byteLength));
const timedOut = expect.objectContaining({ code: 'ERR_HEDDLE_TIMED_OUT' });
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

test('a lock counts what happens through its object', async () => {
  const words = make(mutexLayout.byteLength);
  const mutex = Mutex.over(words, { token: 1 });
  const other = Mutex.over(words, { token: 2 });
  const counters = mutex.count();
  expect(mutex.count()).toBe(counters);
  mutex.run(() => {});
  other.lock();
  expect(mutex.tryLock()).toBeNull();
  expect(() => mutex.lock({ timeout: 2 })).toThrow(timedOut);
  const waiting = mutex.lockAsync();
  await turn();
  other.unlock();
  (await waiting).release();
  expect(counters).toMatchObject({ acquisitions: 2, contended: 3, handedOver: 0 });
  expect(counters.parked).toBeGreaterThanOrEqual(2);
  expect(counters.longestWaitMs).toBeGreaterThanOrEqual(1);
});

test('a lock that is kept for who stands in line counts as handed over', () => {
  const words = make(ticketLockLayout.byteLength);
  const lock = TicketLock.over(words, { token: 1 });
  const other = TicketLock.over(words, { token: 2 });
  // The state as a release leaves it that finds somebody in line.
  words[ticketLockLayout.offsets.state] = 1 << 26;
  const counters = lock.count();
  expect(other.tryLock()).toBeNull();
  lock.lock();
  expect(counters).toMatchObject({ acquisitions: 1, contended: 1, handedOver: 1 });
  lock.unlock();
  expect(other.tryLock()).toBe('acquired');
});

test('both sides of a read-write lock count', () => {
  const words = make(RwLock.byteLengthFor({ maxThreads: 2 }));
  const lock = RwLock.over(words, { token: 1 });
  const [reads, writes] = [lock.read.count(), lock.write.count()];
  lock.read.run(() => {});
  RwLock.over(words, { token: 2 }).read.lock();
  expect(() => lock.write.lock({ timeout: 1 })).toThrow(timedOut);
  expect(reads).toMatchObject({ acquisitions: 1, contended: 0, parked: 0 });
  expect(writes).toMatchObject({ acquisitions: 0, contended: 1 });
  expect(writes.parked).toBeGreaterThanOrEqual(1);
});

test('where nobody counts it costs nothing', () => {
  const platform = countingPlatform();
  const mutex = Mutex.over(make(mutexLayout.byteLength), { token: 1, platform });
  mutex.lock();
  mutex.unlock();
  expect(platform.counts()).toEqual({ compareExchange: 2 });
});
