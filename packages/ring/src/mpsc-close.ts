import type { AtomicsLike } from '@heddle/memory';
import { LOCK_CLOSED, mpscRingLayout } from './mpsc-ring.layout.js';
import { SLEEPING } from './position.js';

const { lock, tail, head } = mpscRingLayout.offsets;

/**
 * Closes a ring of many producers and wakes everyone. The one commit is `closed` in the lock word: no claim is
 * made any more. Claims made before are read when they are committed.
 *
 * Cost: 3 Atomics calls and 3 notifies. Can be repeated.
 */
export function closeMpsc(words: Int32Array, atomics: AtomicsLike): void {
  atomics.or(words, lock, LOCK_CLOSED);
  atomics.notify(words, lock);
  atomics.and(words, head, ~SLEEPING);
  atomics.notify(words, head);
  wakeForEnd(words, atomics);
}

/**
 * Wakes a consumer that sleeps on the tail, so that it sees the end: after the close, and after the last claim of
 * one who held the lock at the close. Taking `sleeping` off changes the word under one that is about to sleep.
 */
export function wakeForEnd(words: Int32Array, atomics: AtomicsLike): void {
  atomics.and(words, tail, ~SLEEPING);
  atomics.notify(words, tail);
}
