import type { AtomicsLike } from '@heddle/memory';
import { CLOSED, SLEEPING } from './position.js';
import { spscRingLayout } from './spsc-ring.layout.js';

const { producer, consumer, tail, head } = spscRingLayout.offsets;

/**
 * Closes a ring between two threads and wakes both. What was published before is still read.
 *
 * The one commit is `closed` in `tail`: it makes the next publishing fail, and changes the word that a reader is
 * about to sleep on. A writer that is about to sleep has set `sleeping` in `head`; taking it off changes that
 * word, so the writer does not fall asleep, or wakes, and then sees `closed`.
 *
 * **Death** after the first step: whoever recovers wakes everyone, and the closed ring is found closed.
 *
 * Cost: 2 Atomics calls and 2 notifies. Can be repeated.
 */
export function closeSpsc(words: Int32Array, atomics: AtomicsLike): void {
  atomics.or(words, tail, CLOSED);
  atomics.and(words, head, ~SLEEPING);
  atomics.notify(words, tail);
  atomics.notify(words, head);
}

/** Whether a ring between two threads is closed. 1 load. */
export function isClosedSpsc(words: Int32Array, atomics: AtomicsLike): boolean {
  return (atomics.load(words, tail) & CLOSED) !== 0;
}

/**
 * After the death of a thread: gives back the sides that it held, and wakes both sides: it may have died after it
 * moved a position, or closed the ring, and before it woke who sleeps on it. Can be repeated.
 *
 * Cost: 2 CAS, 1 load and 2 notifies; where the ring is closed 1 more.
 */
export function recoverSpsc(words: Int32Array, deadToken: number, atomics: AtomicsLike): void {
  atomics.compareExchange(words, producer, deadToken, 0);
  atomics.compareExchange(words, consumer, deadToken, 0);
  if (isClosedSpsc(words, atomics)) atomics.and(words, head, ~SLEEPING);
  atomics.notify(words, tail);
  atomics.notify(words, head);
}
