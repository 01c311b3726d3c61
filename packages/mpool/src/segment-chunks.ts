import { type ErrorCode, HeddleError, LINE_BYTES, type Range, type Segment } from '@heddle/memory';
import type { ChunkSource } from './growth.js';

/** The space of a segment as a source of chunks that begin at multiples of `align`. */
export function segmentChunks(segment: Segment, align: number): ChunkSource {
  const { space } = segment;
  return {
    allocate(byteLength) {
      try {
        return segment.allocate(byteLength, { align: Math.max(align, LINE_BYTES) });
      } catch (error) {
        if (isHeddleError(error, 'ERR_HEDDLE_OUT_OF_SPACE')) return undefined;
        throw error;
      }
    },
    keep: (range) => space.keep(range as Range),
    isLive: (range) => space.isLive(range as Range),
    discard(range) {
      if (!space.isLive(range as Range)) return;
      try {
        space.discard(range as Range);
      } catch (error) {
        // Another thread that closes the pool, or finishes the close of one that died, was quicker.
        if (!isHeddleError(error, 'ERR_HEDDLE_RANGE_STATE')) throw error;
      }
    },
  };
}

function isHeddleError(error: unknown, code: ErrorCode): boolean {
  return error instanceof HeddleError && error.code === code;
}
