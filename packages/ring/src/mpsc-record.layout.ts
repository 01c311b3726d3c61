import { UNIT } from './position.js';
import { HEADER_BYTES, unitsOf } from './record.layout.js';

/**
 * The first header word of a record in a ring of many producers, where records become ready out of order.
 *
 * ```
 *  bit 31 ........................ 7   6 .. 4   3          2 .. 0
 *     | length in bytes               | skew   | sleeping | state |
 * ```
 *
 * | state | meaning |
 * |---|---|
 * | claimed | being written; the consumer stops here. Its claimant's slot says so |
 * | committed | to be read; the second header word is the record's tag |
 * | aborted | given up by its claimant; the consumer goes past it |
 * | abandoned | its claimant died; the consumer goes past it and counts it |
 * | padding | nothing up to the end of the ring |
 *
 * `sleeping` is set by the consumer that sleeps on the word of a claimed record.
 *
 * A claimed record becomes another one by one exchange of this word, by its claimant or, after its death, by
 * recovery. A record that became shorter than its claim has an aborted one behind it for the rest.
 */
export const STATE = { claimed: 1, committed: 2, aborted: 3, abandoned: 4, padding: 5 } as const;

const STATE_MASK = 7;
const SLEEPING_BIT = 8;
const SKEW_SHIFT = 4;
const SKEW_MASK = 7;
const LENGTH_SHIFT = 7;

/** Bytes of the longest record: its footprint, given up, is an aborted record whose length still fits its bits. */
export const MPSC_MAX_RECORD_BYTES = 2 ** 25 - HEADER_BYTES;

export function packHeader(state: number, byteLength: number, skew: number): number {
  return (byteLength << LENGTH_SHIFT) | (skew << SKEW_SHIFT) | state;
}

export function stateOf(header: number): number {
  return header & STATE_MASK;
}

export function headerLength(header: number): number {
  return header >>> LENGTH_SHIFT;
}

export function headerSkew(header: number): number {
  return (header >>> SKEW_SHIFT) & SKEW_MASK;
}

export function hasSleeper(header: number): boolean {
  return (header & SLEEPING_BIT) !== 0;
}

export function withSleeper(header: number): number {
  return header | SLEEPING_BIT;
}

export function withState(header: number, state: number): number {
  return (header & ~(STATE_MASK | SLEEPING_BIT)) | state;
}

/** Positions that a record takes. */
export function headerPositions(header: number): number {
  return unitsOf(headerLength(header), headerSkew(header)) * UNIT;
}

/** The header of so many positions that hold no record. */
export function packSkipped(positions: number): number {
  return packHeader(STATE.aborted, (positions / UNIT) * HEADER_BYTES - HEADER_BYTES, 0);
}
