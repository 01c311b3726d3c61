/** A point in time on the platform's clock, in milliseconds; `Infinity` is never. */
export type Deadline = number;

/**
 * The timeout in what was given as options.
 *
 * @throws TypeError where that is no object: a bare number would wait for ever.
 */
export function timeoutOf(
  options: { readonly timeout?: number | undefined } | undefined,
): number | undefined {
  if (options === undefined) return undefined;
  if (typeof options !== 'object' || options === null) {
    throw new TypeError(`Options are an object, such as { timeout: 100 }, not ${String(options)}`);
  }
  return options.timeout;
}

/**
 * Turns a timeout into a deadline, so that stray wakes do not start the time anew.
 *
 * Absent and `Infinity` wait for ever; 0 and negative numbers try once.
 *
 * @throws TypeError where it is not a number, RangeError where it is NaN.
 */
export function deadlineAfter(timeoutMs: number | undefined, now: () => number): Deadline {
  if (timeoutMs === undefined || timeoutMs === Infinity) return Infinity;
  if (typeof timeoutMs !== 'number') {
    throw new TypeError(`A timeout is a number of milliseconds, not ${typeof timeoutMs}`);
  }
  if (Number.isNaN(timeoutMs)) {
    throw new RangeError('A timeout is a number of milliseconds, not NaN; leave it out to wait for ever');
  }
  return now() + Math.max(timeoutMs, 0);
}
