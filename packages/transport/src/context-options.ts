import { MAX_THREADS, roundUp, Segment } from '@heddle/memory';
import type { MpoolOptions } from '@heddle/mpool';
import { MAX_NAME_BYTES } from './context-making.js';
import { MAX_LANE_BYTES, MIN_LANE_BYTES, UNIT_BYTES } from './lane.layout.js';
import { MT_TYPES, type MtType } from './mt-type.js';
import { record } from './record.js';
import { SLOT_SLACK_BYTES } from './slot-pools.js';
import { contextByteLength, MAX_SLOT_SIZES, type Shape } from './transport.layout.js';
import { assertWhole } from './transport-errors.js';

const { MAX_HEADER_BYTES, recordBytes, SLOT_BODY_BYTES, toUnits } = record;

export interface ContextOptions {
  /** Names the context in its segment: 1 to 47 bytes in UTF-8. Default `'transport'`. */
  readonly name?: string | undefined;
  /** The segment to live in. Default: one of its own, large enough, with a janitor. */
  readonly segment?: Segment | undefined;
  /**
   * Bytes of the context's own segment: reserved, and only what is touched takes memory. Default: what the context
   * needs and 16 MiB more.
   */
  readonly byteLength?: number | undefined;
  /** Whether the context's own segment has a janitor, which sees deaths of threads whose parents cannot. Default true. */
  readonly janitor?: boolean | undefined;
  /**
   * Workers that can receive at the same time, 1 to 4096. Default 64. The context's own segment is for twice as many
   * threads, 64 to 512, of which the janitor is one.
   */
  readonly maxWorkers?: number | undefined;
  /** Lanes in use at the same time: one for each worker that sends to each worker. 1 to 65,536, default 1024. */
  readonly maxLanes?: number | undefined;
  /** Bytes of a lane: a power of two from 64 to 16 MiB. Default 16 KiB. */
  readonly laneBytes?: number | undefined;
  /** Up to how many bytes header and data travel in the lane, not in a slot. Default 256, at most half of a lane. */
  readonly inlineBytes?: number | undefined;
  /** Bytes of the longest data in a slot of the smallest size. Default 64 KiB, at least `inlineBytes`. */
  readonly slotBytes?: number | undefined;
  /**
   * Which lock guards what the threads of the context share: its tables, and what runs in `context.locked`. Default
   * `'spinlock'`. `'worker-async'` borrows that of the only worker of thread mode `multi`; `'none'` is for a context of
   * one thread.
   */
  readonly mtType?: MtType | undefined;
  /** Messages in such slots that are on their way or kept, at the same time, in the whole context. Default 256. */
  readonly slots?: number | undefined;
  /**
   * Slots for longer data: up to 7 sizes, each larger than the one before, the longest up to 1 GiB. Default where the
   * context has a segment of its own and no `byteLength` is given: 32 of 1 MiB, 8 of 8 MiB and 4 of 64 MiB, which
   * reserve 512 MiB and take what is written to them; else none.
   */
  readonly largeSlots?: readonly SlotSize[] | undefined;
}

/** Slots of one size. */
export interface SlotSize {
  /** Of the longest data. */
  readonly bytes: number;
  readonly count: number;
}

/** Options that were checked and completed. */
export interface ContextPlan {
  readonly name: string;
  readonly shape: Shape;
  /** The pools of slots, from the smallest on, without their names. */
  readonly pools: readonly Omit<MpoolOptions, 'name'>[];
  /** Of a segment of its own. */
  readonly byteLength: number;
  readonly maxThreads: number;
}

const LEAST_THREADS = 64;
const MIB = 1024 * 1024;
const SPARE_BYTES = 16 * MIB;
/** Room for the pool's own words and for what its magazines reserve. */
const POOL_FACTOR = 1.5;
const MAX_SLOT_BYTES = 1024 * MIB;
const LARGE_SLOTS: readonly SlotSize[] = [
  { bytes: MIB, count: 32 },
  { bytes: 8 * MIB, count: 8 },
  { bytes: 64 * MIB, count: 4 },
];
const MOST_CHUNKS = 512;
/** What rounding to whole ranges of the segment can take, for each slot. */
const CHUNK_SLACK_BYTES = MIB / 4;
/** What threads keep of a large size, of which there are so many. */
const LARGE_MAGAZINES = { threads: 4, magazine: 2 } as const;
const LEAST_TO_KEEP = 8;

