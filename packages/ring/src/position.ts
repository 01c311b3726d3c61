/**
 * Positions of a ring: 32-bit numbers that run freely, wrap at 2^32 and are compared by difference.
 *
 * ```
 *  bit 31 ............................................ 2   1        0
 *     | units of 8 bytes written, or read, so far, mod 2^30 | closed | sleeping |
 * ```
 *
 * A unit of space is 4 positions, so the two low bits of a shared position word are free for flags. That is what
 * makes publishing one Atomics call: the instruction that moves the position also tells whether the other side
 * sleeps, and whether the ring was closed.
 *
 * The largest ring has 2^28 units, so the difference of two positions of one ring always fits 31 bits.
 */

/** Bytes of a unit: records start at multiples of it. */
export const UNIT_BYTES = 8;

/** By how much a position grows for a unit. */
export const UNIT = 4;

/** Set by whoever is about to sleep on a position word; taken off by the next change of the position. */
export const SLEEPING = 1;

/** Set in the word of the writing side when the ring is closed: nothing is published any more. */
export const CLOSED = 2;

/** The flags of a position word. */
export const FLAGS = SLEEPING | CLOSED;

const MIN_CAPACITY_BYTES = 16;
const MAX_CAPACITY_BYTES = 2 ** 30;

/**
 * The capacity that a ring gets: the next power of two, so that a position and its place in the ring agree when
 * the position wraps at 2^32.
 *
 * @throws TypeError where it is not a number, RangeError where it is not a whole number of bytes in 1 to 2^30.
 */
export function capacityFor(capacityBytes: number, what = 'The capacity of a ring'): number {
  if (typeof capacityBytes !== 'number') {
    throw new TypeError(`${what} is a number of bytes, not ${typeof capacityBytes}`);
  }
  if (!Number.isSafeInteger(capacityBytes) || capacityBytes < 1 || capacityBytes > MAX_CAPACITY_BYTES) {
    throw new RangeError(
      `${what} is a whole number of bytes from 1 to ${MAX_CAPACITY_BYTES}, not ${capacityBytes}`,
    );
  }
  return Math.max(MIN_CAPACITY_BYTES, 2 ** Math.ceil(Math.log2(capacityBytes)));
}

/** Positions of so many bytes. Bytes are a multiple of a unit, up to 2^30. */
export function positionsOf(byteLength: number): number {
  return (byteLength / UNIT_BYTES) * UNIT;
}
