import { defineLayout, field, LINE_BYTES, roundUp, WORD_BYTES } from './layout.js';
import { Space } from './space.js';
import { MAX_THREADS, threadRowLayout } from './thread-table.layout.js';

/** "HDDL" in the byte order of the machine that wrote it. */
export const MAGIC = 0x4c444448;
/** Read back as another number on a machine of the other byte order. */
export const BYTE_ORDER = 0x01020304;
export const SEGMENT_VERSION = 1;
export const STATE_READY = 1;

/**
 * The header of a segment. Every mutable word of a segment is 0 at first, so initialising writes constants only:
 * any number of threads may do it at once, and whoever finds it half done finishes it.
 */
export const segmentLayout = defineLayout('segment', SEGMENT_VERSION, {
  magic: field('creator'),
  version: field('creator'),
  byteOrder: field('creator'),
  /** The one commit of creation: the sizes of the tables, by one CAS from 0. */
  geometry: field('creator'),
  idLow: field('creator'),
  idHigh: field('creator'),
  sizeLow: field('creator'),
  sizeHigh: field('creator'),
  /** 0 until all of the above is written, then {@link STATE_READY}. The last word written. */
  state: field('creator'),
  /** Unique number of the janitor's thread, 0 where there is none. */
  janitor: field('janitor'),
  /** Goes up with every death, after the row is marked. */
  deaths: field('recovery'),
});

/** Sizes of the tables of a segment. Each is a power of two. */
export interface Geometry {
  readonly maxThreads: number;
  readonly maxStructures: number;
  readonly maxRanges: number;
}

export const GEOMETRY_LIMITS = {
  maxThreads: { least: 2, most: MAX_THREADS, standard: 64 },
  maxStructures: { least: 2, most: 4096, standard: 256 },
  maxRanges: { least: 8, most: 65_536, standard: 1024 },
} as const satisfies Record<keyof Geometry, { least: number; most: number; standard: number }>;

const GEOMETRY_TAG = 0x48 << 24;
const GEOMETRY_TAG_MASK = 0xff << 24;

/** A geometry in one word: a tag, and three logarithms. */
export function packGeometry({ maxThreads, maxStructures, maxRanges }: Geometry): number {
  return (
    GEOMETRY_TAG | (Math.log2(maxThreads) << 16) | (Math.log2(maxStructures) << 8) | Math.log2(maxRanges)
  );
}

/** The geometry in a word, undefined where the word is not one. */
export function unpackGeometry(word: number): Geometry | undefined {
  if ((word & GEOMETRY_TAG_MASK) !== GEOMETRY_TAG) return undefined;
  const geometry = {
    maxThreads: 2 ** ((word >>> 16) & 0xff),
    maxStructures: 2 ** ((word >>> 8) & 0xff),
    maxRanges: 2 ** (word & 0xff),
  };
  const valid = Object.entries(GEOMETRY_LIMITS).every(
    ([name, { least, most }]) =>
      geometry[name as keyof Geometry] >= least && geometry[name as keyof Geometry] <= most,
  );
  return valid ? geometry : undefined;
}

/** Where the parts of a segment lie, as word offsets; `space` is where free space begins. */
export interface Regions {
  readonly threads: number;
  readonly directory: number;
  readonly ranges: number;
  readonly space: number;
}

/**
 * ```
 *  | header | thread table | directory slots | range table | space ...
 * ```
 */
export function regionsOf({ maxThreads, maxStructures, maxRanges }: Geometry): Regions {
  const lineWords = LINE_BYTES / WORD_BYTES;
  const threads = segmentLayout.wordCount;
  const directory = threads + maxThreads * threadRowLayout.wordCount;
  const ranges = directory + roundUp(maxStructures, lineWords);
  return { threads, directory, ranges, space: ranges + Space.wordCountFor(maxRanges) };
}
