import type { Program } from './program.js';

/** A recovering thread that starts: its place among the threads, and the role that it plays. */
export interface RecoveryStart {
  readonly slot: number;
  readonly role: number;
}

/**
 * The recoveries that start when a thread is killed as the `order`-th one: one for each recovery body. A thread that was
 * killed while it recovered for another (in the role `recovering`, else -1) is followed by one that begins anew for that.
 */
export function recoveriesAfter(
  { threadCount, recoverers }: Program,
  killed: number,
  order: number,
  recovering: number,
): RecoveryStart[] {
  const dead = recovering < 0 ? killed : recovering % threadCount;
  const starts: RecoveryStart[] = [];
  for (let recoverer = 0; recoverer < recoverers; recoverer++) {
    if (recovering >= 0 && (killed - threadCount) % recoverers !== recoverer) continue;
    const slot = threadCount + order * recoverers + recoverer;
    starts.push({ slot, role: threadCount + (slot - threadCount) * threadCount + dead });
  }
  return starts;
}
