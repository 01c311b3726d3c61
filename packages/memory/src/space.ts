import { HeddleError } from './errors.js';
import { roundUp } from './layout.js';
import { type Platform, realPlatform } from './platform.js';
import {
  ENTRY_SIZE,
  ENTRY_START,
  ENTRY_STATUS,
  ENTRY_WORDS,
  generationOf,
  MAX_MANTISSA,
  nextGeneration,
  packSize,
  packStatus,
  phaseOf,
  RANGE_PHASE,
  representableUnits,
  representableWithin,
  spaceLayout,
  UNIT_BYTES,
  unitsOf,
} from './space.layout.js';
import { ID_MASK } from './thread-table.layout.js';

const { tail } = spaceLayout.offsets;
const ENTRIES = spaceLayout.wordCount;

const LIVE_PHASES = [RANGE_PHASE.fresh, RANGE_PHASE.live] as const;
const TAKEN_PHASES = [...LIVE_PHASES, RANGE_PHASE.retired] as const;

/** @throws RangeError where it is not a power of two up to 1 GiB. */
export function assertAlignment(align: number): void {
  if (Number.isInteger(align) && align >= 1 && align <= 2 ** 30 && Math.log2(align) % 1 === 0) return;
  throw new RangeError(`An alignment is a power of two up to 2^30, not ${align}`);
}

/** A range of the segment's space. Plain and cloneable. */
export interface Range {
  /** Its entry in the range table. */
  readonly index: number;
  /** Goes up each time the entry is given out anew. */
  readonly generation: number;
  /** From the beginning of the segment. */
  readonly byteOffset: number;
  /** At least what was asked for: a whole number of lines. */
  readonly byteLength: number;
}

export interface SpaceUsage {
  /** Bytes that can be given out in all. */
  readonly capacity: number;
  /** Bytes given out and not free again, retired ones included. */
  readonly used: number;
  readonly free: number;
  /** Bytes retired and not yet free. */
  readonly retired: number;
  /** The largest number of bytes that one request with the least alignment can get. */
  readonly largest: number;
  readonly ranges: number;
  readonly maxRanges: number;
}

/**
 * Gives out the space of a segment: a bump allocator over a log of ranges, which can retire them.
 *
 * **Layout**: `space.layout.ts`. Ranges lie one after the other without gaps; entry i tells the length of the
 * i-th. What alignment skips is a range of its own, free from the start.
 *
 * **States** of a range:
 *
 * | phase   | owner | meaning                                                                             |
 * |---------|-------|-------------------------------------------------------------------------------------|
 * | (none)  |       | size 0: the end of the log                                                          |
 * | fresh   | id    | given out for the first time; its owner is in the size word                         |
 * | live    | id    | given out, not yet part of a published structure                                    |
 * | live    | 0     | kept: belongs to a structure, not to a thread                                       |
 * | retired | 0     | nobody may start to use it, some may still do                                       |
 * | retired | id    | the same, and this thread is about to free it                                       |
 * | free    | 0     | can be given out again, whole, with the next generation                             |
 *
 * Invariant: the lengths of all entries add up to the end of the log, which never exceeds the capacity.
 *
 * **One commit**: a fresh range by the CAS of its size word from 0, which names its owner too; a re-used one, and
 * every later change, by one CAS of its status word, whose generation rules out a stale one.
 *
 * **Death**: a range whose owner dies before it was kept, or while it frees it, is named by its own words:
 * recovery keeps what a structure refers to and discards the rest.
 *
 * **Cost**: a slow path. `allocate` looks at each entry, 2 loads, then up to 8 loads, 2 stores and 1 CAS.
 *
 * **Limits**: a range is given out again whole, neighbours are not merged; the number of ranges is fixed; a
 * stale range could pass after 2^20 re-uses of its entry.
 */
export class Space {
  readonly maxRanges: number;
  readonly capacity: number;
  readonly #words: Int32Array;
  readonly #base: number;
  readonly #platform: Platform;

  /** Words for a table of so many ranges. */
  static wordCountFor(maxRanges: number): number {
    return roundUp(ENTRIES + maxRanges * ENTRY_WORDS, UNIT_BYTES / 4);
  }

  /**
   * @param words the table, all zero at first.
   * @param base byte offset of the space in the segment, a multiple of 128.
   * @param byteLength bytes from there to the end of the segment.
   */
  constructor(words: Int32Array, base: number, byteLength: number, platform: Platform = realPlatform) {
    this.#words = words;
    this.#base = base;
    this.#platform = platform;
    this.maxRanges = Math.floor((words.length - ENTRIES) / ENTRY_WORDS);
    this.capacity = Math.floor(byteLength / UNIT_BYTES) * UNIT_BYTES;
  }

