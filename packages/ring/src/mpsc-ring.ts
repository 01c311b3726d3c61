import { type Alone, HeddleError, type Platform, registerKind, type Segment } from '@heddle/memory';
import { closeMpsc } from './mpsc-close.js';
import { MpscConsumer } from './mpsc-consumer.js';
import { MpscProducer, mpscLongest } from './mpsc-producer.js';
import { MPSC_MAX_RECORD_BYTES } from './mpsc-record.layout.js';
import { recoverMpsc } from './mpsc-recovery.js';
import {
  LOCK_CLOSED,
  MAX_PRODUCERS,
  mpscByteLength,
  mpscRingLayout,
  mpscSlotLayout,
  slotAt,
  spaceAt,
} from './mpsc-ring.layout.js';
import { abandonSides, PlacedStructure, type RingHandle } from './placed-structure.js';
import { capacityFor } from './position.js';
import { HEADER_BYTES } from './record.layout.js';
import { assertMaxRecordBytes } from './ring-errors.js';

const { capacity, maxProducers, lock, consumer } = mpscRingLayout.offsets;
const { holder } = mpscSlotLayout.offsets;

export type MpscRingHandle = RingHandle<'mpsc-ring'>;

export interface MpscRingOptions {
  readonly name: string;
  /**
   * Bytes of space for records, rounded up to a power of two from 32 to 2^30. A record takes its length plus 8,
   * rounded up to a multiple of 8; up to 7 bytes more from 256 bytes on. Default 64 KiB.
   */
  readonly capacityBytes?: number | undefined;
  /** Makes the ring large enough for a record of so many bytes. The ring's own `maxRecordBytes` may be more. */
  readonly maxRecordBytes?: number | undefined;
  /** How many threads can write at the same time, 1 to 512. Each takes a line of 128 bytes. Default 64. */
  readonly maxProducers?: number | undefined;
}

const DEFAULT_CAPACITY_BYTES = 64 * 1024;
const DEFAULT_MAX_PRODUCERS = 64;
const MIN_CAPACITY_BYTES = 32;

const MPSC_RING = { kind: 'mpsc-ring', version: mpscRingLayout.version } as const;

/**
 * A ring of records of variable size from many threads to one.
 *
 * **Layout**: `mpsc-ring.layout.ts`; records: `mpsc-record.layout.ts`; positions: `position.ts`.
 *
 * **Claims record their claimant**, in the slot of its producer. Recovery of a dead
 * producer marks exactly the claim that it left, and the consumer goes past it; a claim of a living thread, however
 * slow, is waited for. See `mpsc-recovery.ts` for what a death leaves at each step.
 *
 * **Capacity** is exact: records whose footprints (8 bytes and the payload, in multiples of 8) come to
 * `capacityBytes` fit at once, but for what padding at the end of the ring takes. The longest record takes half of
 * it, 8 bytes of header included.
 *
 * **Progress**: a producer that is stopped by the system while it holds the lock, some ten instructions, holds up
 * the other producers for that time; they look 64 times and then sleep. One that is stopped while it writes a
 * record holds up the reader, not the writers.
 *
 * **When not to use it**: where each writer may have a ring of its own, rings of one writer share nothing, and one
 * writer cannot fill another's: see {@link SpscRing}.
 *
 * ```ts
 * const ring = MpscRing.create(segment, { name: 'requests' });
 * // in each of the writers
 * const producer = MpscRing.from(handle).producer();
 * producer.tryWriteWords(GET, descriptor);
 * ```
 */
export class MpscRing {
  readonly #placed: PlacedStructure<'mpsc-ring'>;
  readonly #platform: Platform;

  private constructor(placed: PlacedStructure<'mpsc-ring'>) {
    this.#placed = placed;
    this.#platform = placed.segment.platform;
  }

  /**
   * @throws RangeError or TypeError for bad sizes, HeddleError `ERR_HEDDLE_NAME_TAKEN` and what else creating a
   *   structure throws. Nothing is left behind.
   */
  static create(segment: Segment, options: MpscRingOptions): MpscRing;
  /** Makes a ring in a segment of its own, for up to 64 threads. Ends with `Symbol.dispose`, or with the thread. */
  static create(options?: Alone<MpscRingOptions>): MpscRing;
  static create(where: Segment | Alone<MpscRingOptions> = {}, inSegment?: MpscRingOptions): MpscRing {
    return new MpscRing(
      PlacedStructure.create(MPSC_RING, where, inSegment, (options) => {
        const sizes = sizesOf(options);
        return {
          byteLength: mpscByteLength(sizes.maxProducers, sizes.capacityBytes),
          init: (words) => MpscRing.initialise(words, sizes),
        };
      }),
    );
  }

  /** @throws HeddleError `ERR_HEDDLE_NAME_UNKNOWN`, `ERR_HEDDLE_KIND_MISMATCH`, `ERR_HEDDLE_VERSION`. */
  static open(segment: Segment, name: string): MpscRing {
    return new MpscRing(PlacedStructure.open(segment, MPSC_RING, name));
  }

  /** Attaches to the segment of a handle and opens its ring; disposing of the ring detaches again. */
  static from(handle: MpscRingHandle): MpscRing {
    return new MpscRing(PlacedStructure.from(MPSC_RING, handle));
  }

