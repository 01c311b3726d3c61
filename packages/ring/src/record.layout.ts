import { UNIT_BYTES } from './position.js';

/**
 * A record in a ring: a header of two words, then the payload, then up to the next multiple of 8 bytes.
 *
 * ```
 *   0               4               8     8 + skew              8 + skew + length
 *   +---------------+---------------+-----+---------------------+--------+
 *   | length | skew | tag           | ... | payload             | ...    |
 *   +---------------+---------------+-----+---------------------+--------+
 *     28 bits 3 bits  any Int32
 * ```
 *
 * The skew shifts the payload by 0 to 7 bytes, to where a copy from its source is fast: engines copy between
 * shared and private memory in words of 8 bytes where both offsets agree modulo 8, else byte by byte.
 *
 * A negative first word is padding: there is nothing up to the end of the ring, go on at its start. Padding may be
 * as small as a unit, so a header always fits in front of the end.
 */
export const HEADER_WORDS = 2;
export const HEADER_BYTES = 8;

/** First word of the padding at the end of a ring. */
export const PADDING = -1;

const SKEW_BITS = 3;
const SKEW_MASK = UNIT_BYTES - 1;

/** Bytes of the longest record that a header can describe. */
export const MAX_RECORD_BYTES = 2 ** 28 - 1;

/** Payloads from this many bytes on are shifted to where copying them in is fast. 256: see docs/rings.md. */
const SKEW_FROM_BYTES = 256;

export function packLength(byteLength: number, skew: number): number {
  return (byteLength << SKEW_BITS) | skew;
}

export function lengthOf(word: number): number {
  return word >>> SKEW_BITS;
}

export function skewOf(word: number): number {
  return word & SKEW_MASK;
}

/** Units of a record, header included. */
export function unitsOf(byteLength: number, skew: number): number {
  return (HEADER_BYTES + skew + byteLength + UNIT_BYTES - 1) >>> 3;
}

/** Bytes that a record takes in the ring, header included. */
export function footprintOf(byteLength: number, skew = 0): number {
  return unitsOf(byteLength, skew) * UNIT_BYTES;
}

/** The shift by which a payload of these bytes is copied in fast. */
export function skewFor(source: Uint8Array): number {
  return source.byteLength < SKEW_FROM_BYTES ? 0 : source.byteOffset & SKEW_MASK;
}
