import { DescriptorFormat } from './descriptor.js';
import { mpoolLayout, regionsOf } from './mpool.layout.js';
import { POLICIES } from './policy.js';
import { LOCKS, type PoolPlan } from './pool-options.js';
import { readWide, writeWide } from './wide-word.js';

const at = mpoolLayout.offsets;
const float = new Float64Array(1);
const floatWords = new Int32Array(float.buffer);

/** What a pool's options do not say. */
export interface Made {
  /** Token of the thread that makes it. */
  readonly by: number;
  readonly hasInit?: boolean;
  /** Any 32 bits. Slots begin with this generation, so that the descriptors of two pools are hardly ever alike. */
  readonly firstGeneration?: number;
}

/** Writes what never changes, before anyone can see the pool. What is 0 at first needs no store. */
export function writeHeader(words: Int32Array, plan: PoolPlan, made: Made): void {
  const { generationMask } = new DescriptorFormat(plan.shape.slotCapacity);
  words[at.policy] = POLICIES.indexOf(plan.policy);
  words[at.lock] = LOCKS.indexOf(plan.lock);
  words[at.lockWords] = plan.shape.lockWords;
  words[at.shards] = plan.shape.shards;
  words[at.seats] = plan.shape.seats;
  words[at.magazine] = plan.shape.magazine;
  words[at.laneSlots] = plan.shape.laneSlots;
  words[at.maxElems] = plan.maxElems;
  words[at.slotCapacity] = plan.shape.slotCapacity;
  words[at.maxChunks] = plan.shape.maxChunks;
  writeWide(words, at.elemSizeLow, plan.elemSize);
  writeWide(words, at.alignLow, plan.align);
  writeWide(words, at.alignOffsetLow, plan.alignOffset);
  writeWide(words, at.maxChunkLow, plan.maxChunkBytes);
  words[at.elemsPerChunk] = plan.elemsPerChunk;
  words[at.exactPut] = plan.exactPut ? 1 : 0;
  words[at.guardBytes] = plan.guardBytes;
  words[at.noteWords] = plan.shape.noteWords;
  words[at.counterRows] = plan.shape.counterRows;
  words[at.owner] = made.by;
  words[at.hasInit] = made.hasInit ? 1 : 0;
  words[at.firstGeneration] = (made.firstGeneration ?? 0) & generationMask;
  float[0] = plan.growFactor;
  words[at.growFactorLow] = floatWords[0]!;
  words[at.growFactorHigh] = floatWords[1]!;
  words[at.nextElems] = plan.elemsPerChunk;
}

/** Reads it back, in any thread. */
export function readHeader(words: Int32Array): PoolPlan {
  floatWords[0] = words[at.growFactorLow]!;
  floatWords[1] = words[at.growFactorHigh]!;
  return {
    policy: POLICIES[words[at.policy]!]!,
    lock: LOCKS[words[at.lock]!]!,
    maxElems: words[at.maxElems]!,
    elemSize: readWide(words, at.elemSizeLow),
    align: readWide(words, at.alignLow),
    alignOffset: readWide(words, at.alignOffsetLow),
    maxChunkBytes: readWide(words, at.maxChunkLow),
    elemsPerChunk: words[at.elemsPerChunk]!,
    growFactor: float[0]!,
    guardBytes: words[at.guardBytes]!,
    exactPut: words[at.exactPut] !== 0,
    shape: {
      shards: words[at.shards]!,
      seats: words[at.seats]!,
      magazine: words[at.magazine]!,
      laneSlots: words[at.laneSlots]!,
      slotCapacity: words[at.slotCapacity]!,
      maxChunks: words[at.maxChunks]!,
      lockWords: words[at.lockWords]!,
      noteWords: words[at.noteWords]!,
      counterRows: words[at.counterRows]!,
    },
  };
}

/** Bytes of a pool without its chunks. */
export function bodyByteLength(plan: PoolPlan): number {
  return regionsOf(plan.shape).end * Int32Array.BYTES_PER_ELEMENT;
}
