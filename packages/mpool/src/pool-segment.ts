import { DEFAULT_SEGMENT_BYTES, LINE_BYTES, roundUp, Segment } from '@heddle/memory';
import { chunkByteLength, chunkSteps } from './growth-arithmetic.js';
import { bodyByteLength } from './pool-header.js';
import type { PoolPlan } from './pool-options.js';

/** Threads that a segment made for one pool has room for. */
const ALONE_THREADS = 64;
/** The directory's own part of a structure's range, rounded up. */
const STRUCTURE_BYTES = 1024;

/**
 * A segment for one pool alone, with the same header and thread table as any other.
 *
 * @param whole whether there is space for all elements; else for as many as 64 MiB hold, and those of the first chunk.
 */
export function segmentFor(plan: PoolPlan, whole: boolean): Segment {
  const { slotCapacity, maxChunks } = plan.shape;
  const align = Math.max(plan.align, LINE_BYTES);
  const chunks = chunkSteps(plan, slotCapacity, maxChunks).map(
    (elems) => roundUp(chunkByteLength(plan, elems), align) + align,
  );
  // What alignment skips takes a range as well.
  const tables = { maxThreads: ALONE_THREADS, maxStructures: 4, maxRanges: 2 * maxChunks + 8 };
  const byteLengthFor = (ofChunks: readonly number[]) => {
    const elements = ofChunks.reduce((sum, byteLength) => sum + byteLength, 0);
    return Segment.byteLengthFor({
      ...tables,
      spaceBytes: bodyByteLength(plan) + STRUCTURE_BYTES + elements,
    });
  };
  const all = byteLengthFor(chunks);
  const standard = Math.max(DEFAULT_SEGMENT_BYTES, byteLengthFor(chunks.slice(0, 1)));
  return Segment.create({ ...tables, byteLength: whole ? all : Math.min(all, standard) });
}
