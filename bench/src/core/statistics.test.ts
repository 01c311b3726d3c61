import { describe, expect, it } from 'vitest';
import { jainIndex, median, medianAbsoluteDeviation, pairwiseRatios, summarize } from './statistics.js';

describe('median', () => {
  it('is the middle value of an odd number, whatever the order', () => {
    expect(median([9, 1, 5])).toBe(5);
  });

  it('is the mean of the two middle values of an even number', () => {
    expect(median([4, 1, 3, 100])).toBe(3.5);
  });

  it('orders by number, not by text', () => {
    expect(median([10, 9, 100])).toBe(10);
  });

  it('leaves its argument as it was', () => {
    const values = [3, 1, 2];
    median(values);
    expect(values).toEqual([3, 1, 2]);
  });

  it('refuses to be asked of nothing', () => {
    expect(() => median([])).toThrow(RangeError);
  });
});

describe('medianAbsoluteDeviation', () => {
  it('is the median distance from the median', () => {
    // The median is 2, the distances are 1 1 0 0 2 4 7.
    expect(medianAbsoluteDeviation([1, 1, 2, 2, 4, 6, 9])).toBe(1);
  });

  it('is not moved by one wild value', () => {
    expect(medianAbsoluteDeviation([10, 11, 12, 13, 1e9])).toBe(1);
  });

  it('is 0 for a single value', () => {
    expect(medianAbsoluteDeviation([7])).toBe(0);
  });
});

describe('summarize', () => {
  it('gives middle, spread and both ends', () => {
    expect(summarize([5, 1, 3])).toEqual({ median: 3, mad: 2, minimum: 1, maximum: 5 });
  });
});

describe('pairwiseRatios', () => {
  it('divides round by round', () => {
    expect(pairwiseRatios([2, 9], [1, 3])).toEqual([2, 3]);
  });

  it('cancels what disturbed both of a round, which the ratio of the medians does not', () => {
    const disturbance = [1, 5, 1, 1, 40];
    const baseline = disturbance.map((factor) => 10 * factor);
    const variant = disturbance.map((factor) => 15 * factor);
    expect(summarize(pairwiseRatios(variant, baseline))).toEqual({
      median: 1.5,
      mad: 0,
      minimum: 1.5,
      maximum: 1.5,
    });
  });

  it('refuses rounds without a partner', () => {
    expect(() => pairwiseRatios([1, 2], [1])).toThrow(/2 and 1/);
  });
});

describe('jainIndex', () => {
  it('is 1 when everybody got the same', () => {
    expect(jainIndex([4, 4, 4])).toBe(1);
  });

  it('is 1/n when one got everything', () => {
    expect(jainIndex([0, 12, 0, 0])).toBe(0.25);
  });

  it('lies between for what lies between', () => {
    expect(jainIndex([1, 3])).toBe(0.8);
  });

  it('is 1 when nobody got anything', () => {
    expect(jainIndex([0, 0])).toBe(1);
  });

  it('refuses to be asked of nobody', () => {
    expect(() => jainIndex([])).toThrow(RangeError);
  });
});
