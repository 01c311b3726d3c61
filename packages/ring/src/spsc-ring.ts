import { type Alone, type Platform, registerKind, type Segment } from '@heddle/memory';
import { abandonSides, PlacedStructure, type RingHandle } from './placed-structure.js';
import { capacityFor } from './position.js';
import { HEADER_BYTES, MAX_RECORD_BYTES } from './record.layout.js';
import { assertMaxRecordBytes } from './ring-errors.js';
import { closeSpsc, isClosedSpsc, recoverSpsc } from './spsc-close.js';
import { SpscConsumer } from './spsc-consumer.js';
import { SpscProducer, spscLongest } from './spsc-producer.js';
import { spscRingLayout } from './spsc-ring.layout.js';

const { capacity, producer, consumer } = spscRingLayout.offsets;

export type SpscRingHandle = RingHandle<'spsc-ring'>;

export interface SpscRingOptions {
  readonly name: string;
  /**
   * Bytes of space for records, rounded up to a power of two from 16 to 2^30. A record takes its length plus 8,
   * rounded up to a multiple of 8; up to 7 bytes more from 256 bytes on. Default 64 KiB.
   */
  readonly capacityBytes?: number | undefined;
  /** Makes the ring large enough for a record of so many bytes. The ring's own `maxRecordBytes` may be more. */
  readonly maxRecordBytes?: number | undefined;
}

/** Bytes of space unless told otherwise. */
const DEFAULT_CAPACITY_BYTES = 64 * 1024;

/**
 * A ring of records of variable size from one thread to one other, in order and without copies.
 *
 * **Layout**: `spsc-ring.layout.ts`; records: `record.layout.ts`; positions and their flags: `position.ts`.
 *
 * **Capacity** is exact: records whose footprints (8 bytes and the payload, in multiples of 8) come to
 * `capacityBytes` fit at once, but for what padding at the end of the ring takes. The longest record takes all
 * of it: `maxRecordBytes` is `capacityBytes - 8`.
 *
 * **Sides**: one thread writes, one reads; each takes its side first, and a second living thread is refused. Of a
 * dead one the side can be taken anew.
 *
 * **Death** of the writer: what was not committed never happened. Of the reader: what it had begun to read is not
 * read again, the rest is. Details with {@link SpscProducer} and {@link SpscConsumer}.
 *
 * **Without a name of its own**: {@link SpscProducer} and {@link SpscConsumer} work over words that another
 * structure laid out, with `initialise`, {@link closeSpsc} and {@link recoverSpsc}; that structure sees to it then
 * that a side has one holder.
 *
 * **When not to use it**: many writers, see {@link MpscRing}; bytes without borders, see {@link SpscStream};
 * large payloads that outlive their reading belong into a pool, with their descriptor in the ring.
 *
 * ```ts
 * const ring = SpscRing.create(segment, { name: 'log', capacityBytes: 2 ** 20 });
 * const producer = ring.producer();
 * producer.tryWrite(bytes);
 * // in another thread
 * const consumer = SpscRing.from(handle).consumer();
 * consumer.drain((record) => sum(record.bytes));
 * ```
 */
export class SpscRing {
  readonly #placed: PlacedStructure<'spsc-ring'>;
  readonly #platform: Platform;

  private constructor(placed: PlacedStructure<'spsc-ring'>) {
    this.#placed = placed;
    this.#platform = placed.segment.platform;
  }

  /**
   * @throws RangeError or TypeError for bad sizes, HeddleError `ERR_HEDDLE_NAME_TAKEN` and what else creating a
   *   structure throws. Nothing is left behind.
   */
  static create(segment: Segment, options: SpscRingOptions): SpscRing;
  /** Makes a ring in a segment of its own, for up to 64 threads. Ends with `Symbol.dispose`, or with the thread. */
  static create(options?: Alone<SpscRingOptions>): SpscRing;
  static create(where: Segment | Alone<SpscRingOptions> = {}, inSegment?: SpscRingOptions): SpscRing {
    return new SpscRing(
      PlacedStructure.create(SPSC_RING, where, inSegment, (options) => {
        const capacityBytes = capacityOf(options);
        return {
          byteLength: spscRingLayout.byteLength + capacityBytes,
          init: (words) => SpscRing.initialise(words, capacityBytes),
        };
      }),
    );
  }