  /**
   * Takes a range for the thread `owner`, to which it belongs until {@link keep}.
   *
   * A free range is given out again if it is at most a quarter larger than what was asked, or if nothing else is
   * left. Memory of generation 0 is zero, that of later ones is as its last user left it.
   *
   * @param align of its byte offset in the segment: a power of two up to 2^30; at least 128 is given in any case.
   * @throws RangeError for a bad size or alignment; HeddleError `ERR_HEDDLE_OUT_OF_SPACE`, with what was asked,
   *   what is free and the capacity. Nothing has changed then.
   */
  allocate(byteLength: number, owner: number, align = UNIT_BYTES): Range {
    if (!Number.isSafeInteger(byteLength) || byteLength < 1) {
      throw new RangeError(`A range is a whole number of bytes from 1, not ${byteLength}`);
    }
    assertAlignment(align);
    const units = representableUnits(Math.ceil(byteLength / UNIT_BYTES));
    return (
      this.#reuse(units, Math.floor(units * 1.25), align, owner) ??
      this.#append(units, align, owner) ??
      this.#reuse(units, Infinity, align, owner) ??
      this.#throwExhausted(byteLength)
    );
  }

  /**
   * Makes a live range part of something that stays: no thread's death frees it any more.
   *
   * @returns false where it is not live any more: who found what it is part of has retired it already.
   */
  keep(range: Range): boolean {
    return this.#move(range, LIVE_PHASES, RANGE_PHASE.live, 0);
  }

  /**
   * Retires a range: nobody may start to use it, those who use it still may. It is not given out again until
   * {@link free}.
   *
   * @param owner the thread that is going to free it, so that its death frees it; 0 where a structure will.
   * @returns whether this call retired it: false where it is not live any more, or was given out anew.
   */
  retire(range: Range, owner = 0): boolean {
    return this.#move(range, LIVE_PHASES, RANGE_PHASE.retired, owner);
  }

