/**
 * Nanoseconds on a clock that all threads of the process share.
 *
 * `performance.now()` starts at another zero in each thread. As a number this is exact for 104 days of uptime,
 * and within a nanosecond or two for years.
 */
export function nowNs(): number {
  return Number(process.hrtime.bigint());
}

/** Enough readings for the compiler to have taken notice. */
const READINGS = 50_000;

/** The smallest step the clock was seen to make, in nanoseconds: reading it included. */
export function clockResolutionNs(): number {
  let smallestNs = Number.POSITIVE_INFINITY;
  for (let attempt = 0; attempt < READINGS; attempt++) {
    const before = nowNs();
    let after = nowNs();
    while (after === before) after = nowNs();
    smallestNs = Math.min(smallestNs, after - before);
  }
  return smallestNs;
}