  /** @throws HeddleError `ERR_HEDDLE_NAME_UNKNOWN`, `ERR_HEDDLE_KIND_MISMATCH`, `ERR_HEDDLE_VERSION`. */
  static open(segment: Segment, name: string): SpscRing {
    return new SpscRing(PlacedStructure.open(segment, SPSC_RING, name));
  }

  /** Attaches to the segment of a handle and opens its ring; disposing of the ring detaches again. */
  static from(handle: SpscRingHandle): SpscRing {
    return new SpscRing(PlacedStructure.from(SPSC_RING, handle));
  }

  /** Bytes that a ring takes in a segment, its entry in the directory apart. */
  static byteLengthFor(options: Omit<SpscRingOptions, 'name'>): number {
    return spscRingLayout.byteLength + capacityOf(options);
  }

  /** Writes the words of a new ring over zeroed memory. */
  static initialise(words: Int32Array, capacityBytes: number): void {
    words[capacity] = capacityBytes;
  }

  get name(): string {
    return this.#placed.name;
  }

  /** Where it is: `watch` threads there, so that their deaths are noticed. */
  get segment(): Segment {
    return this.#placed.segment;
  }

  get handle(): SpscRingHandle {
    return this.#placed.handle;
  }

  get capacityBytes(): number {
    return this.#placed.words[capacity]!;
  }

  /** Bytes of the longest record that fits. */
  get maxRecordBytes(): number {
    return spscLongest(this.capacityBytes);
  }

  /** Takes the writing side for this thread. @throws HeddleError `ERR_HEDDLE_RING_ROLE` where a living one has it. */
  producer(): SpscProducer {
    const { words } = this.#placed;
    return this.#placed.take(
      producer,
      'producer',
      (onRelease) => new SpscProducer(words, this.#space(), this.#platform, onRelease),
    );
  }

  /** Takes the reading side for this thread. @throws HeddleError `ERR_HEDDLE_RING_ROLE` where a living one has it. */
  consumer(): SpscConsumer {
    const { words } = this.#placed;
    return this.#placed.take(
      consumer,
      'consumer',
      (onRelease) => new SpscConsumer(words, this.#space(), this.#platform, onRelease),
    );
  }

  /**
   * Closes the ring, from any thread, and wakes both sides. What was written before is still read; then, and for
   * writers at once, every call fails with `ERR_HEDDLE_CLOSED`. Once closed a ring stays closed.
   */
  close(): void {
    closeSpsc(this.#placed.words, this.#platform.atomics);
  }

  /** Whether the ring is closed; there may be records left to read. 1 load. */
  get closed(): boolean {
    return isClosedSpsc(this.#placed.words, this.#platform.atomics);
  }

  /** Gives back the sides that were taken through this object, and detaches where `from` attached. */
  [Symbol.dispose](): void {
    this.#placed.leave();
  }

  /** The space, as bytes. */
  #space(): Uint8Array<SharedArrayBuffer> {
    return this.#placed.bytesBehind(spscRingLayout.wordCount);
  }
}

const SPSC_RING = { kind: 'spsc-ring', version: spscRingLayout.version } as const;

registerKind({
  layout: spscRingLayout,
  module: import.meta.url,
  recover({ segment, info, dead }) {
    abandonSides({ segment, dead });
    recoverSpsc(segment.wordsAt(info.byteOffset, info.byteLength), dead.token, segment.platform.atomics);
  },
});

function capacityOf({ capacityBytes, maxRecordBytes }: Omit<SpscRingOptions, 'name'>): number {
  if (maxRecordBytes === undefined) return capacityFor(capacityBytes ?? DEFAULT_CAPACITY_BYTES);
  assertMaxRecordBytes(maxRecordBytes, MAX_RECORD_BYTES);
  const least = capacityFor(maxRecordBytes + HEADER_BYTES);
  return capacityBytes === undefined
    ? Math.max(DEFAULT_CAPACITY_BYTES, least)
    : Math.max(capacityFor(capacityBytes), least);
}
