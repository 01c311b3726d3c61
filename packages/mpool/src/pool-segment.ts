import { aloneSegment, DEFAULT_SEGMENT_BYTES, LINE_BYTES, roundUp, type Segment } from '@heddle/memory';
import { chunkByteLength, chunkSteps } from './growth-arithmetic.js';
import { bodyByteLength } from './pool-header.js';
import type { PoolPlan } from './pool-options.js';

/**
 * A segment for one pool alone.
 *
 * @param whole whether there is space for all elements; else for 64 MiB of them, or those of the first chunk.
 */
export function segmentFor(plan: PoolPlan, whole: boolean): Segment {
  const { slotCapacity, maxChunks } = plan.shape;
  const align = Math.max(plan.align, LINE_BYTES);
  const [first = 0, ...others] = chunkSteps(plan, slotCapacity, maxChunks).map(
    (elems) => roundUp(chunkByteLength(plan, elems), align) + align,
  );
  const all = others.reduce((sum, byteLength) => sum + byteLength, first);
  const space = whole ? all : Math.min(all, Math.max(DEFAULT_SEGMENT_BYTES, first));
  // What alignment skips takes a range as well.
  return aloneSegment(bodyByteLength(plan), space, 2 * maxChunks);
}
