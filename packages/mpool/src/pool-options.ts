import { LOCK_KINDS, lockWordCount } from '@heddle/lock';
import { MAX_THREADS } from '@heddle/memory';
import { MAX_SLOTS } from './descriptor.js';
import { chunkSteps, type GrowthParameters, mostElemsOfChunk, strideOf } from './growth-arithmetic.js';
import { MAX_SEATS, NOTE_PLACE, NOTE_WORDS, PLACE_WORDS, type Shape } from './mpool.layout.js';
import type { PolicyName } from './policy.js';
import { POLICIES } from './policy.js';
import type { SlotHooks } from './slot-hooks.js';

/** Most chunks of a pool: as many ranges as a segment has unless told otherwise. */
const MAX_CHUNKS = 1024;
const DEFAULT_ELEMS_PER_CHUNK = 128;
const DEFAULT_MAX_CHUNK_BYTES = 128 * 1024 * 1024;
const DEFAULT_ALIGN = 64;
const DEFAULT_THREADS = 8;
const DEFAULT_MAGAZINE = 32;
/** Batches of puts that a return lane has room for. */
const BATCHES_PER_LANE = 4;
const MAX_MAGAZINE = 1024;
/** Bytes before and after each element that debug mode watches. */
const GUARD_BYTES = 64;

export interface MpoolOptions extends SlotHooks {
  /** Unique in the segment. 1 to 64 bytes of UTF-8. */
  readonly name: string;
  /** Bytes of an element, from 1. */
  readonly elemSize: number;
  /** A power of two. Default 64. */
  readonly align?: number;
  /** Which byte of an element is aligned. Default 0, at most `elemSize`. */
  readonly alignOffset?: number;
  /** Elements of the first chunk. Default 128, or `maxElems` where that is less. */
  readonly elemsPerChunk?: number;
  /** By how much each chunk has more elements than the one before. Default 1. */
  readonly growFactor?: number;
  /** Most bytes of a chunk. Default 128 MiB. */
  readonly maxChunkBytes?: number;
  /**
   * Elements that can be out at the same time. Default `Infinity`: as many as 1024 chunks hold, while the segment
   * has space.
   */
  readonly maxElems?: number;
  /** Who may put, and how slots travel between threads. Default `'sharded'`. */
  readonly policy?: PolicyName;
  /** Of policy `'locked'`: which lock guards the list. Default `'latch'`, the pool's own, of one word. */
  readonly lock?: PoolLock;
  /**
   * Of policy `'sharded'`: for how many threads there is a magazine, 1 to 64. More may use the pool, and take a latch
   * for each get and put. Default 8.
   */
  readonly threads?: number;
  /**
   * Of policy `'sharded'`: how many elements a thread keeps for itself, and how many puts it collects before it sends
   * them off, 0 to 1024. What all threads can hold back that way is reserved beyond `maxElems`. Default: up to 32,
   * such that at most a quarter is reserved; a pool of less than 64 elements for 8 threads has 0, and is exact.
   */
  readonly magazine?: number;
  /** Whether `maxElems` is never exceeded: `magazine` is 0 then. Default false. */
  readonly exact?: boolean;
  /**
   * When a second put of one descriptor by another thread is refused: `'batched'`, at the latest when the put is sent
   * off, then it is listed in the report; `'exact'`, at its call, for 1 load and 1 CAS a put. Where nothing is batched
   * it is exact in any case. Default `'batched'`.
   */
  readonly checked?: 'batched' | 'exact';
  /**
   * Looks for misuse of memory: elements are overwritten when they are put, bytes around each are watched, and it is
   * noted where each was got. Takes time in proportion to `elemSize`. Default false.
   */
  readonly debug?: boolean;
  /** Counts for each thread what it does, and the time of each get; see `Mpool.counters`. Default false. */
  readonly counters?: boolean;
}

/** Locks that a list can have. */
export const LOCKS = ['latch', ...LOCK_KINDS] as const;

export type PoolLock = (typeof LOCKS)[number];

/** Options that were checked and completed. */
export interface PoolPlan extends GrowthParameters {
  readonly policy: PolicyName;
  readonly lock: PoolLock;
  readonly maxElems: number;
  /** Whether each put is marked, so that a second one is refused at its call. Always so in debug mode. */
  readonly exactPut: boolean;
  readonly shape: Shape;
}

/**
 * Checks options and completes them.
 *
 * @throws TypeError, RangeError.
 */
