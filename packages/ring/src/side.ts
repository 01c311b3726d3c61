import type { AtomicsLike } from '@heddle/memory';
import { roleError } from './ring-errors.js';

/** A thread that takes a side of a ring: its token, and how to tell whether another one lives. */
export interface Claimant {
  readonly token: number;
  isAlive(token: number): boolean;
}

/**
 * Takes a side for a thread: nobody's, or one whose holder is dead.
 *
 * @throws HeddleError `ERR_HEDDLE_RING_ROLE` where its holder lives, the calling thread included. Cost: 1 or 2 CAS.
 */
export function claimSide(
  words: Int32Array,
  index: number,
  side: string,
  claimant: Claimant,
  atomics: AtomicsLike,
): void {
  const { token } = claimant;
  let holder = 0;
  // Each round but the last found another thread that is dead, or the side given back.
  for (;;) {
    const seen = atomics.compareExchange(words, index, holder, token);
    if (seen === holder) return;
    if (seen !== 0 && claimant.isAlive(seen)) throw roleError(side, seen);
    holder = seen;
  }
}

/** Gives a side back. Nothing happens where somebody else has it. 1 CAS. */
export function releaseSide(words: Int32Array, index: number, token: number, atomics: AtomicsLike): void {
  atomics.compareExchange(words, index, token, 0);
}
