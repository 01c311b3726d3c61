import { counterLayout, mpoolLayout } from './mpool.layout.js';
import type { PoolWords } from './pool-words.js';

const at = counterLayout.offsets;
const { peak } = mpoolLayout.offsets;

/** What a thread did. */
export interface Counters {
  readonly got: number;
  /** Puts, as they were called: those that are not sent off included. */
  readonly put: number;
  /** Of these, how many were got by another thread. */
  readonly putAcrossThreads: number;
  /** Batches of puts that were sent off. */
  readonly batches: number;
  /** Times that elements were had from another thread's list. */
  readonly steals: number;
  /** Times that a getter slept. */
  readonly waits: number;
}

/** What was counted since the pool was made. */
export interface PoolCounters extends Counters {
  /** Most elements that were out at the same time. */
  readonly peak: number;
  /** By thread, of those that did anything. One that got the id of one that ended counts on where that stopped. */
  readonly threads: readonly (Counters & { readonly threadId: number })[];
}

/** Reads the counters of all threads, while they go on. Undefined where the pool was made without. Cost: 18 loads a thread. */
export function readCounters(pool: PoolWords): PoolCounters | undefined {
  const { atomics } = pool.platform;
  if (pool.shape.counterRows === 0) return undefined;
  const threads = Array.from({ length: pool.shape.counterRows }, (_, threadId) => ({
    threadId,
    ...readRow(pool, threadId),
  })).filter(({ got, put, waits }) => got + put + waits > 0);
  const sum = (key: keyof Counters) => threads.reduce((total, counters) => total + counters[key], 0);
  return {
    got: sum('got'),
    put: sum('put'),
    putAcrossThreads: sum('putAcrossThreads'),
    batches: sum('batches'),
    steals: sum('steals'),
    waits: sum('waits'),
    peak: atomics.load(pool.words, peak),
    threads,
  };
}

function readRow(pool: PoolWords, threadId: number): Counters {
  const row = pool.regions.counters + threadId * counterLayout.wordCount;
  return {
    got: loadWide(pool, row + at.gotLow),
    put: loadWide(pool, row + at.putLow),
    putAcrossThreads: loadWide(pool, row + at.acrossLow),
    batches: loadWide(pool, row + at.batchesLow),
    steals: loadWide(pool, row + at.stealsLow),
    waits: loadWide(pool, row + at.waitsLow),
  };
}

/** A counter of two words that its thread may carry over meanwhile. */
function loadWide({ platform: { atomics }, words }: PoolWords, index: number): number {
  const high = atomics.load(words, index + 1);
  const low = atomics.load(words, index) >>> 0;
  // Carried over in between: the low word may be of before or after, and after it is small.
  return atomics.load(words, index + 1) === high ? high * 2 ** 32 + low : (high + 1) * 2 ** 32;
}
