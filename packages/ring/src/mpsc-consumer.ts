import { type Platform, realPlatform, type Step } from '@heddle/memory';
import {
  hasSleeper,
  headerLength,
  headerPositions,
  headerSkew,
  STATE,
  stateOf,
  withSleeper,
} from './mpsc-record.layout.js';
import {
  CLAIM_OPEN,
  LOCK_CLOSED,
  LOCK_TOKEN,
  mpscRingLayout,
  mpscSlotLayout,
  slotAt,
} from './mpsc-ring.layout.js';
import { FLAGS, positionsOf, SLEEPING, UNIT, UNIT_BYTES } from './position.js';
import { RecordConsumer } from './record-consumer.js';
import { closedError } from './ring-errors.js';
import { RecordCursor } from './ring-record.js';

const { maxProducers, lock, tail, head, begun } = mpscRingLayout.offsets;
const { holder, claim } = mpscSlotLayout.offsets;

/**
 * The reading side of an {@link MpscRing}: one thread at a time. The pairs of its ordering are those of
 * {@link MpscProducer}.
 *
 * **Order** is that of the claims. It stops at a record that is claimed and not committed; `claimant` says whose.
 *
 * **Death** of a claimant: recovery marks the claim, and this side goes past it and counts it. Of this side: a
 * record whose reading had begun is not read again; `skippedRecords` of the next consumer counts them.
 *
 * **Cost**, in Atomics calls: `tryRead` 1 load of the header and 1 exchange, which gives back the record before,
 * and 1 load each time the records known before are used up. `drain` 1 exchange, at most 1 load, and 1 load a
 * record. 1 notify more where writers sleep. Nothing there: 2 loads.
 */
export class MpscConsumer extends RecordConsumer {
  /** Records that the last consumer had begun to read when it died; they are not read again. */
  readonly skippedRecords: number;
  readonly #words: Int32Array;
  readonly #atomics: Platform['atomics'];
  readonly #spaceAt: number;
  readonly #mask: number;
  readonly #cursor: RecordCursor;
  readonly #onRelease: () => void;
  #position: number;
  /** As `head` says it to the producers. */
  #released: number;
  /** Position up to which is claimed, as far as this side knows. */
  #tail: number;
  /** Of the record that is ready. */
  #header = 0;
  #abandonedRecords = 0;
  #abandonedBytes = 0;

  /**
   * @param words the whole structure, of which
   * @param memory is the space as bytes, from word
   * @param spaceAt on.
   * @param onRelease gives the side back.
   */
  constructor(
    words: Int32Array,
    memory: Uint8Array<SharedArrayBuffer>,
    spaceAt: number,
    platform: Platform = realPlatform,
    onRelease: () => void = () => {},
  ) {
    super(words, platform);
    this.#words = words;
    this.#atomics = platform.atomics;
    this.#spaceAt = spaceAt;
    this.#mask = positionsOf(memory.byteLength) - 1;
    this.#cursor = new RecordCursor(words.subarray(spaceAt), memory);
    this.#onRelease = onRelease;
    this.#released = this.#atomics.load(words, head) & ~FLAGS;
    this.#position = this.#released;
    this.#tail = this.#atomics.load(words, tail) & ~FLAGS;
    this.skippedRecords = this.#skipBegun();
  }

  /** Claims of dead threads that this consumer went past. */
  get abandonedRecords(): number {
    return this.#abandonedRecords;
  }

  /** Bytes of space that those claims took. */
  get abandonedBytes(): number {
    return this.#abandonedBytes;
  }

