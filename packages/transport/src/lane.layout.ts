import { defineLayout, field } from '@heddle/memory';

/**
 * The words of a lane: the way from a worker of one sending thread to one receiving worker. Its space for records follows them.
 *
 * ```
 *  line 0   state, receiver, ...     who uses the lane: see `lane-life.ts`
 *  line 1   tail                     the sender moves it; the receiver sets `armed`, whoever closes sets `closed`
 *  line 2   head, begun, ...         the receiver moves them; the sender sets `waiting` in head
 *  line 3.. space
 * ```
 */
export const laneLayout = defineLayout('transport-lane', 1, {
  /** Phase and the token of a thread. */
  state: field('anyone'),
  /** Row and generation of the worker that receives. */
  receiver: field('anyone'),
  receiverGeneration: field('anyone'),
  /** Row and generation of the worker that the endpoint was made from. */
  source: field('anyone'),
  sourceGeneration: field('anyone'),
  /** Position up to which is written, with flags. */
  tail: field('sender'),
  /** Position up to which is handled, and free again, with flags. */
  head: field('receiver'),
  /** Position behind the last record whose handling has begun. Plain. */
  begun: field('receiver'),
  /** Position behind the last record whose slot has become the receiver's, or was gone; not behind `head`. Plain. */
  adopted: field('receiver'),
  /** Which thread of the receiver is at the lane: see `entry.ts`. */
  drainer: field('receiver'),
});

/**
 * Positions of a lane: 32-bit numbers that run freely, wrap at 2^32 and are compared by difference.
 *
 * ```
 *  bit 31 ........................................ 2    1          0
 *     | units of 8 bytes written, or handled, mod 2^30 | closed | armed (tail), waiting (head) |
 * ```
 *
 * The flags make sending one Atomics call: the instruction that publishes a record also tells whether the receiver
 * wants to be woken, and whether the lane is closed.
 */

/** Bytes of a unit: records start at multiples of it. */
export const UNIT_BYTES = 8;

/** By how much a position grows for a unit. */
export const UNIT = 4;

/** From bytes to positions: a shift, which costs less than a division. */
export const POSITION_SHIFT = 1;

/** In the tail: the receiver is about to sleep, ring its doorbell. Taken off by the next record. */
export const ARMED = 1;

/** In the head: the sender is about to sleep. Taken off by the next record that is handled. */
export const WAITING = 1;

/** In the tail: nothing is published any more. */
export const CLOSED = 2;

export const POSITION_FLAGS = 3;

export const MIN_LANE_BYTES = 64;
export const MAX_LANE_BYTES = 2 ** 24;
