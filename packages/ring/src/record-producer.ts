import {
  copyBytes,
  HeddleError,
  type Platform,
  runAsync,
  type Step,
  type WaitAsyncOptions,
  type WaitOptions,
} from '@heddle/memory';
import { AttemptSteps, beginBlocking, blockUntil } from './attempt-steps.js';
import { HEADER_BYTES, HEADER_WORDS, skewFor } from './record.layout.js';
import {
  assertBytes,
  assertInt32,
  assertRecordBytes,
  assertUnchanged,
  releasedError,
} from './ring-errors.js';
import { type Write, WriteQueue } from './write-queue.js';

/** How a record is written where there may be no room yet. */
export interface WriteOptions extends WaitOptions {
  /** A number that goes with the record, an Int32. Default 0. */
  readonly tag?: number | undefined;
}

export interface WriteAsyncOptions extends WaitAsyncOptions {
  /** A number that goes with the record, an Int32. Default 0. */
  readonly tag?: number | undefined;
}

const TAG = 'A tag';
const WORD = 'A word of a record';

/** What a producer is in the middle of. */
const IDLE = 0;
const CLAIMED = 1;
const QUEUED = 2;
const RELEASED = 3;

/**
 * The writing side of a ring of records, one thread's: what the sides of all rings have in common. How room is
 * found, made visible and waited for is the ring's own; see {@link SpscProducer} and {@link MpscProducer}, which
 * also state the costs.
 */
export abstract class RecordProducer {
  /** Bytes of the longest record that fits. */
  readonly maxRecordBytes: number;
  /** The space of the ring: where `tryClaim` lets you write. */
  readonly memory: Uint8Array<SharedArrayBuffer>;
  /** The same as 32-bit words: a claim's first is at its offset / 4. */
  readonly memoryWords: Int32Array;
  protected readonly platform: Platform;
  readonly #words: Int32Array;
  readonly #queue: WriteQueue;
  #state = IDLE;
  /** Of the open claim. */
  #at = 0;
  #claimedBytes = 0;
  #skew = 0;
  #tag = 0;

  /**
   * @param words the whole structure, of which
   * @param memoryWords is the space for records, and
   * @param memory the same as bytes.
   * @param headIndex the word that the reader moves when it gives space back.
   */
  protected constructor(
    words: Int32Array,
    memoryWords: Int32Array,
    memory: Uint8Array<SharedArrayBuffer>,
    maxRecordBytes: number,
    headIndex: number,
    platform: Platform,
  ) {
    this.#words = words;
    this.memoryWords = memoryWords;
    this.memory = memory;
    this.maxRecordBytes = maxRecordBytes;
    this.platform = platform;
    this.#queue = new WriteQueue(words, headIndex, platform, () => this.lookBeforeSleep());
  }

  /**
   * Claims room. Nobody reads it before it is published.
   *
   * @returns the word of the header in the space; -1 where there is no room.
   * @throws HeddleError `ERR_HEDDLE_CLOSED`.
   */
  protected abstract reserve(byteLength: number, skew: number): number;

  /** Writes the header of the room that was claimed last and makes the record visible: the one commit. */
  protected abstract publish(at: number, byteLength: number, skew: number, tag: number): void;

  /** Gives the room that was claimed last up. */
  protected abstract drop(at: number): void;

  /** Gives the side back. */
  protected abstract leave(): void;

  /**
   * After an attempt that found no room: announces a sleep and looks once more.
   *
   * @returns undefined where the attempt is to be repeated, else what to sleep on.
   * @throws HeddleError `ERR_HEDDLE_CLOSED`.
   */
  protected abstract lookBeforeSleep(): Step<boolean> | undefined;

  /** Whether the ring is closed. 1 load. */
  abstract get closed(): boolean;