/** @throws TypeError, RangeError. */
export function planOf(options: ContextOptions): ContextPlan {
  if (typeof options !== 'object' || options === null) throw new TypeError('A context is made from options');
  const laneBytes = assertWhole('laneBytes', options.laneBytes ?? 16_384, MIN_LANE_BYTES, MAX_LANE_BYTES);
  if (Math.log2(laneBytes) % 1 !== 0) throw new RangeError(`laneBytes is a power of two, not ${laneBytes}`);
  const mostInline = mostInlineBytes(laneBytes);
  const inlineBytes = assertWhole(
    'inlineBytes',
    options.inlineBytes ?? Math.min(256, mostInline),
    0,
    mostInline,
  );
  const mtType = options.mtType ?? 'spinlock';
  if (!MT_TYPES.includes(mtType))
    throw new RangeError(`mtType is one of ${MT_TYPES.join(', ')}, not ${mtType}`);
  const sizes = slotSizesOf(options, inlineBytes);
  const shape: Shape = {
    mtType,
    maxWorkers: assertWhole('maxWorkers', options.maxWorkers ?? 64, 1, 4096),
    maxLanes: assertWhole('maxLanes', options.maxLanes ?? 1024, 1, 65_536),
    laneBytes,
    inlineBytes,
    slotBytes: sizes.map(({ bytes }) => bytes),
  };
  const [small, ...large] = sizes;
  const pools = [smallPool(small!), ...large.map(largePool)];
  const bytes = pools.reduce((sum, pool) => sum + pool.reserved, 0);
  const maxThreads = Math.min(Math.max(2 * shape.maxWorkers, LEAST_THREADS), MAX_THREADS);
  const needed = Segment.byteLengthFor({ maxThreads, spaceBytes: contextByteLength(shape) });
  return {
    name: nameOf(options),
    shape,
    pools: pools.map(({ options }) => options),
    byteLength: options.byteLength ?? needed + SPARE_BYTES + bytes,
    maxThreads,
  };
}

/** What else a name may not be, the directory says. */
function nameOf({ name = 'transport' }: ContextOptions): string {
  const { length } = new TextEncoder().encode(String(name));
  if (length <= MAX_NAME_BYTES) return name;
  throw new RangeError(`The name of a context has at most ${MAX_NAME_BYTES} bytes in UTF-8, not ${length}`);
}

function smallPool({ bytes, count }: SlotSize) {
  const elemSize = elemSizeOf(bytes);
  const options = { elemSize, maxElems: count, maxChunkBytes: mostChunkBytes(elemSize) };
  return { options, reserved: Math.ceil(elemSize * count * POOL_FACTOR) };
}

/**
 * Made a few at a time as they are needed. A thread keeps some for itself, for which more are reserved, where there are
 * enough of them: getting one costs as little as one of the smallest size.
 */
function largePool({ bytes, count }: SlotSize) {
  const elemSize = elemSizeOf(bytes);
  const { threads, magazine } = LARGE_MAGAZINES;
  const exact = count < LEAST_TO_KEEP;
  const elemsPerChunk = exact ? 1 : Math.max(LEAST_TO_KEEP, Math.ceil(count / MOST_CHUNKS));
  const options = {
    elemSize,
    maxElems: count,
    elemsPerChunk,
    maxChunkBytes: mostChunkBytes(elemSize * elemsPerChunk),
    ...(exact ? { exact } : LARGE_MAGAZINES),
  };
  const kept = exact ? 0 : 2 * threads * magazine;
  return { options, reserved: (elemSize + CHUNK_SLACK_BYTES) * (count + kept) };
}

function elemSizeOf(dataBytes: number): number {
  return roundUp(dataBytes, UNIT_BYTES) + SLOT_SLACK_BYTES;
}

/** With room for what alignment takes. */
function mostChunkBytes(byteLength: number): number {
  return Math.max(128 * MIB, 2 * byteLength);
}

/** @throws TypeError, RangeError. */
function slotSizesOf(options: ContextOptions, inlineBytes: number): SlotSize[] {
  const own = options.segment === undefined && options.byteLength === undefined;
  const { largeSlots = own ? LARGE_SLOTS : [] } = options;
  const bytes = assertWhole('slotBytes', options.slotBytes ?? 65_536, 1, MAX_SLOT_BYTES);
  const sizes = [
    { bytes: Math.max(bytes, inlineBytes), count: assertWhole('slots', options.slots ?? 256, 1, 2 ** 20) },
  ];
  if (!Array.isArray(largeSlots)) throw new TypeError('largeSlots is a list of { bytes, count }');
  for (const size of largeSlots) {
    if (typeof size !== 'object' || size === null) throw new TypeError('A size is { bytes, count }');
    // Of the default sizes, those that slotBytes is as large as already are left out.
    const least = sizes.at(-1)!.bytes + 1;
    if (largeSlots === LARGE_SLOTS && size.bytes < least) continue;
    sizes.push({
      bytes: assertWhole('bytes of largeSlots', size.bytes, least, MAX_SLOT_BYTES),
      count: assertWhole('count of largeSlots', size.count, 1, 2 ** 20),
    });
  }
  if (sizes.length <= MAX_SLOT_SIZES) return sizes;
  throw new RangeError(`largeSlots has at most ${MAX_SLOT_SIZES - 1} sizes, not ${largeSlots.length}`);
}

/** Half of a lane has to hold a record with a header of so many bytes and a slot, or with so much data. */
function mostInlineBytes(laneBytes: number): number {
  const body = laneBytes / 2 - recordBytes(0) - SLOT_BODY_BYTES;
  return Math.min(MAX_HEADER_BYTES, Math.max(0, toUnits(body)));
}
