import { Segment } from './segment.js';

const MAX_THREADS = 64;
/** A structure, and what it may need besides. */
const MAX_STRUCTURES = 4;
const RANGES = 8;
/** What stands before the bodies of these, rounded up. */
const HEADER_BYTES = 1024;

/** Name of a structure that stands alone, unless told otherwise. */
export const ALONE_NAME = 'alone';

/** Options of a structure in a segment of its own: it needs no name there. */
export type Alone<Options extends { readonly name: string }> = Omit<Options, 'name'> &
  Partial<Pick<Options, 'name'>>;

/**
 * Makes a segment for one structure alone, with the same header and thread table as any other, for up to 64 threads.
 *
 * @param bodyByteLength of the structure.
 * @param spaceByteLength of what it takes from the segment's space besides, in so many `ranges` at most.
 * @throws as `Segment.create` does.
 */
export function aloneSegment(bodyByteLength: number, spaceByteLength = 0, ranges = 0): Segment {
  const tables = { maxThreads: MAX_THREADS, maxStructures: MAX_STRUCTURES, maxRanges: RANGES + ranges };
  const spaceBytes = HEADER_BYTES + bodyByteLength + spaceByteLength;
  return Segment.create({ ...tables, byteLength: Segment.byteLengthFor({ ...tables, spaceBytes }) });
}
