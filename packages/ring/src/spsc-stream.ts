import { type Alone, type Platform, registerKind, type Segment } from '@heddle/memory';
import { abandonSides, PlacedStructure, type RingHandle } from './placed-structure.js';
import { capacityFor } from './position.js';
import { closeSpsc, isClosedSpsc, recoverSpsc } from './spsc-close.js';
import { spscRingLayout, spscStreamLayout } from './spsc-ring.layout.js';
import { StreamReader } from './stream-reader.js';
import { StreamWriter } from './stream-writer.js';

const { capacity, producer, consumer } = spscStreamLayout.offsets;

export type SpscStreamHandle = RingHandle<'spsc-stream'>;

export interface SpscStreamOptions {
  readonly name: string;
  /** Bytes that fit, rounded up to a power of two from 16 to 2^27. Default 64 KiB. */
  readonly capacityBytes?: number | undefined;
}

const DEFAULT_CAPACITY_BYTES = 64 * 1024;
/** Positions count quarters of a byte, and their differences fit 30 bits. */
const MAX_CAPACITY_BYTES = 2 ** 27;

const SPSC_STREAM = { kind: 'spsc-stream', version: spscStreamLayout.version } as const;

/**
 * Bytes from one thread to one other, without borders between what was written: for samples of audio and lines of
 * logs.
 *
 * **Layout**: that of {@link SpscRing}, with bytes behind it. All of `capacityBytes` is usable, at any place.
 *
 * **Whole elements**: of a `Float32Array` and the like, whole elements are written and read, never half of one.
 *
 * **Death** of the writer: what was not published never came. Of the reader: what it had begun to read is gone;
 * `skippedBytes` of the next one counts it.
 *
 * **When not to use it**: where messages have borders, see {@link SpscRing}; more threads, see {@link MpscRing}.
 *
 * ```ts
 * const stream = SpscStream.create(segment, { name: 'audio', capacityBytes: 2 ** 16 });
 * stream.writer().tryWrite(samples); // a Float32Array
 * // in another thread
 * SpscStream.from(handle).reader().tryRead(block);
 * ```
 */
export class SpscStream {
  readonly #placed: PlacedStructure<'spsc-stream'>;
  readonly #platform: Platform;

  private constructor(placed: PlacedStructure<'spsc-stream'>) {
    this.#placed = placed;
    this.#platform = placed.segment.platform;
  }

  /**
   * @throws RangeError or TypeError for a bad capacity, HeddleError `ERR_HEDDLE_NAME_TAKEN` and what else creating
   *   a structure throws. Nothing is left behind.
   */
  static create(segment: Segment, options: SpscStreamOptions): SpscStream;
  /** Makes a stream in a segment of its own, for up to 64 threads. Ends with `Symbol.dispose`, or with the thread. */
  static create(options?: Alone<SpscStreamOptions>): SpscStream;
  static create(where: Segment | Alone<SpscStreamOptions> = {}, inSegment?: SpscStreamOptions): SpscStream {
    return new SpscStream(
      PlacedStructure.create(SPSC_STREAM, where, inSegment, (options) => {
        const capacityBytes = capacityOf(options);
        return {
          byteLength: spscRingLayout.byteLength + capacityBytes,
          init(words) {
            words[capacity] = capacityBytes;
          },
        };
      }),
    );
  }

  /** @throws HeddleError `ERR_HEDDLE_NAME_UNKNOWN`, `ERR_HEDDLE_KIND_MISMATCH`, `ERR_HEDDLE_VERSION`. */
  static open(segment: Segment, name: string): SpscStream {
    return new SpscStream(PlacedStructure.open(segment, SPSC_STREAM, name));
  }

  /** Attaches to the segment of a handle and opens its stream; disposing of the stream detaches again. */
  static from(handle: SpscStreamHandle): SpscStream {
    return new SpscStream(PlacedStructure.from(SPSC_STREAM, handle));
  }

  /** Bytes that a stream takes in a segment, its entry in the directory apart. */
  static byteLengthFor(options: Omit<SpscStreamOptions, 'name'>): number {
    return spscRingLayout.byteLength + capacityOf(options);
  }

  get name(): string {
    return this.#placed.name;
  }

  /** Where it is: `watch` threads there, so that their deaths are noticed. */
  get segment(): Segment {
    return this.#placed.segment;
  }

  get handle(): SpscStreamHandle {
    return this.#placed.handle;
  }

  get capacityBytes(): number {
    return this.#placed.words[capacity]!;
  }

  /** Takes the writing side for this thread. @throws HeddleError `ERR_HEDDLE_RING_ROLE` where a living one has it. */
  writer(): StreamWriter {
    const { words } = this.#placed;
    return this.#placed.take(
      producer,
      'producer',
      (onRelease) => new StreamWriter(words, this.#space(), this.#platform, onRelease),
    );
  }

  /** Takes the reading side for this thread. @throws HeddleError `ERR_HEDDLE_RING_ROLE` where a living one has it. */
  reader(): StreamReader {
    const { words } = this.#placed;
    return this.#placed.take(
      consumer,
      'consumer',
      (onRelease) => new StreamReader(words, this.#space(), this.#platform, onRelease),
    );
  }

  /**
   * Closes the stream, from any thread, and wakes both sides. What was written before is still read; then, and for
   * writers at once, every call fails with `ERR_HEDDLE_CLOSED`. Once closed a stream stays closed.
   */
  close(): void {
    closeSpsc(this.#placed.words, this.#platform.atomics);
  }

  /** Whether the stream is closed; there may be bytes left to read. 1 load. */
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

registerKind({
  layout: spscStreamLayout,
  module: import.meta.url,
  recover({ segment, info, dead }) {
    abandonSides({ segment, dead });
    recoverSpsc(segment.wordsAt(info.byteOffset, info.byteLength), dead.token, segment.platform.atomics);
  },
});

function capacityOf({ capacityBytes = DEFAULT_CAPACITY_BYTES }: Omit<SpscStreamOptions, 'name'>): number {
  const rounded = capacityFor(capacityBytes, 'The capacity of a stream');
  if (rounded <= MAX_CAPACITY_BYTES) return rounded;
  throw new RangeError(
    `The capacity of a stream is at most ${MAX_CAPACITY_BYTES} bytes, not ${capacityBytes}`,
  );
}