  /**
   * The token of the thread whose claim this consumer waits for, 0 where it waits for none: for reports. A hint,
   * read plainly from the slots: a claim that is committed at this moment may still be named.
   */
  get claimant(): number {
    const words = this.#words;
    if (this.#position === this.#tail) this.#tail = this.#atomics.load(words, tail) & ~FLAGS;
    if (this.readyKnown() || this.#position === this.#tail) return 0;
    for (let slot = 0; slot < words[maxProducers]!; slot++) {
      if (words[slotAt(slot) + claim] === (this.#position | CLAIM_OPEN)) return words[slotAt(slot) + holder]!;
    }
    return 0;
  }

  protected override ready(): boolean {
    if (this.readyKnown()) return true;
    if (this.#position !== this.#tail) {
      this.giveBack();
      return false;
    }
    if (this.#lookAtTail() && this.readyKnown()) return true;
    this.giveBack();
    return false;
  }

  protected override readyKnown(): boolean {
    // Each round but the last goes past something.
    while (this.#position !== this.#tail) {
      this.#header = this.#atomics.load(this.#words, this.#at());
      const state = stateOf(this.#header);
      if (state === STATE.committed) return true;
      if (state === STATE.claimed) return false;
      this.#goPast(this.#header);
    }
    return false;
  }

  protected override next(): RecordCursor {
    const header = this.#header;
    const at = this.#at();
    const after = (this.#position + headerPositions(header)) | 0;
    this.#cursor.moveTo(at - this.#spaceAt, headerLength(header), headerSkew(header), this.#words[at + 1]!);
    this.#words[begun] = after;
    this.#position = after;
    return this.#cursor;
  }

  protected override giveBack(): void {
    if (this.#position === this.#released) return;
    this.#released = this.#position;
    // Keeps up also where nothing but claims given up was gone past: no more than a ring lies between the two.
    this.#words[begun] = this.#position;
    if (this.#atomics.exchange(this.#words, head, this.#position) & SLEEPING) {
      this.#atomics.notify(this.#words, head);
    }
  }

  protected override lookBeforeSleep(): Step<boolean> | undefined {
    return this.#position === this.#tail ? this.#lookForClaims() : this.#lookForCommit();
  }

  protected override leave(): void {
    this.#onRelease();
  }

  /** Nothing is claimed: sleeps on the tail. */
  #lookForClaims(): Step<boolean> | undefined {
    const word = this.#atomics.load(this.#words, tail);
    if ((word & ~FLAGS) !== this.#position) return undefined;
    const announced =
      word & SLEEPING || this.#atomics.compareExchange(this.#words, tail, word, word | SLEEPING) === word;
    if (!announced) return undefined;
    // Closed means that no claim is made any more, but by one who holds the lock now: its release wakes this side.
    const lockWord = this.#atomics.load(this.#words, lock);
    if (lockWord & LOCK_CLOSED && (lockWord & LOCK_TOKEN) === 0) return undefined;
    return { done: false, index: tail, expected: word | SLEEPING };
  }

  /** A record is claimed and not committed: sleeps on its header. */
  #lookForCommit(): Step<boolean> | undefined {
    const at = this.#at();
    const header = this.#atomics.load(this.#words, at);
    if (stateOf(header) !== STATE.claimed) return undefined;
    const expected = withSleeper(header);
    const announced =
      hasSleeper(header) || this.#atomics.compareExchange(this.#words, at, header, expected) === header;
    return announced ? { done: false, index: at, expected } : undefined;
  }

  /** @throws HeddleError `ERR_HEDDLE_CLOSED` where nothing is claimed and nothing will be. */
  #lookAtTail(): boolean {
    this.#tail = this.#atomics.load(this.#words, tail) & ~FLAGS;
    if (this.#position !== this.#tail) return true;
    const lockWord = this.#atomics.load(this.#words, lock);
    if (!(lockWord & LOCK_CLOSED) || (lockWord & LOCK_TOKEN) !== 0) return false;
    // A claim may have come between the two looks; none comes any more.
    this.#tail = this.#atomics.load(this.#words, tail) & ~FLAGS;
    if (this.#position !== this.#tail) return true;
    this.giveBack();
    throw closedError('The ring');
  }

  #goPast(header: number): void {
    const inRing = this.#position & this.#mask;
    if (stateOf(header) === STATE.padding) {
      this.#position = (this.#position - inRing + this.#mask + 1) | 0;
      return;
    }
    const positions = headerPositions(header);
    if (stateOf(header) === STATE.abandoned) {
      this.#abandonedRecords++;
      this.#abandonedBytes += (positions / UNIT) * UNIT_BYTES;
    }
    this.#position = (this.#position + positions) | 0;
  }

  /** Gets past what a dead consumer had begun to read. */
  #skipBegun(): number {
    const end = this.#words[begun]!;
    let count = 0;
    // Each round takes a record, or what is none, off what is left. `begun` stays, in case this thread dies here.
    while (((end - this.#position) | 0) > 0) {
      const header = this.#atomics.load(this.#words, this.#at());
      if (stateOf(header) === STATE.committed) count++;
      this.#goPast(header);
    }
    this.giveBack();
    return count;
  }

  #at(): number {
    return this.#spaceAt + ((this.#position & this.#mask) >> 1);
  }
}