  /** Bytes that a ring takes in a segment, its entry in the directory apart. */
  static byteLengthFor(options: Omit<MpscRingOptions, 'name'>): number {
    const sizes = sizesOf(options);
    return mpscByteLength(sizes.maxProducers, sizes.capacityBytes);
  }

  /** Writes the words of a new ring over zeroed memory. */
  static initialise(
    words: Int32Array,
    sizes: { readonly capacityBytes: number; readonly maxProducers: number },
  ): void {
    words[capacity] = sizes.capacityBytes;
    words[maxProducers] = sizes.maxProducers;
  }

  get name(): string {
    return this.#placed.name;
  }

  /** Where it is: `watch` threads there, so that their deaths are noticed. */
  get segment(): Segment {
    return this.#placed.segment;
  }

  get handle(): MpscRingHandle {
    return this.#placed.handle;
  }

  get capacityBytes(): number {
    return this.#placed.words[capacity]!;
  }

  /** Bytes of the longest record that fits. */
  get maxRecordBytes(): number {
    return mpscLongest(this.capacityBytes);
  }

  /** How many threads can write at the same time. */
  get maxProducers(): number {
    return this.#placed.words[maxProducers]!;
  }

  /**
   * Takes a writing side for this thread.
   *
   * @throws HeddleError `ERR_HEDDLE_RING_ROLE` where `maxProducers` living ones have one each.
   */
  producer(): MpscProducer {
    const { segment, words } = this.#placed;
    segment.assertAttached();
    let slot = this.#claimSlot();
    if (slot < 0) {
      // Dead ones may still hold slots.
      segment.recover();
      slot = this.#claimSlot();
    }
    if (slot < 0) {
      const most = this.maxProducers;
      throw new HeddleError(
        'ERR_HEDDLE_RING_ROLE',
        `All ${most} producers of the ring are taken: release one, or create the ring with a larger maxProducers`,
        { side: 'producer', maxProducers: most },
      );
    }
    const place = { slot, token: segment.thread.token, spaceAt: spaceAt(this.maxProducers) };
    return this.#placed.hold(
      slotAt(slot) + holder,
      (onRelease) => new MpscProducer(words, this.#space(), place, this.#platform, onRelease),
    );
  }

  /** Takes the reading side for this thread. @throws HeddleError `ERR_HEDDLE_RING_ROLE` where a living one has it. */
  consumer(): MpscConsumer {
    const start = spaceAt(this.maxProducers);
    return this.#placed.take(
      consumer,
      'consumer',
      (onRelease) => new MpscConsumer(this.#placed.words, this.#space(), start, this.#platform, onRelease),
    );
  }

  /**
   * Closes the ring, from any thread, and wakes all sides. What was claimed before is still committed and read;
   * then, and for other writes at once, every call fails with `ERR_HEDDLE_CLOSED`. Once closed a ring stays closed.
   */
  close(): void {
    closeMpsc(this.#placed.words, this.#platform.atomics);
  }

  /** Whether the ring is closed; there may be records left to read. 1 load. */
  get closed(): boolean {
    return (this.#platform.atomics.load(this.#placed.words, lock) & LOCK_CLOSED) !== 0;
  }

  /** Gives back the sides that were taken through this object, and detaches where `from` attached. */
  [Symbol.dispose](): void {
    this.#placed.leave();
  }

  #claimSlot(): number {
    const { segment, words } = this.#placed;
    for (let slot = 0; slot < this.maxProducers; slot++) {
      const at = slotAt(slot) + holder;
      if (this.#platform.atomics.compareExchange(words, at, 0, segment.thread.token) === 0) return slot;
    }
    return -1;
  }

  #space(): Uint8Array<SharedArrayBuffer> {
    return this.#placed.bytesBehind(spaceAt(this.maxProducers));
  }
}

registerKind({
  layout: mpscRingLayout,
  module: import.meta.url,
  recover({ segment, info, dead }) {
    abandonSides({ segment, dead });
    recoverMpsc(segment.wordsAt(info.byteOffset, info.byteLength), dead.token, segment.platform.atomics);
  },
});

function sizesOf(options: Omit<MpscRingOptions, 'name'>): { capacityBytes: number; maxProducers: number } {
  const { maxProducers: producers = DEFAULT_MAX_PRODUCERS, maxRecordBytes } = options;
  if (!Number.isInteger(producers) || producers < 1 || producers > MAX_PRODUCERS) {
    throw new RangeError(`A ring has 1 to ${MAX_PRODUCERS} producers, not ${producers}`);
  }
  if (maxRecordBytes !== undefined) assertMaxRecordBytes(maxRecordBytes, MPSC_MAX_RECORD_BYTES);
  const least =
    maxRecordBytes === undefined
      ? MIN_CAPACITY_BYTES
      : capacityFor(2 * (Math.ceil(maxRecordBytes / HEADER_BYTES) * HEADER_BYTES + HEADER_BYTES));
  const asked = capacityFor(options.capacityBytes ?? DEFAULT_CAPACITY_BYTES);
  return { capacityBytes: Math.max(asked, least, MIN_CAPACITY_BYTES), maxProducers: producers };
}
