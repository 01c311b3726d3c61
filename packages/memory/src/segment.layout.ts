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
  /** The one commit of creation: version and sizes of the tables, by one CAS from 0. */
  geometry: field('creator'),
  idLow: field('creator'),
  idHigh: field('creator'),
  sizeLow: field('creator'),
  sizeHigh: field('creator'),
  /** 0 until all of the above is written, then {@link STATE_READY}. The last word written. */
  state: field('creator'),
  /** 0 no janitor, positive the unique number of its thread, negative that of a thread which is starting one. */
  janitor: field('janitor'),
  /** Changes after every death that is noticed. */
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

const GEOMETRY_TAG = 0x48;
const LOG_BITS = 5;
const LOG_MASK = (1 << LOG_BITS) - 1;

/** A geometry in one word: a tag (8 bits), the layout version (8 bits), a free bit, and three logarithms (5 bits each). */
export function packGeometry(
  { maxThreads, maxStructures, maxRanges }: Geometry,
  version = SEGMENT_VERSION,
): number {
  const logs =
    (Math.log2(maxThreads) << (2 * LOG_BITS)) | (Math.log2(maxStructures) << LOG_BITS) | Math.log2(maxRanges);
  return (GEOMETRY_TAG << 24) | (version << 16) | logs;
}

/** The layout version in a word that holds a geometry, undefined where the word holds something else. */
export function geometryVersion(word: number): number | undefined {
  return word >>> 24 === GEOMETRY_TAG ? (word >>> 16) & 0xff : undefined;
}

/** The geometry in a word of this version, undefined where the word is not one. */
export function unpackGeometry(word: number): Geometry | undefined {
  if (geometryVersion(word) !== SEGMENT_VERSION) return undefined;
  const geometry = {
    maxThreads: 2 ** ((word >>> (2 * LOG_BITS)) & LOG_MASK),
    maxStructures: 2 ** ((word >>> LOG_BITS) & LOG_MASK),
    maxRanges: 2 ** (word & LOG_MASK),
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
