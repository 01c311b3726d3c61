import { type Platform, realPlatform, type Step } from '@heddle/memory';
import { ClaimLock } from './claim-lock.js';
import { wakeForEnd } from './mpsc-close.js';
import { hasSleeper, MPSC_MAX_RECORD_BYTES, packHeader, packSkipped, STATE } from './mpsc-record.layout.js';
import { CLAIM_OPEN, mpscRingLayout, mpscSlotLayout, slotAt } from './mpsc-ring.layout.js';
import { FLAGS, positionsOf, SLEEPING, UNIT } from './position.js';
import { HEADER_BYTES, unitsOf } from './record.layout.js';
import { RecordProducer } from './record-producer.js';
import { closedError } from './ring-errors.js';

const { next, headSeen, tail, head } = mpscRingLayout.offsets;

/** Where a producer stands in its ring. */
export interface ProducerPlace {
  /** Index of its slot. */
  readonly slot: number;
  /** Of its thread. */
  readonly token: number;
  /** Word at which the space begins. */
  readonly spaceAt: number;
  /** How often to look at a taken lock. */
  readonly looks?: number;
}

/**
 * Bytes of the longest record: with the padding in front of it, it fits an empty ring wherever that stands.
 */
export function mpscLongest(capacityBytes: number): number {
  return Math.min(capacityBytes / 2 - HEADER_BYTES, MPSC_MAX_RECORD_BYTES);
}

/** Why the last attempt failed. */
const TAKEN = 0;
const FULL = 1;

/**
 * One of the writing sides of an {@link MpscRing}: one per thread.
 *
 * **Claim**: under the lock, which is held for a few instructions: the header says claimed, the producer's slot
 * says where, then one exchange of the tail makes it so. **Commit**: one exchange of the header.
 *
 * **Order**: records are read in the order of their claims; a slow writer holds up who claimed after it, and only
 * a death makes the reader go past.
 *
 * **Ordering**: M1: header and slot, before the exchange of `tail` ↔ the load of `tail` before the load of the
 * header. M2: payload and tag, before the exchange of the header ↔ the load of the header before plain reads.
 * M3: the reader's plain reads, before the exchange of `head` ↔ the load of `head` under the lock before the space
 * is written over, and, through the lock, every later claim.
 *
 * **Death**: before the exchange of the tail nothing happened, and recovery frees the lock; after it the slot says
 * which claim is to be gone past.
 *
 * **Close**: a claim made before it may still be committed, and is read; no later one is made.
 *
 * **Cost**, in Atomics calls: a write is 4: CAS and `and` of the lock, exchange of the tail, exchange of the
 * header; 1 load more each time the room known before is used up, 1 notify more where the reader sleeps. An abort
 * costs what a commit does. Refused for lack of room: 3. Where the lock is taken it looks up to 64 times, and is then
 * refused as for lack of room.
 */
export class MpscProducer extends RecordProducer {
  readonly #words: Int32Array;
  readonly #atomics: Platform['atomics'];
  readonly #lock: ClaimLock;
  readonly #slot: number;
  readonly #capacity: number;
  readonly #spaceAt: number;
  readonly #onRelease: () => void;
  /** Positions of the open claim. */
  #claimed = 0;
  /** Whether the reader slept on the tail when the claim was made. */
  #wakesTail = false;
  #refusal = FULL;
  /** `head` at the last refusal for lack of room. */
  #headAtRefusal = 0;

  /**
   * @param words the whole structure, of which
   * @param memory is the space as bytes.
   * @param place where the space begins, the slot that this thread holds, and the token of the thread.
   * @param onRelease gives the slot back.
   */
  constructor(
    words: Int32Array,
    memory: Uint8Array<SharedArrayBuffer>,
    place: ProducerPlace,
    platform: Platform = realPlatform,
    onRelease: () => void = () => {},
  ) {
    const { slot, token, spaceAt, looks } = place;
    super(words, words.subarray(spaceAt), memory, mpscLongest(memory.byteLength), head, platform);
    this.#words = words;
    this.#atomics = platform.atomics;
    this.#lock = new ClaimLock(words, token, platform, looks);
    this.#slot = slotAt(slot) + mpscSlotLayout.offsets.claim;
    this.#capacity = positionsOf(memory.byteLength);
    this.#spaceAt = spaceAt;
    this.#onRelease = onRelease;
  }