export function planOf(options: MpoolOptions): PoolPlan {
  if (typeof options !== 'object' || options === null) {
    throw new TypeError('A pool is made from options, at least a name and elemSize');
  }
  for (const name of ['init', 'cleanup', 'describe'] as const) {
    if (options[name] !== undefined && typeof options[name] !== 'function') {
      throw new TypeError(`${name} is a function, not ${typeof options[name]}`);
    }
  }
  for (const name of ['exact', 'debug', 'counters'] as const) {
    if (options[name] !== undefined && typeof options[name] !== 'boolean') {
      throw new TypeError(`${name} is true or false, not ${String(options[name])}`);
    }
  }
  const { maxElems: asked = Infinity, policy = 'sharded', lock = 'latch', growFactor = 1 } = options;
  const { checked = 'batched', debug = false, counters = false } = options;
  const elemSize = wholeNumber('elemSize', options.elemSize, 1);
  const align = wholeNumber('align', options.align ?? DEFAULT_ALIGN, 1);
  if (Math.log2(align) % 1 !== 0) throw new RangeError(`align is a power of two, not ${align}`);
  const alignOffset = wholeNumber('alignOffset', options.alignOffset ?? 0, 0, elemSize);
  if (asked !== Infinity) wholeNumber('maxElems', asked, 1, MAX_SLOTS);
  const elemsPerChunk = wholeNumber(
    'elemsPerChunk',
    options.elemsPerChunk ?? Math.min(DEFAULT_ELEMS_PER_CHUNK, asked),
    1,
    asked,
  );
  if (typeof growFactor !== 'number' || !(growFactor >= 1 && growFactor < Infinity)) {
    throw new RangeError(`growFactor is a number from 1, not ${growFactor}`);
  }
  const maxChunkBytes = wholeNumber('maxChunkBytes', options.maxChunkBytes ?? DEFAULT_MAX_CHUNK_BYTES, 1);
  if (!POLICIES.includes(policy)) {
    throw new RangeError(`policy is one of ${POLICIES.join(', ')}, not ${String(policy)}`);
  }
  if (!LOCKS.includes(lock)) throw new RangeError(`lock is one of ${LOCKS.join(', ')}, not ${String(lock)}`);
  if (checked !== 'batched' && checked !== 'exact') {
    throw new RangeError(`checked is 'batched' or 'exact', not ${String(checked)}`);
  }
  if (policy === 'unsafe' && (checked === 'exact' || debug)) {
    throw new RangeError('A pool of policy "unsafe" checks nothing: choose another policy');
  }
  const guardBytes = debug ? GUARD_BYTES : 0;
  const parameters = { elemSize, align, alignOffset, elemsPerChunk, growFactor, maxChunkBytes, guardBytes };
  if (mostElemsOfChunk(parameters) < 1) {
    throw new RangeError(
      `maxChunkBytes is ${maxChunkBytes}, too small for one element of ${strideOf(parameters)} bytes with its alignment of ${align}`,
    );
  }
  const steps = chunkSteps(parameters, Math.min(asked, MAX_SLOTS), MAX_CHUNKS);
  const most = steps.reduce((sum, elems) => sum + elems, 0);
  if (asked !== Infinity && most < asked) {
    throw new RangeError(
      `${asked} elements need more than ${MAX_CHUNKS} chunks, which hold ${most}: choose a larger elemsPerChunk, growFactor or maxChunkBytes`,
    );
  }
  const maxElems = Math.min(asked, most);
  const sharing = policy === 'sharded' ? sharingOf(options, maxElems) : NO_SHARING;
  const slotCapacity = maxElems + 2 * sharing.magazine * sharing.seats;
  if (slotCapacity > MAX_SLOTS) {
    throw new RangeError(
      `maxElems, and what magazines hold back beyond it, are ${slotCapacity} slots, more than ${MAX_SLOTS}`,
    );
  }
  const maxChunks = chunkSteps(parameters, slotCapacity, 2 * MAX_CHUNKS).length;
  const lockWords = policy === 'locked' && lock !== 'latch' ? lockWordCount(lock, MAX_THREADS) : 0;
  const exactPut = debug || (checked === 'exact' && sharing.magazine > 0);
  const noteWords = debug ? NOTE_PLACE + PLACE_WORDS : counters ? NOTE_WORDS : exactPut ? 1 : 0;
  const counterRows = counters ? MAX_THREADS + 1 : 0;
  const shape = { ...sharing, slotCapacity, maxChunks, lockWords, noteWords, counterRows };
  return { ...parameters, policy, lock, maxElems, exactPut, shape };
}

type Sharing = Pick<Shape, 'shards' | 'seats' | 'magazine' | 'laneSlots'>;

const NO_SHARING: Sharing = { shards: 1, seats: 0, magazine: 0, laneSlots: 0 };

/** How many lists and magazines, of which size. */
function sharingOf(options: MpoolOptions, maxElems: number): Sharing {
  const threads = wholeNumber('threads', options.threads ?? DEFAULT_THREADS, 1, MAX_SEATS);
  const standard = Math.min(DEFAULT_MAGAZINE, Math.floor(maxElems / (8 * threads)));
  const magazine = wholeNumber(
    'magazine',
    options.magazine ?? (options.exact ? 0 : standard),
    0,
    MAX_MAGAZINE,
  );
  if (options.exact && magazine > 0) {
    throw new RangeError(
      `A pool with exact: true keeps nothing back: leave magazine out, or make it 0, not ${magazine}`,
    );
  }
  // A shard for each thread and one for new slots, rounded up to a power of two. A small pool has one list, so that
  // nobody searches.
  const shards = standard === 0 && magazine === 0 ? 1 : 1 << (32 - Math.clz32(threads));
  if (magazine === 0) return { ...NO_SHARING, shards };
  return { shards, seats: threads, magazine, laneSlots: BATCHES_PER_LANE << (32 - Math.clz32(magazine - 1)) };
}

function wholeNumber(name: string, value: unknown, least: number, most = Number.MAX_SAFE_INTEGER): number {
  if (typeof value !== 'number') throw new TypeError(`${name} is a number, not ${typeof value}`);
  if (!Number.isSafeInteger(value) || value < least || value > most) {
    throw new RangeError(`${name} is a whole number from ${least} to ${most}, not ${value}`);
  }
  return value;
}
