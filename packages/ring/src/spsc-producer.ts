import { type Platform, realPlatform, type Step } from '@heddle/memory';
import { positionsOf, UNIT } from './position.js';
import { HEADER_BYTES, MAX_RECORD_BYTES, PADDING, packLength, unitsOf } from './record.layout.js';
import { RecordProducer } from './record-producer.js';
import { spscRingLayout } from './spsc-ring.layout.js';
import { WriteEnd } from './write-end.js';

/** Bytes of the longest record: it takes the whole ring. */
export function spscLongest(capacityBytes: number): number {
  return Math.min(capacityBytes - HEADER_BYTES, MAX_RECORD_BYTES);
}

/**
 * The writing side of an {@link SpscRing}: one thread at a time, of which one call at a time.
 *
 * **Records** lie in one piece. One that does not fit in front of the end of the ring starts at its start, behind
 * padding. Where padding and record together are more than the ring, the padding is published alone first.
 *
 * **Ownership**: everything from the published tail up to what the reader gave back is this side's to write.
 *
 * **Death**: a record becomes visible by one CAS of the tail. Before it, nothing happened; after it, the record
 * is there and only the wake may be missing, which recovery gives.
 *
 * **Close**: what is published after it fails with `ERR_HEDDLE_CLOSED`, the commit of an open claim included.
 *
 * **Cost**, in Atomics calls: a write is 1 CAS; 1 load more each time the room known before is used up, and 1 CAS
 * and 1 notify more where the reader sleeps. Corked, 0. An abort 0. Refused for lack of room: 2 loads.
 */
export class SpscProducer extends RecordProducer {
  readonly #end: WriteEnd;
  readonly #mask: number;
  readonly #onRelease: () => void;
  #corked = false;
  /** Position of the room that was claimed last. */
  #claim = 0;
  /** Positions that the last refused record would have needed. */
  #lacking = 0;

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
    const longest = Math.min(memory.byteLength - HEADER_BYTES, MAX_RECORD_BYTES);
    super(
      words,
      words.subarray(spscRingLayout.wordCount),
      memory,
      longest,
      spscRingLayout.offsets.head,
      platform,
    );
    this.#end = new WriteEnd(words, positionsOf(memory.byteLength), platform);
    this.#mask = this.#end.capacity - 1;
    this.#onRelease = onRelease;
  }

  /**
   * Holds back what is written from now on, so that many records are published by one Atomics call: at
   * {@link uncork}, at `release`, or when the ring is full.
   */
  cork(): void {
    this.#corked = true;
  }

  /** Publishes what was held back, and everything from now on at once. @throws HeddleError `ERR_HEDDLE_CLOSED`. */
  uncork(): void {
    this.#corked = false;
    this.#end.publish();
  }

  override get closed(): boolean {
    return this.#end.closed;
  }

  protected override lookBeforeSleep(): Step<boolean> | undefined {
    return this.#end.lookBeforeSleep(this.#lacking);
  }

  protected override reserve(byteLength: number, skew: number): number {
    const { position } = this.#end;
    const needed = unitsOf(byteLength, skew) * UNIT;
    const inRing = position & this.#mask;
    const toEnd = this.#end.capacity - inRing;
    if (needed > toEnd) return this.#reserveAtStart(needed, toEnd);
    if (!this.#end.hasRoom(needed)) return this.#full(needed);
    this.#claim = position;
    // Two positions a word.
    return inRing >> 1;
  }

  protected override publish(at: number, byteLength: number, skew: number, tag: number): void {
    this.memoryWords[at] = packLength(byteLength, skew);
    this.memoryWords[at + 1] = tag;
    this.#end.position = (this.#claim + unitsOf(byteLength, skew) * UNIT) | 0;
    if (!this.#corked) this.#end.publish();
  }

  protected override drop(): void {}

  protected override leave(): void {
    this.#end.tryPublish();
    this.#onRelease();
  }

  /** The record does not fit in front of the end: pads, and goes on at the start. */
  #reserveAtStart(needed: number, toEnd: number): number {
    const { position, capacity } = this.#end;
    const together = toEnd + needed <= capacity;
    const first = together ? toEnd + needed : toEnd;
    if (!this.#end.hasRoom(first)) return this.#full(first);
    this.memoryWords[(position & this.#mask) >> 1] = PADDING;
    this.#claim = (position + toEnd) | 0;
    if (together) return 0;
    this.#end.position = this.#claim;
    this.#end.publish();
    return this.#end.hasRoom(needed) ? 0 : this.#full(needed);
  }

  /** What is held back goes out, or the reader could never make room. */
  #full(lacking: number): -1 {
    this.#lacking = lacking;
    this.#end.publish();
    this.#end.assertOpen();
    return -1;
  }
}
