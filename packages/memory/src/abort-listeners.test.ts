import { getEventListeners } from 'node:events';
import { expect, test } from 'vitest';
import { whenAborted } from './abort-listeners.js';

const count = (signal: AbortSignal) => getEventListeners(signal, 'abort').length;

test('many share one listener of a signal, which the last takes away', () => {
  const { signal } = new AbortController();
  const leave = Array.from({ length: 20 }, () => whenAborted(signal, () => {}));
  expect(count(signal)).toBe(1);
  for (const one of leave) {
    expect(count(signal)).toBe(1);
    one();
    one();
  }
  expect(count(signal)).toBe(0);
});

test('an abort calls those who still wait, in order and once, and one may take back another', () => {
  const controller = new AbortController();
  const { signal } = controller;
  const called: string[] = [];
  whenAborted(signal, () => {
    called.push('first');
    leaveThird();
  });
  const leaveSecond = whenAborted(signal, () => called.push('second'));
  const leaveThird = whenAborted(signal, () => called.push('third'));
  const leaveFourth = whenAborted(signal, () => {
    called.push('fourth');
    leaveFourth();
  });
  leaveSecond();
  controller.abort();
  controller.abort();
  expect(called).toEqual(['first', 'fourth']);
  expect(count(signal)).toBe(0);
});

test('who comes after the last has left is called as well', () => {
  const controller = new AbortController();
  whenAborted(controller.signal, () => {})();
  let calls = 0;
  const leave = whenAborted(controller.signal, () => calls++);
  controller.abort();
  leave();
  expect(calls).toBe(1);
});
