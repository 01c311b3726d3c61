import { roundUp, Segment } from '@heddle/memory';
import { SLOT_SLACK_BYTES } from './endpoint.js';
import { MAX_LANE_BYTES, MIN_LANE_BYTES, UNIT_BYTES } from './lane.layout.js';
import { MT_TYPES, type MtType } from './mt-type.js';
import { MAX_HEADER_BYTES, recordBytes, SLOT_BODY_BYTES, toUnits } from './record.js';
import { contextByteLength, type Shape } from './transport.layout.js';
import { assertWhole } from './transport-errors.js';

export interface ContextOptions {
  /** Names the context in its segment. Default `'transport'`. */
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
  /** Workers that can receive at the same time, 1 to 4096. Default 64. */
  readonly maxWorkers?: number | undefined;
  /** Lanes in use at the same time: one for each worker that sends to each worker. 1 to 65,536, default 1024. */
  readonly maxLanes?: number | undefined;
  /** Bytes of a lane: a power of two from 64 to 16 MiB. Default 16 KiB. */
  readonly laneBytes?: number | undefined;
  /** Up to how many bytes header and data travel in the lane, not in a slot. Default 256, at most half of a lane. */
  readonly inlineBytes?: number | undefined;
  /** Bytes of the longest data of a message, rounded up to a multiple of 8. Default 64 KiB. */
  readonly slotBytes?: number | undefined;
  /**
   * Which lock guards what the threads of the context share: its tables, and what runs in `context.locked`. Default
   * `'spinlock'`. `'worker-async'` borrows that of the only worker of thread mode `multi`; `'none'` is for a context of
   * one thread.
   */
  readonly mtType?: MtType | undefined;
  /** Messages in slots that are on their way or kept, at the same time, in the whole context. Default 256. */
  readonly slots?: number | undefined;
}

/** Options that were checked and completed. */
export interface ContextPlan {
  readonly name: string;
  readonly shape: Shape;
  readonly elemSize: number;
  readonly slots: number;
  /** Of a segment of its own. */
  readonly byteLength: number;
}

const SPARE_BYTES = 16 * 1024 * 1024;
/** Room for the pool's own words and for what its magazines reserve. */
const POOL_FACTOR = 1.5;
const MAX_SLOT_BYTES = 2 ** 30;

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
  const shape: Shape = {
    mtType,
    maxWorkers: assertWhole('maxWorkers', options.maxWorkers ?? 64, 1, 4096),
    maxLanes: assertWhole('maxLanes', options.maxLanes ?? 1024, 1, 65_536),
    laneBytes,
    inlineBytes,
  };
  const slotBytes = assertWhole('slotBytes', options.slotBytes ?? 65_536, 1, MAX_SLOT_BYTES);
  const elemSize = roundUp(slotBytes, UNIT_BYTES) + SLOT_SLACK_BYTES;
  const slots = assertWhole('slots', options.slots ?? 256, 1, 2 ** 20);
  const needed = Segment.byteLengthFor({ spaceBytes: contextByteLength(shape) }) + SPARE_BYTES;
  return {
    name: options.name ?? 'transport',
    shape,
    elemSize,
    slots,
    byteLength: options.byteLength ?? needed + Math.ceil(elemSize * slots * POOL_FACTOR),
  };
}

/** Half of a lane has to hold a record with a header of so many bytes and a slot, or with so much data. */
function mostInlineBytes(laneBytes: number): number {
  const body = laneBytes / 2 - recordBytes(0) - SLOT_BODY_BYTES;
  return Math.min(MAX_HEADER_BYTES, Math.max(0, toUnits(body)));
}
