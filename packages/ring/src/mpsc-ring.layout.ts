import { defineLayout, field, WORD_BYTES } from '@heddle/memory';

/**
 * The words of a ring between many producers and one consumer. A slot per producer follows them, then the space.
 *
 * ```
 *  line 0   capacity, maxProducers     written once
 *  line 1   lock                       held while room is claimed: token | waiting | closed
 *           next, headSeen             the lock holder's, plain
 *  line 2   consumer                   who holds the reading side
 *  line 3   tail                       the lock holder moves it; the consumer sets `sleeping` in it
 *  line 4   head, begun                the consumer moves them; producers set `sleeping` in head
 *  line 5.. slots, a line each
 *  then     space
 * ```
 */
export const mpscRingLayout = defineLayout('mpsc-ring', 1, {
  /** Bytes of space: a power of two. */
  capacity: field('creator'),
  maxProducers: field('creator'),
  lock: field('lock holder'),
  /** Position up to which is claimed: `tail` without its flag. */
  next: field('lock holder'),
  /** `head` as a lock holder last saw it. */
  headSeen: field('lock holder'),
  consumer: field('anyone'),
  tail: field('producers'),
  head: field('consumer'),
  /** Position after the last record whose reading has begun. Plain: only the next consumer reads it. */
  begun: field('consumer'),
});

/** A producer's own line. */
export const mpscSlotLayout = defineLayout('mpsc-slot', 1, {
  /** The token of its thread, 0 where the slot is free. */
  holder: field('producer'),
  /** Position of the open claim, with {@link CLAIM_OPEN}; 0 where there is none. Plain: recovery reads it. */
  claim: field('producer'),
});

/** Set in a slot's `claim` while a claim is open. */
export const CLAIM_OPEN = 1;

/** The lock word: who holds it, whether others sleep on it, whether the ring is closed. */
export const LOCK_TOKEN = 2 ** 24 - 1;
export const LOCK_WAITING = 2 ** 24;
export const LOCK_CLOSED = 2 ** 25;

export const MAX_PRODUCERS = 512;

/** The word at which a producer's slot begins. */
export function slotAt(index: number): number {
  return mpscRingLayout.wordCount + index * mpscSlotLayout.wordCount;
}

/** The word at which the space begins. */
export function spaceAt(maxProducers: number): number {
  return slotAt(maxProducers);
}

/** Bytes of a ring. */
export function mpscByteLength(maxProducers: number, capacityBytes: number): number {
  return spaceAt(maxProducers) * WORD_BYTES + capacityBytes;
}
