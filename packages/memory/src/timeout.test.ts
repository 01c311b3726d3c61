import { expect, test } from 'vitest';
import { deadlineAfter, timeoutOf } from './timeout.js';

const now = () => 1000;

test('a timeout becomes a point in time', () => {
  expect(deadlineAfter(250, now)).toBe(1250);
});

test.each([0, -0, -1, -Infinity])('%s tries once', (timeout) => {
  expect(deadlineAfter(timeout, now)).toBe(1000);
});

test.each([undefined, Infinity])('%s waits for ever, and reads no clock', (timeout) => {
  expect(
    deadlineAfter(timeout, () => {
      throw new Error('read');
    }),
  ).toBe(Infinity);
});

test('NaN is a RangeError, other types are a TypeError (PF-07)', () => {
  expect(() => deadlineAfter(Number.NaN, now)).toThrow(RangeError);
  for (const value of ['5', 5n, null, {}])
    expect(() => deadlineAfter(value as never, now)).toThrow(TypeError);
});

test('what is no object holds no options', () => {
  expect(timeoutOf(undefined)).toBeUndefined();
  expect(timeoutOf({})).toBeUndefined();
  expect(timeoutOf({ timeout: 5 })).toBe(5);
  for (const value of [5, '5', 5n, null, true, Symbol('s')]) {
    expect(() => timeoutOf(value as never)).toThrow(/Options are an object, such as \{ timeout: 100 \}/);
  }
});
