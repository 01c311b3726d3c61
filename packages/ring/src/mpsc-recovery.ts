import type { AtomicsLike } from '@heddle/memory';
import { closeMpsc } from './mpsc-close.js';
import { STATE, stateOf, withState } from './mpsc-record.layout.js';
import {
  CLAIM_OPEN,
  LOCK_CLOSED,
  LOCK_TOKEN,
  mpscRingLayout,
  mpscSlotLayout,
  slotAt,
  spaceAt,
} from './mpsc-ring.layout.js';
import { FLAGS, positionsOf } from './position.js';

const { capacity, maxProducers, lock, next, consumer, tail, head } = mpscRingLayout.offsets;
const { holder, claim } = mpscSlotLayout.offsets;

/**
 * After the death of a thread: marks the claim that it left as abandoned, frees its slot, the lock and the reading
 * side, and wakes everyone.
 *
 * What the dead thread was about, by where it stopped:
 *
 * | it stopped | the slot's claim | done |
 * |---|---|---|
 * | before or after an operation | none | the slot is freed |
 * | holding the lock, tail not moved past the claim | open | nothing happened: the lock is freed |
 * | after the tail was moved, before the header was exchanged | open, the header says claimed | abandoned |
 * | after the header was exchanged | open, and the header says something else, or was read; or none | the wakes are given |
 *
 * Only this and the claimant change the header of a claim, and the claimant is dead: so the reader does not go
 * past it in between, and no claim of a living thread is touched. It takes no look at other records, so it does
 * its work as well when the ring is full, and for two dead claims in a row.
 *
 * Each step can be repeated: the lock is freed last, since it tells whether the tail was moved.
 */
export function recoverMpsc(words: Int32Array, deadToken: number, atomics: AtomicsLike): void {
  const space = spaceAt(words[maxProducers]!);
  for (let slot = 0; slot < words[maxProducers]!; slot++) {
    if (atomics.load(words, slotAt(slot) + holder) !== deadToken) continue;
    const open = words[slotAt(slot) + claim]!;
    if (open & CLAIM_OPEN) settleClaim(words, space, open & ~FLAGS, deadToken, atomics);
    words[slotAt(slot) + claim] = 0;
    atomics.compareExchange(words, slotAt(slot) + holder, deadToken, 0);
  }
  if ((atomics.load(words, lock) & LOCK_TOKEN) === deadToken) {
    words[next] = atomics.load(words, tail) & ~FLAGS;
    atomics.and(words, lock, LOCK_CLOSED);
  }
  atomics.compareExchange(words, consumer, deadToken, 0);
  if (atomics.load(words, lock) & LOCK_CLOSED) closeMpsc(words, atomics);
  atomics.notify(words, lock);
  atomics.notify(words, tail);
  atomics.notify(words, head);
  // A reader that sleeps on a header has given everything before it back.
  atomics.notify(words, space + offsetOf(words, atomics.load(words, head)));
}

function settleClaim(
  words: Int32Array,
  space: number,
  position: number,
  deadToken: number,
  atomics: AtomicsLike,
): void {
  const holdsLock = (atomics.load(words, lock) & LOCK_TOKEN) === deadToken;
  const tailMoved = (((atomics.load(words, tail) & ~FLAGS) - position) | 0) > 0;
  if (holdsLock && !tailMoved) return;
  const at = space + offsetOf(words, position);
  // The header is the claim's own as long as the reader has not gone past it, which it cannot while it is claimed.
  let header = atomics.load(words, at);
  if ((((atomics.load(words, head) & ~FLAGS) - position) | 0) > 0) return;
  while (stateOf(header) === STATE.claimed) {
    const seen = atomics.compareExchange(words, at, header, withState(header, STATE.abandoned));
    if (seen === header) break;
    // The reader set `sleeping`, once.
    header = seen;
  }
}

/** Word of a position within the space. */
function offsetOf(words: Int32Array, position: number): number {
  return (position & (positionsOf(words[capacity]!) - 1)) >> 1;
}