  /**
   * Makes a retired range free to be given out again, with the next generation.
   *
   * @throws HeddleError `ERR_HEDDLE_RANGE_STATE` where it is not retired.
   */
  free(range: Range): void {
    if (!this.#move(range, [RANGE_PHASE.retired], RANGE_PHASE.free, 0)) this.#throwState(range, 'retired');
  }

  /**
   * Frees a range that nobody else has heard of, in one step. Its owner, or who recovers it, calls this.
   *
   * @throws HeddleError `ERR_HEDDLE_RANGE_STATE` where it is free already, or was given out anew.
   */
  discard(range: Range): void {
    if (!this.#move(range, TAKEN_PHASES, RANGE_PHASE.free, 0)) this.#throwState(range, 'in use');
  }

  /**
   * Frees a range that a dead thread owned, unless others have kept or retired it meanwhile.
   *
   * @returns whether this call freed it.
   */
  discardOf(owner: number, range: Range): boolean {
    return this.#move(range, TAKEN_PHASES, RANGE_PHASE.free, 0, owner);
  }

  /** Ranges that belong to the thread `owner`: taken and not kept, or being freed by it. */
  owned(owner: number): Range[] {
    const ranges: Range[] = [];
    for (let index = 0, size = this.#size(0); size !== 0; size = this.#size(++index)) {
      if (this.#owner(size, this.#status(index)) === owner) ranges.push(this.#range(index));
    }
    return ranges;
  }

  /** Whether the range is live in the generation that it names. 1 load. */
  isLive(range: Range): boolean {
    const status = this.#status(range.index);
    const phase = phaseOf(status);
    return generationOf(status) === range.generation && LIVE_PHASES.some((live) => live === phase);
  }

  /** The range of an entry as it is now. The entry must be taken. */
  at(index: number): Range {
    if (this.#size(index) === 0) throw new RangeError(`Range ${index} has not been given out`);
    return this.#range(index);
  }

  /** What is in use; while other threads allocate, a value that was true for each range at some moment. */
  usage(): SpaceUsage {
    let end = 0;
    let free = 0;
    let retired = 0;
    let largestFree = 0;
    let index = 0;
    for (let size = this.#size(0); size !== 0; size = this.#size(++index)) {
      const byteLength = unitsOf(size) * UNIT_BYTES;
      const phase = phaseOf(this.#status(index));
      end += byteLength;
      if (phase === RANGE_PHASE.retired) retired += byteLength;
      if (phase !== RANGE_PHASE.free) continue;
      free += byteLength;
      largestFree = Math.max(largestFree, byteLength);
    }
    const rest = index < this.maxRanges ? representableWithin((this.capacity - end) / UNIT_BYTES) : 0;
    return {
      capacity: this.capacity,
      used: end - free,
      free: this.capacity - end + free,
      retired,
      largest: Math.max(largestFree, rest * UNIT_BYTES),
      ranges: index,
      maxRanges: this.maxRanges,
    };
  }

  #reuse(units: number, mostUnits: number, align: number, owner: number): Range | undefined {
    const { atomics } = this.#platform;
    for (let index = 0, size = this.#size(0); size !== 0; size = this.#size(++index)) {
      const status = this.#status(index);
      if (phaseOf(status) !== RANGE_PHASE.free) continue;
      if (unitsOf(size) < units || unitsOf(size) > mostUnits) continue;
      if (this.#byteOffset(index) % align !== 0) continue;
      const taken = packStatus(nextGeneration(generationOf(status)), RANGE_PHASE.live, owner);
      if (atomics.compareExchange(this.#words, this.#entry(index) + ENTRY_STATUS, status, taken) === status) {
        return this.#range(index);
      }
    }
    return undefined;
  }

  #append(units: number, align: number, owner: number): Range | undefined {
    const { atomics } = this.#platform;
    for (let index = atomics.load(this.#words, tail); index < this.maxRanges; index++) {
      if (this.#size(index) !== 0) continue;
      const start = index === 0 ? 0 : this.#start(index - 1) + unitsOf(this.#size(index - 1));
      const skipped = (roundUp(this.#base + start * UNIT_BYTES, align) - this.#base) / UNIT_BYTES - start;
      if ((start + skipped + units) * UNIT_BYTES > this.capacity) return undefined;
      if (index + Math.ceil(skipped / MAX_MANTISSA) >= this.maxRanges) return undefined;
      // Every thread that comes here computes the same start: lengths before it never change.
      atomics.store(this.#words, this.#entry(index) + ENTRY_START, start | 0);
      const size = packSize(skipped > 0 ? Math.min(skipped, MAX_MANTISSA) : units, owner);
      if (atomics.compareExchange(this.#words, this.#entry(index) + ENTRY_SIZE, 0, size) !== 0) continue;
      atomics.store(this.#words, tail, index + 1);
      if (skipped === 0) return this.#range(index);
      // What alignment skips is a range like any other, freed at once.
      this.discard(this.#range(index));
    }
    return undefined;
  }

  /**
   * @param of the owner that the range must have; undefined where that does not matter.
   * @returns whether this call moved it. It tries again only where another thread moved it within `from`.
   */
  #move(range: Range, from: readonly number[], to: number, owner: number, of?: number): boolean {
    const { atomics } = this.#platform;
    const at = this.#entry(range.index) + ENTRY_STATUS;
    const moved = packStatus(range.generation, to, owner);
    let status = atomics.load(this.#words, at);
    while (generationOf(status) === range.generation && from.includes(phaseOf(status))) {
      if (of !== undefined && this.#owner(this.#size(range.index), status) !== of) return false;
      const found = atomics.compareExchange(this.#words, at, status, moved);
      if (found === status) return true;
      status = found;
    }
    return false;
  }

  #throwState(range: Range, needed: string): never {
    const status = this.#status(range.index);
    const phase = Object.keys(RANGE_PHASE)[phaseOf(status)];
    throw new HeddleError(
      'ERR_HEDDLE_RANGE_STATE',
      `Range ${range.index} of generation ${range.generation} is not ${needed}: it is ${phase}, generation ${generationOf(status)}`,
      { index: range.index, generation: range.generation, phase },
    );
  }

  #throwExhausted(asked: number): never {
    const { free, capacity, largest, ranges, maxRanges } = this.usage();
    const hint =
      ranges >= maxRanges
        ? `all ${maxRanges} ranges are in use: create the segment with a larger maxRanges`
        : 'create the segment with a larger byteLength; only what is touched takes memory';
    throw new HeddleError(
      'ERR_HEDDLE_OUT_OF_SPACE',
      `Asked for ${asked} bytes, ${free} of ${capacity} are free and ${largest} in one piece: ${hint}`,
      { asked, free, capacity, largest },
    );
  }

  #range(index: number): Range {
    return {
      index,
      generation: generationOf(this.#status(index)),
      byteOffset: this.#byteOffset(index),
      byteLength: unitsOf(this.#size(index)) * UNIT_BYTES,
    };
  }

  /** The thread that took a range and did not keep it, 0 for none. */
  #owner(size: number, status: number): number {
    return phaseOf(status) === RANGE_PHASE.fresh ? size & ID_MASK : status & ID_MASK;
  }

  #byteOffset(index: number): number {
    return this.#base + this.#start(index) * UNIT_BYTES;
  }

  #start(index: number): number {
    return this.#platform.atomics.load(this.#words, this.#entry(index) + ENTRY_START) >>> 0;
  }

  #status(index: number): number {
    return this.#platform.atomics.load(this.#words, this.#entry(index) + ENTRY_STATUS);
  }

  /** The size word of an entry; 0 past the end of the table, as at the end of the log. */
  #size(index: number): number {
    if (index >= this.maxRanges) return 0;
    return this.#platform.atomics.load(this.#words, this.#entry(index) + ENTRY_SIZE);
  }

  #entry(index: number): number {
    return ENTRIES + index * ENTRY_WORDS;
  }
}
