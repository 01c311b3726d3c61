import { LANE_SLOTS, LANE_WORDS, laneLayout } from './lane.layout.js';

/**
 * What carries descriptors between threads in every comparison, the same for every pool: cached positions,
 * publication in batches, and polling. `native/lane.h` is its twin.
 */

const { head, tail } = laneLayout.offsets;
const SLOTS = laneLayout.wordCount;
const MASK = LANE_SLOTS - 1;

export const EMPTY = -1;

/** Memory for so many lanes. */
export function createLanes(count: number): SharedArrayBuffer {
  return new SharedArrayBuffer(count * LANE_WORDS * Int32Array.BYTES_PER_ELEMENT);
}

function laneAt(buffer: SharedArrayBuffer, number: number): Int32Array {
  return new Int32Array(buffer, number * LANE_WORDS * Int32Array.BYTES_PER_ELEMENT, LANE_WORDS);
}

export class LaneSender {
  readonly #words: Int32Array;
  readonly #batch: number;
  #tail: number;
  #published: number;
  #knownHead: number;

  /** @param batch after so many sends they are published. */
  constructor(buffer: SharedArrayBuffer, number: number, batch: number) {
    this.#words = laneAt(buffer, number);
    this.#batch = batch;
    this.#tail = this.#published = Atomics.load(this.#words, tail);
    this.#knownHead = Atomics.load(this.#words, head);
  }

  /** False where the lane is full; what was sent is published then. */
  send(descriptor: number): boolean {
    if (((this.#tail - this.#knownHead) | 0) === LANE_SLOTS && this.#isFull()) return false;
    this.#words[SLOTS + (this.#tail & MASK)] = descriptor;
    this.#tail = (this.#tail + 1) | 0;
    if (((this.#tail - this.#published) | 0) >= this.#batch) this.publish();
    return true;
  }

  #isFull(): boolean {
    this.publish();
    this.#knownHead = Atomics.load(this.#words, head);
    return ((this.#tail - this.#knownHead) | 0) === LANE_SLOTS;
  }

  publish(): void {
    if (this.#published === this.#tail) return;
    this.#published = this.#tail;
    Atomics.store(this.#words, tail, this.#tail);
  }

  /** Returns when the receiver has taken something since this was last asked, or everything. */
  awaitProgress(): void {
    this.publish();
    const known = this.#knownHead;
    do this.#knownHead = Atomics.load(this.#words, head);
    while (this.#knownHead === known && known !== this.#published);
  }
}

export class LaneReceiver {
  readonly #words: Int32Array;
  readonly #batch: number;
  #head: number;
  #acknowledged: number;
  #knownTail: number;

  /** @param batch after so many receives they are acknowledged. */
  constructor(buffer: SharedArrayBuffer, number: number, batch: number) {
    this.#words = laneAt(buffer, number);
    this.#batch = batch;
    this.#head = this.#acknowledged = this.#knownTail = Atomics.load(this.#words, head);
  }

  /** {@link EMPTY} where the lane is empty; what was taken is acknowledged then. */
  receive(): number {
    if (this.#head === this.#knownTail && this.#isEmpty()) return EMPTY;
    const descriptor = this.#words[SLOTS + (this.#head & MASK)]!;
    this.#head = (this.#head + 1) | 0;
    if (((this.#head - this.#acknowledged) | 0) >= this.#batch) this.#acknowledge();
    return descriptor;
  }

  #isEmpty(): boolean {
    this.#acknowledge();
    this.#knownTail = Atomics.load(this.#words, tail);
    return this.#head === this.#knownTail;
  }

  #acknowledge(): void {
    if (this.#acknowledged === this.#head) return;
    this.#acknowledged = this.#head;
    Atomics.store(this.#words, head, this.#head);
  }
}
