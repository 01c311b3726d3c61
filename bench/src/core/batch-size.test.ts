import { describe, expect, it } from 'vitest';
import { BatchSize } from './batch-size.js';

/** Lets the size settle for operations of a given length. */
function settle(size: BatchSize, nsPerOperation: number): number {
  for (let attempt = 0; attempt < 64; attempt++) if (size.adjust(size.operations * nsPerOperation)) break;
  return size.operations;
}

describe('BatchSize', () => {
  it('grows until a batch of short operations is long enough to time', () => {
    expect(settle(new BatchSize(), 1) * 1).toBeGreaterThanOrEqual(25_000);
  });

  it('times a long operation alone', () => {
    expect(settle(new BatchSize(), 1e6)).toBe(1);
  });

  it('follows operations that become slower', () => {
    const size = new BatchSize();
    settle(size, 1);
    expect(settle(size, 1000) * 1000).toBeLessThanOrEqual(200_000);
  });

  it('keeps to its limit', () => {
    expect(settle(new BatchSize(8), 1)).toBe(8);
  });

  it('keeps to the least that makes sense', () => {
    const size = new BatchSize(1024, 2);
    expect(size.operations).toBe(2);
    expect(settle(size, 1e6)).toBe(2);
  });

  it.each([0, -1, 1.5, Number.NaN])('refuses a limit of %s', (largest) => {
    expect(() => new BatchSize(largest)).toThrow(RangeError);
    expect(() => new BatchSize(8, largest)).toThrow(RangeError);
  });
});
