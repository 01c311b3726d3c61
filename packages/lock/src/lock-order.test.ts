import { beforeEach, expect, test } from 'vitest';
import { Segment } from './index.js';
import { LockOrder } from './lock-order.js';
import { Mutex } from './mutex.js';

let segment: Segment;
let a: Mutex;
let b: Mutex;
let c: Mutex;
beforeEach(() => {
  segment = Segment.create({ byteLength: 2 ** 20 });
  [a, b, c] = ['a', 'b', 'c'].map((name) => Mutex.create(segment, { name })) as [Mutex, Mutex, Mutex];
  return () => segment.detach();
});

/** The objects of another thread over the same locks. */
function otherThread(): [LockOrder, Mutex, Mutex, Mutex] {
  const order = LockOrder.open(segment, 'order');
  const locks = ['a', 'b', 'c'].map((name) => Mutex.open(segment, name)) as [Mutex, Mutex, Mutex];
  for (const lock of locks) lock.checkOrder(order);
  return [order, ...locks];
}

function takeFirstThenSecond(first: Mutex, second: Mutex): void {
  first.run(() => second.run(() => {}));
}

test('two orders that contradict each other are an error that names both places', () => {
  const order = LockOrder.create(segment, { name: 'order' });
  for (const lock of [a, b]) lock.checkOrder(order);
  takeFirstThenSecond(a, b);
  takeFirstThenSecond(a, b);
  const [, otherA, otherB] = otherThread();
  let error: (Error & { code?: string }) | undefined;
  try {
    takeFirstThenSecond(otherB, otherA);
  } catch (thrown) {
    error = thrown as Error;
  }
  expect(error?.code).toBe('ERR_HEDDLE_LOCK_ORDER');
  expect(error?.message).toMatch(
    /"a" would be taken at .*lock-order\.test.* with "b" held since .*lock-order\.test/,
  );
  expect(error?.message).toMatch(/"b" was taken with "a" held at .*lock-order\.test/);
  expect([otherA.locked, otherB.locked]).toEqual([false, false]);
});

test('an order over several locks is found', () => {
  const order = LockOrder.create(segment, { name: 'order' });
  for (const lock of [a, b, c]) lock.checkOrder(order);
  takeFirstThenSecond(a, b);
  takeFirstThenSecond(b, c);
  const [, otherA, , otherC] = otherThread();
  expect(() => takeFirstThenSecond(otherC, otherA)).toThrow(
    expect.objectContaining({
      code: 'ERR_HEDDLE_LOCK_ORDER',
      message: expect.stringMatching(/"c" was taken with "b" held/),
    }),
  );
});

test('one order everywhere, a lock alone, and a try are no error', () => {
  const order = LockOrder.create(segment, { name: 'order' });
  for (const lock of [a, b, c]) lock.checkOrder(order);
  takeFirstThenSecond(a, b);
  takeFirstThenSecond(a, c);
  takeFirstThenSecond(b, c);
  const [, otherA, otherB] = otherThread();
  otherB.lock();
  expect(otherA.tryLock()).toBe('acquired');
  otherA.unlock();
  otherB.unlock();
  a.lock();
  b.lock();
  a.unlock();
  c.lock();
  b.unlock();
  c.unlock();
});

test('a lock of another segment, or without a name, cannot be checked', () => {
  const order = LockOrder.create(segment, { name: 'order' });
  using alone = new Mutex();
  expect(() => alone.checkOrder(order)).toThrow(TypeError);
  const words = new Int32Array(new SharedArrayBuffer(128));
  expect(() => Mutex.over(words, { token: 1 }).checkOrder(order)).toThrow(TypeError);
});
