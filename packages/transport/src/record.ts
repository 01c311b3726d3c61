import { POSITION_SHIFT, UNIT_BYTES } from './lane.layout.js';

/**
 * A record in a lane: two words, then a body, up to the next multiple of 8 bytes.
 *
 * ```
 *  word 0   kind (4 bits) << 24 | bytes of the body            -1: nothing up to the end, go on at the start
 *  word 1   bytes of the header (16 bits) << 16 | message id (16 bits)
 *  body     of an inline record:  header, up to a multiple of 8, data
 *           of the others:         descriptor, bytes of data, where they begin in the slot, size of slot, header
 * ```
 *
 * | kind   | data                                                                  |
 * |--------|-----------------------------------------------------------------------|
 * | inline | in the record                                                         |
 * | slot   | in a slot                                                             |
 * | asked  | in a slot; the sender is to be woken when that is back in its pool    |
 */
export const KIND = { inline: 0, slot: 1, asked: 2 } as const;

export const RECORD_HEAD_BYTES = 8;
export const SLOT_BODY_BYTES = 16;

/** Words of a slot record, from its first one on. */
export const SLOT_RECORD = { descriptor: 2, dataBytes: 3, dataAt: 4, size: 5 } as const;

/** First word of what is left unused at the end of the space. */
export const PADDING = -1;

/** Largest id of a message, and most bytes of its header. */
export const MAX_ID = 0xffff;
export const MAX_HEADER_BYTES = 0xffff;

const KIND_SHIFT = 24;
const BODY_MASK = 2 ** KIND_SHIFT - 1;
const HEADER_SHIFT = 16;

export function packFirst(kind: number, bodyBytes: number): number {
  return (kind << KIND_SHIFT) | bodyBytes;
}

export function packSecond(id: number, headerBytes: number): number {
  return (headerBytes << HEADER_SHIFT) | id;
}

export function kindOf(first: number): number {
  return first >>> KIND_SHIFT;
}

export function bodyBytesOf(first: number): number {
  return first & BODY_MASK;
}

export function idOfRecord(second: number): number {
  return second & MAX_ID;
}

export function headerBytesOf(second: number): number {
  return second >>> HEADER_SHIFT;
}

/** Up to the next multiple of 8. Sizes in lanes are far below 2^31. */
export function toUnits(byteLength: number): number {
  return (byteLength + UNIT_BYTES - 1) & -UNIT_BYTES;
}

/** Bytes that a record with such a body takes in the lane. */
export function recordBytes(bodyBytes: number): number {
  return RECORD_HEAD_BYTES + toUnits(bodyBytes);
}

/** By how much such a record moves a position. */
export function recordPositions(bodyBytes: number): number {
  return recordBytes(bodyBytes) >> POSITION_SHIFT;
}
