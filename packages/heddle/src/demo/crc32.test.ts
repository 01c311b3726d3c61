import { randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { expect, test } from 'vitest';
import { combineCrc32 } from './crc32.js';

test.each([
  [0, 0],
  [0, 1],
  [1, 0],
  [1, 1],
  [1000, 4096],
  [65_537, 3],
  [3, 65_537],
])('the checksums of %i and %i bytes combine to that of both together', (first, second) => {
  const bytes = randomBytes(first + second);
  const combined = combineCrc32(crc32(bytes.subarray(0, first)), crc32(bytes.subarray(first)), second);
  expect(combined).toBe(crc32(bytes));
});

test('lengths beyond 2^32 are exact: a block of zeros is shifted as often as it has bytes', () => {
  const half = 2 ** 31;
  const first = crc32(Buffer.from('head'));
  // Zeros of length n twice must shift like zeros of length 2n.
  const zeros = (length: number): number => {
    if (length === 1) return crc32(Buffer.alloc(1));
    const less = zeros(length / 2);
    return combineCrc32(less, less, length / 2);
  };
  const stepwise = combineCrc32(combineCrc32(first, zeros(half), half), zeros(half), half);
  expect(combineCrc32(first, zeros(2 * half), 2 * half)).toBe(stepwise);
});