  /**
   * Writes a record, if there is room.
   *
   * @returns whether it was written.
   * @throws TypeError where it is no Uint8Array, or the tag no Int32; HeddleError `ERR_HEDDLE_RECORD_TOO_LARGE`,
   *   `ERR_HEDDLE_CLOSED`.
   */
  tryWrite(bytes: Uint8Array, tag = 0): boolean {
    assertBytes(bytes);
    const { byteLength } = bytes;
    assertRecordBytes(byteLength, this.maxRecordBytes);
    if ((tag | 0) !== tag) assertInt32(tag, TAG);
    if (this.#state !== IDLE) return this.#refuse();
    return this.#put(bytes, byteLength, tag);
  }

  /**
   * Writes a record of 0 to 4 Int32 words and a tag, if there is room: the cheap form for small messages, such as
   * descriptors. The reader gets them by `record.word(index)`. Makes no object.
   *
   * @throws TypeError where one is no Int32; HeddleError as {@link tryWrite} does.
   */
  tryWriteWords(tag: number, a?: number, b?: number, c?: number, d?: number): boolean {
    const count = a === undefined ? 0 : b === undefined ? 1 : c === undefined ? 2 : d === undefined ? 3 : 4;
    if (count * 4 > this.maxRecordBytes) assertRecordBytes(count * 4, this.maxRecordBytes);
    if ((tag | 0) !== tag) assertInt32(tag, TAG);
    if (count > 0 && (a! | 0) !== a) assertInt32(a!, WORD);
    if (count > 1 && (b! | 0) !== b) assertInt32(b!, WORD);
    if (count > 2 && (c! | 0) !== c) assertInt32(c!, WORD);
    if (count > 3 && (d! | 0) !== d) assertInt32(d!, WORD);
    if (this.#state !== IDLE) return this.#refuse();
    const at = this.reserve(count * 4, 0);
    if (at < 0) return false;
    const words = this.memoryWords;
    const payload = at + HEADER_WORDS;
    if (count > 0) words[payload] = a!;
    if (count > 1) words[payload + 1] = b!;
    if (count > 2) words[payload + 2] = c!;
    if (count > 3) words[payload + 3] = d!;
    this.publish(at, count * 4, 0, tag);
    return true;
  }

  /**
   * Claims room for a record to be written in place, if there is any.
   *
   * Write into `memory` from the offset returned, then `commit` or `abort`. Nobody reads it before.
   *
   * @param skew shifts the payload, 0 to 7 bytes: the offset modulo 8 of what will be copied in.
   * @returns the offset of the payload in `memory`: a multiple of 8, plus the skew, which the longest records go
   *   without; -1 where there is no room.
   * @throws HeddleError `ERR_HEDDLE_OUTSTANDING` where a claim is open, and as {@link tryWrite} does.
   */
  tryClaim(byteLength: number, tag = 0, skew = 0): number {
    assertRecordBytes(byteLength, this.maxRecordBytes);
    assertInt32(tag, TAG);
    if (!(Number.isInteger(skew) && skew >= 0 && skew < HEADER_BYTES)) {
      throw new RangeError(`A skew is a whole number from 0 to 7, not ${skew}`);
    }
    if (this.#state !== IDLE) {
      this.#refuse();
      return -1;
    }
    const fitting = this.#fittingSkew(byteLength, skew);
    const at = this.reserve(byteLength, fitting);
    if (at < 0) return -1;
    this.#at = at;
    this.#claimedBytes = byteLength;
    this.#skew = fitting;
    this.#tag = tag;
    this.#state = CLAIMED;
    return at * 4 + HEADER_BYTES + fitting;
  }

  /**
   * Publishes the open claim.
   *
   * @param byteLength of the record, where it became shorter than what was claimed.
   * @throws HeddleError `ERR_HEDDLE_NOT_HOLDER` where no claim is open; RangeError where the length is not one up
   *   to what was claimed: the claim stays open then.
   */
  commit(byteLength = this.#claimedBytes): void {
    if (this.#state !== CLAIMED) throw noClaim();
    if (!Number.isInteger(byteLength) || byteLength < 0 || byteLength > this.#claimedBytes) {
      throw new RangeError(
        `A claim of ${this.#claimedBytes} bytes is committed with 0 to ${this.#claimedBytes}, not ${byteLength}`,
      );
    }
    this.#state = IDLE;
    this.publish(this.#at, byteLength, this.#skew, this.#tag);
  }

  /** Drops the open claim. Nothing is read of it. @throws HeddleError `ERR_HEDDLE_NOT_HOLDER` where none is open. */
  abort(): void {
    if (this.#state !== CLAIMED) throw noClaim();
    this.#state = IDLE;
    this.drop(this.#at);
  }

  /**
   * Writes a record, blocking while there is no room.
   *
   * @returns false when the time is up.
   * @throws as {@link tryWrite} does; HeddleError `ERR_HEDDLE_MUST_NOT_BLOCK` on a thread that must not block,
   *   also where there is room; `ERR_HEDDLE_OUTSTANDING` while an asynchronous write waits for its turn.
   */
  write(bytes: Uint8Array, options: WriteOptions = {}): boolean {
    const { tag = 0 } = options;
    const deadline = beginBlocking(this.platform, options);
    if (this.#state === QUEUED) throw outstanding('An asynchronous write waits for its turn: await it first');
    if (this.tryWrite(bytes, tag)) return true;
    const steps = new AttemptSteps({
      attempt: () => this.tryWrite(bytes, tag),
      lookBeforeSleep: () => this.lookBeforeSleep(),
    });
    return blockUntil(steps, this.#words, this.platform, deadline, options.spins);
  }

  /**
   * Writes a record as soon as there is room. Several at once are written in the order of the calls; until all
   * are, `tryWrite` finds no room. The bytes are read when there is room: leave them alone until then.
   *
   * @returns a promise of whether it was written before the time was up.
   * @throws (rejects) as {@link tryWrite} does, with TypeError where the bytes were detached or became fewer while
   *   they waited, and with `signal.reason` when aborted.
   */
  async writeAsync(bytes: Uint8Array, options: WriteAsyncOptions = {}): Promise<boolean> {
    const { tag = 0 } = options;
    assertBytes(bytes);
    const { byteLength } = bytes;
    assertRecordBytes(byteLength, this.maxRecordBytes);
    assertInt32(tag, TAG);
    if (this.#state === CLAIMED || this.#state === RELEASED) this.#refuse();
    const write = () => {
      if (this.#state === RELEASED) this.#refuse();
      // Before room is claimed: what throws behind that leaves a claim that is never committed.
      assertUnchanged(bytes, byteLength);
      const written = this.#put(bytes, byteLength, tag);
      if (written) this.#leaveQueue(write);
      return written;
    };
    this.#state = QUEUED;
    try {
      return await runAsync(this.#queue.enter(write), this.#words, this.platform, options);
    } finally {
      this.#leaveQueue(write);
    }
  }

  /** Gives the side back, so that another thread can take it. An open claim is dropped, and writes that wait fail. */
  release(): void {
    if (this.#state === RELEASED) return;
    if (this.#state === CLAIMED) this.drop(this.#at);
    this.leave();
    this.abandon();
  }

  /** Lets go of a side that is this thread's no more, and touches nothing of it. Writes that wait fail. */
  abandon(): void {
    this.#state = RELEASED;
    this.#queue.wake();
  }

  [Symbol.dispose](): void {
    this.release();
  }

  #put(bytes: Uint8Array, byteLength: number, tag: number): boolean {
    const skew = this.#fittingSkew(byteLength, skewFor(bytes));
    const at = this.reserve(byteLength, skew);
    if (at < 0) return false;
    if (byteLength > 0) copyBytes(this.memory, bytes, at * 4 + HEADER_BYTES + skew, byteLength);
    this.publish(at, byteLength, skew, tag);
    return true;
  }

  #leaveQueue(write: Write): void {
    this.#queue.leave(write);
    if (this.#queue.isEmpty && this.#state === QUEUED) this.#state = IDLE;
  }

  #fittingSkew(byteLength: number, skew: number): number {
    return byteLength + skew <= this.maxRecordBytes ? skew : 0;
  }

  /** @returns false where asynchronous writes come first. */
  #refuse(): false {
    if (this.#state === RELEASED) throw releasedError('producer');
    if (this.#state === CLAIMED) throw outstanding('A claim is open: commit or abort it first');
    return false;
  }
}

function outstanding(what: string): HeddleError {
  return new HeddleError('ERR_HEDDLE_OUTSTANDING', what);
}

function noClaim(): HeddleError {
  return new HeddleError('ERR_HEDDLE_NOT_HOLDER', 'No claim is open: claim room with tryClaim first');
}
