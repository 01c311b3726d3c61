import { defineLayout, field, LINE_BYTES } from './layout.js';
import { ID_BITS } from './thread-table.layout.js';

/** The words before the entries. */
export const spaceLayout = defineLayout('space', 1, {
  /** Hint: entries below it are taken. Never ahead of the truth. */
  tail: field('anyone'),
});

/**
 * An entry of the range table, a log: entry i + 1 starts where entry i ends.
 *
 * ```
 *  0 size     0 untaken, else length << 10 | id of the thread that took it.
 *             The length counts units of 128 bytes: mantissa (17 bits) times 2^exponent (5 bits)
 *  1 status   generation (20 bits) << 12 | phase (2 bits) << 10 | id of the owner. Generation 0: never used before
 *  2 start    first unit, written before `size`
 *  3 padding
 * ```
 */
export const ENTRY_WORDS = 4;
export const ENTRY_SIZE = 0;
export const ENTRY_STATUS = 1;
export const ENTRY_START = 2;

/** Space is given out in units of a line, so that two ranges never share one. */
export const UNIT_BYTES = LINE_BYTES;

/** Phases of a range. A fresh one is live, and belongs to the thread that its size word names. */
export const RANGE_PHASE = { fresh: 0, live: 1, retired: 2, free: 3 } as const;

const MANTISSA_BITS = 17;
/** Most units of which every number is representable: 16 MiB. */
export const MAX_MANTISSA = 2 ** MANTISSA_BITS - 1;
const RANGE_GENERATIONS = 2 ** 20;

/** Rounds a number of units up to one that a size word can hold. Exact up to 16 MiB, then within 1 in 65 536. */
export function representableUnits(units: number): number {
  let step = 1;
  while (Math.ceil(units / step) > MAX_MANTISSA) step *= 2;
  return Math.ceil(units / step) * step;
}

/** The largest number of units within so many that a size word can hold. */
export function representableWithin(units: number): number {
  let step = 1;
  while (Math.floor(units / step) > MAX_MANTISSA) step *= 2;
  return Math.floor(units / step) * step;
}

/** Most units that ranges of so many units together are rounded up by, however many there are. */
export function roundingOf(units: number): number {
  return units <= MAX_MANTISSA ? 0 : Math.ceil((2 * units) / MAX_MANTISSA);
}

/** The size word of so many representable units taken by a thread. */
export function packSize(units: number, owner: number): number {
  let exponent = 0;
  let mantissa = units;
  while (mantissa > MAX_MANTISSA) {
    mantissa /= 2;
    exponent++;
  }
  return (((exponent << MANTISSA_BITS) | mantissa) << ID_BITS) | owner;
}

export function unitsOf(size: number): number {
  const length = size >>> ID_BITS;
  return (length & MAX_MANTISSA) * 2 ** (length >>> MANTISSA_BITS);
}

export function packStatus(generation: number, phase: number, owner: number): number {
  return (generation << 12) | (phase << ID_BITS) | owner;
}

export function generationOf(status: number): number {
  return status >>> 12;
}

/** The generation after this one. 0 is that of memory which was never used, so it does not come again. */
export function nextGeneration(generation: number): number {
  return generation + 1 < RANGE_GENERATIONS ? generation + 1 : 1;
}

export function phaseOf(status: number): number {
  return (status >>> ID_BITS) & 3;
}
