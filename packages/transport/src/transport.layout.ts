import { lockWordCount } from '@heddle/lock';
import { defineLayout, field, LINE_BYTES, roundUp, WORD_BYTES } from '@heddle/memory';
import { laneLayout } from './lane.layout.js';
import { MT_TYPES, type MtType } from './mt-type.js';

/** Most sizes of slots. */
export const MAX_SLOT_SIZES = 8;

/**
 * What all threads of a context share, in one structure of its segment.
 *
 * ```
 *  header     one line, written once, and `closed`
 *  workers    a row for each worker that receives
 *  lanes      words and space, one behind the other
 * ```
 *
 * All lanes are there from the start as reserved memory, of which the operating system gives what is touched: a lane
 * that was never used takes none.
 */
export const contextLayout = defineLayout('transport-context', 1, {
  maxWorkers: field('creator'),
  maxLanes: field('creator'),
  laneBytes: field('creator'),
  inlineBytes: field('creator'),
  /** Index in `MT_TYPES`. */
  mtType: field('creator'),
  /** Bytes of the longest data in a slot of each size, from the smallest on; 0 behind the last. */
  slotBytes: field('creator', MAX_SLOT_SIZES),
  /** Token of the thread that is making the context, 0 as soon as it is made: see `context-making.ts`. */
  maker: field('maker'),
  /** 1 when the context is shut down: see `shutdown`. */
  closed: field('anyone'),
  /** Lanes that were ever in use, at most: those behind were never touched. Goes up before one is claimed. */
  lanesUsed: field('claimant'),
  /** Row + 1 of the worker whose lock is borrowed, 0 for none; and its generation: see `context-lock.ts`. */
  lender: field('lock holder'),
  lenderGeneration: field('lock holder'),
  /** The lock, unless it is borrowed. */
  lock: field(
    'anyone in turn',
    Math.max(lockWordCount('none'), lockWordCount('spinlock'), lockWordCount('mutex')),
  ),
});

/** A row: a worker that receives. Rows are used again, with another generation. */
export const workerRowLayout = defineLayout('transport-worker', 1, {
  /** Token of the thread that created the worker, 0 for a free row. */
  owner: field('anyone'),
  /** Generation << 1 | open. */
  state: field('anyone'),
  /** Index in `THREAD_MODES`. */
  threadMode: field('anyone'),
  /** Goes up when a lane came, or one side of a lane is gone: look at all lanes. */
  attention: field('anyone'),
  doorbell: field('sleeper'),
  /** Thread mode serialized: who is inside, or was last: see `entry.ts`. */
  entry: field('entrant'),
  /** Of a worker that lends its lock to the context. */
  lock: field('anyone in turn', lockWordCount('mutex')),
});

/** Sizes that a context is made of. */
export interface Shape {
  readonly maxWorkers: number;
  readonly maxLanes: number;
  readonly laneBytes: number;
  readonly inlineBytes: number;
  readonly mtType: MtType;
  /** Bytes of the longest data in a slot of each size, from the smallest on. */
  readonly slotBytes: readonly number[];
}

const LANES_ALIGN = LINE_BYTES / WORD_BYTES;

/** Words from a lane to the next. */
export function laneStride(shape: Shape): number {
  return laneLayout.wordCount + roundUp(shape.laneBytes / WORD_BYTES, LANES_ALIGN);
}

/** Word of a worker's row. */
export function workerRowAt(row: number): number {
  return contextLayout.wordCount + row * workerRowLayout.wordCount;
}

/** Word of a lane. */
export function laneAt(shape: Shape, lane: number): number {
  return workerRowAt(shape.maxWorkers) + lane * laneStride(shape);
}

/** Bytes of the structure. No bit operators: it may be larger than 2 GiB. */
export function contextByteLength(shape: Shape): number {
  return laneAt(shape, shape.maxLanes) * WORD_BYTES;
}

export function writeShape(words: Int32Array, shape: Shape): void {
  const { maxWorkers, maxLanes, laneBytes, inlineBytes, mtType, slotBytes } = contextLayout.offsets;
  words[maxWorkers] = shape.maxWorkers;
  words[maxLanes] = shape.maxLanes;
  words[laneBytes] = shape.laneBytes;
  words[inlineBytes] = shape.inlineBytes;
  words[mtType] = MT_TYPES.indexOf(shape.mtType);
  words.set(shape.slotBytes, slotBytes);
}

export function readShape(words: Int32Array): Shape {
  const { maxWorkers, maxLanes, laneBytes, inlineBytes, mtType, slotBytes } = contextLayout.offsets;
  return {
    maxWorkers: words[maxWorkers]!,
    maxLanes: words[maxLanes]!,
    laneBytes: words[laneBytes]!,
    inlineBytes: words[inlineBytes]!,
    mtType: MT_TYPES[words[mtType]!]!,
    slotBytes: [...words.subarray(slotBytes, slotBytes + MAX_SLOT_SIZES)].filter((bytes) => bytes > 0),
  };
}
