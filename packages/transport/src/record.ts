import * as layout from './lane.layout.js';

const { POSITION_SHIFT, UNIT_BYTES } = layout;

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
const KIND = { inline: 0, slot: 1, asked: 2 } as const;

const RECORD_HEAD_BYTES = 8;
const SLOT_BODY_BYTES = 16;

/** Words of a slot record, from its first one on. */
const SLOT_RECORD = { descriptor: 2, dataBytes: 3, dataAt: 4, size: 5 } as const;

/** First word of what is left unused at the end of the space. */
const PADDING = -1;

/** Largest id of a message, and most bytes of its header. */
const MAX_ID = 0xffff;
const MAX_HEADER_BYTES = 0xffff;

const KIND_SHIFT = 24;
const BODY_MASK = 2 ** KIND_SHIFT - 1;
const HEADER_SHIFT = 16;

function packFirst(kind: number, bodyBytes: number): number {
  return (kind << KIND_SHIFT) | bodyBytes;
}

function packSecond(id: number, headerBytes: number): number {
  return (headerBytes << HEADER_SHIFT) | id;
}

function kindOf(first: number): number {
  return first >>> KIND_SHIFT;
}

function bodyBytesOf(first: number): number {
  return first & BODY_MASK;
}

function idOfRecord(second: number): number {
  return second & MAX_ID;
}

function headerBytesOf(second: number): number {
  return second >>> HEADER_SHIFT;
}

/** Up to the next multiple of 8. Sizes in lanes are far below 2^31. */
function toUnits(byteLength: number): number {
  return (byteLength + UNIT_BYTES - 1) & -UNIT_BYTES;
}

/** Bytes that a record with such a body takes in the lane. */
function recordBytes(bodyBytes: number): number {
  return toUnits(RECORD_HEAD_BYTES + bodyBytes);
}

/** By how much such a record moves a position. */
function recordPositions(bodyBytes: number): number {
  return recordBytes(bodyBytes) >> POSITION_SHIFT;
}

/**
 * All of it as one object, from which its users take what they need into names of their own: those cost nothing in
 * compiled code, while an imported name is looked up and checked at each use.
 */
export const record = {
  KIND,
  RECORD_HEAD_BYTES,
  SLOT_BODY_BYTES,
  SLOT_RECORD,
  PADDING,
  MAX_ID,
  MAX_HEADER_BYTES,
  packFirst,
  packSecond,
  kindOf,
  bodyBytesOf,
  idOfRecord,
  headerBytesOf,
  toUnits,
  recordBytes,
  recordPositions,
} as const;