  override get closed(): boolean {
    return this.#lock.closed;
  }

  protected override lookBeforeSleep(): Step<boolean> | undefined {
    if (this.#refusal === TAKEN) return this.#lock.lookBeforeSleep();
    let word = this.#atomics.load(this.#words, head);
    // Each round but the last is one in which the reader moved on.
    while ((word & ~FLAGS) === this.#headAtRefusal) {
      const seen =
        word & SLEEPING ? word : this.#atomics.compareExchange(this.#words, head, word, word | SLEEPING);
      if (seen === word) {
        if (this.#lock.closed) throw closedError('The ring');
        return { done: false, index: head, expected: word | SLEEPING };
      }
      word = seen;
    }
    return undefined;
  }

  protected override reserve(byteLength: number, skew: number): number {
    if (!this.#lock.tryAcquire()) {
      this.#refusal = TAKEN;
      return -1;
    }
    const words = this.#words;
    const position = words[next]!;
    const needed = unitsOf(byteLength, skew) * UNIT;
    const inRing = position & (this.#capacity - 1);
    const toEnd = this.#capacity - inRing;
    const padding = needed > toEnd ? toEnd : 0;
    if (!this.#hasRoom(position, padding + needed)) {
      this.#release();
      this.#refusal = FULL;
      return -1;
    }
    if (padding > 0) this.memoryWords[inRing >> 1] = packHeader(STATE.padding, 0, 0);
    const claim = (position + padding) | 0;
    const at = padding > 0 ? 0 : inRing >> 1;
    this.memoryWords[at] = packHeader(STATE.claimed, byteLength, skew);
    words[this.#slot] = claim | CLAIM_OPEN;
    const end = (claim + needed) | 0;
    this.#wakesTail = (this.#atomics.exchange(words, tail, end) & SLEEPING) !== 0;
    words[next] = end;
    this.#claimed = needed;
    this.#release();
    return at;
  }

  protected override publish(at: number, byteLength: number, skew: number, tag: number): void {
    const positions = unitsOf(byteLength, skew) * UNIT;
    // What became shorter leaves a record that is none behind it.
    if (positions !== this.#claimed) {
      this.memoryWords[at + (positions >> 1)] = packSkipped(this.#claimed - positions);
    }
    this.memoryWords[at + 1] = tag;
    this.#finish(at, packHeader(STATE.committed, byteLength, skew));
  }

  protected override drop(at: number): void {
    this.#finish(at, packSkipped(this.#claimed));
  }

  protected override leave(): void {
    this.#onRelease();
  }

  #finish(at: number, header: number): void {
    const word = this.#spaceAt + at;
    const before = this.#atomics.exchange(this.#words, word, header);
    // At once, so that the slot speaks of no claim that is long past.
    this.#words[this.#slot] = 0;
    if (hasSleeper(before)) this.#atomics.notify(this.#words, word);
    if (this.#wakesTail) this.#atomics.notify(this.#words, tail);
  }

  /** Under the lock. */
  #hasRoom(position: number, needed: number): boolean {
    const words = this.#words;
    if (((words[headSeen]! + this.#capacity - position - needed) | 0) >= 0) return true;
    this.#headAtRefusal = this.#atomics.load(words, head) & ~FLAGS;
    words[headSeen] = this.#headAtRefusal;
    return ((this.#headAtRefusal + this.#capacity - position - needed) | 0) >= 0;
  }

  #release(): void {
    if (this.#lock.release()) wakeForEnd(this.#words, this.#atomics);
  }
}
