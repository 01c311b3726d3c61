/**
 * Robust statistics over the rounds of a measurement.
 *
 * Rounds on a shared machine have outliers on one side only (something else took the core), so the middle is
 * the median and the spread is the median absolute deviation: neither moves when a quarter of the rounds is bad.
 */

/** What several rounds of one figure come to. */
export interface Summary {
  readonly median: number;
  /** Median absolute deviation from the median, in the unit of the values. */
  readonly mad: number;
  readonly minimum: number;
  readonly maximum: number;
}

/** The middle value; the mean of the two middle ones where their number is even. Throws where there is none. */
export function median(values: ArrayLike<number>): number {
  if (values.length === 0) throw new RangeError('The median of no values is not defined');
  const sorted = Float64Array.from(values).sort();
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** Median of the distances from the median. 0 for a single value. */
export function medianAbsoluteDeviation(values: readonly number[]): number {
  const center = median(values);
  return median(values.map((value) => Math.abs(value - center)));
}

export function summarize(values: readonly number[]): Summary {
  return {
    median: median(values),
    mad: medianAbsoluteDeviation(values),
    minimum: Math.min(...values),
    maximum: Math.max(...values),
  };
}

/**
 * Each value divided by the baseline's value of the same round.
 *
 * What disturbs a round disturbs its neighbours in it too, and cancels in the quotient: that is why variants
 * are interleaved, and why a ratio of two medians is not reported.
 */
export function pairwiseRatios(values: readonly number[], baseline: readonly number[]): number[] {
  if (values.length !== baseline.length) {
    throw new RangeError(`Pairs need equally many rounds, not ${values.length} and ${baseline.length}`);
  }
  return values.map((value, round) => value / baseline[round]!);
}

/**
 * Jain's fairness index of the work that each thread got done: (Σx)² / (n · Σx²).
 *
 * 1 when all got the same, 1/n when one got everything. 1 when nobody got anything, since nobody got less.
 *
 * Source: Jain, Chiu, Hawe, "A Quantitative Measure of Fairness and Discrimination", 1984.
 */
export function jainIndex(work: readonly number[]): number {
  if (work.length === 0) throw new RangeError('The fairness among no threads is not defined');
  let sum = 0;
  let squares = 0;
  for (const share of work) {
    sum += share;
    squares += share * share;
  }
  return squares === 0 ? 1 : (sum * sum) / (work.length * squares);
}
