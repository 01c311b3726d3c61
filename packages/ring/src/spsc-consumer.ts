import { type Platform, realPlatform, type Step } from '@heddle/memory';
import { positionsOf, UNIT } from './position.js';
import { ReadEnd } from './read-end.js';
import { lengthOf, PADDING, skewOf, unitsOf } from './record.layout.js';
import { RecordConsumer } from './record-consumer.js';
import { RecordCursor } from './ring-record.js';
import { spscRingLayout } from './spsc-ring.layout.js';

/**
 * The reading side of an {@link SpscRing}: one thread at a time.
 *
 * **Death**: a record whose reading had begun is not read again; `skippedRecords` of the next consumer counts them.
 *
 * **Cost**, in Atomics calls: `tryRead` 1 exchange, which gives back the record before, and 1 load each time the
 * records known before are used up. `drain` 1 exchange and at most 1 load, however many records. 1 notify more
 * where the writer sleeps. Nothing there: 1 load.
 */
export class SpscConsumer extends RecordConsumer {
  /** Records that the last consumer had begun to read when it died; they are not read again. */
  readonly skippedRecords: number;
  readonly #end: ReadEnd;
  readonly #memoryWords: Int32Array;
  readonly #mask: number;
  readonly #onRelease: () => void;
  readonly #cursor: RecordCursor;

  /**
   * @param words the whole structure, and
   * @param memory its space as bytes.
   * @param onRelease gives the side back.
   */
  constructor(
    words: Int32Array,
    memory: Uint8Array<SharedArrayBuffer>,
    platform: Platform = realPlatform,
    onRelease: () => void = () => {},
  ) {
    super(words, platform);
    this.#end = new ReadEnd(words, platform);
    this.#memoryWords = words.subarray(spscRingLayout.wordCount);
    this.#mask = positionsOf(memory.byteLength) - 1;
    this.#onRelease = onRelease;
    this.#cursor = new RecordCursor(this.#memoryWords, memory);
    this.skippedRecords = this.#skipBegun();
  }

  protected override ready(): boolean {
    if (!this.#end.hasMore()) return false;
    if (!this.#skipPadding()) return true;
    this.#end.release();
    return this.#end.hasMore();
  }

  protected override readyKnown(): boolean {
    return this.#end.available > 0 && !(this.#skipPadding() && this.#end.available === 0);
  }

  protected override next(): RecordCursor {
    const at = (this.#end.position & this.#mask) >> 1;
    const length = this.#memoryWords[at]!;
    this.#cursor.moveTo(at, lengthOf(length), skewOf(length), this.#memoryWords[at + 1]!);
    const next = this.#behind(length);
    this.#end.begin(next);
    this.#end.position = next;
    return this.#cursor;
  }

  protected override giveBack(): void {
    this.#end.release();
  }

  protected override lookBeforeSleep(): Step<boolean> | undefined {
    return this.#end.lookBeforeSleep();
  }

  protected override leave(): void {
    this.#onRelease();
  }

  /** The position behind the record at hand, whose first word this is. */
  #behind(length: number): number {
    return (this.#end.position + unitsOf(lengthOf(length), skewOf(length)) * UNIT) | 0;
  }

  #skipPadding(): boolean {
    const { position } = this.#end;
    const inRing = position & this.#mask;
    if (this.#memoryWords[inRing >> 1] !== PADDING) return false;
    this.#end.position = (position - inRing + this.#mask + 1) | 0;
    return true;
  }

  /** Gets past what a dead consumer had begun to read. */
  #skipBegun(): number {
    let count = 0;
    // Each round takes a record or padding off what is left. `begun` stays, in case this thread dies here.
    while (this.#end.begunByOthers > 0) {
      if (this.#skipPadding()) continue;
      this.#end.position = this.#behind(this.#memoryWords[(this.#end.position & this.#mask) >> 1]!);
      count++;
    }
    this.#end.release();
    return count;
  }
}
