import {
  deadlineAfter,
  HeddleError,
  type Platform,
  runAsync,
  type Step,
  timeoutOf,
  type WaitAsyncOptions,
  type WaitOptions,
} from '@heddle/memory';
import { AttemptSteps, beginBlocking, blockUntil } from './attempt-steps.js';
import { releasedError } from './ring-errors.js';
import type { RingRecord } from './ring-record.js';

/** Milliseconds of iterating after which the event loop has its turn. */
const SLICE_MS = 5;

/** What a consumer is in the middle of. */
const IDLE = 0;
const DRAINING = 1;
const RELEASED = 2;

/**
 * The reading side of a ring of records, one thread's: what the sides of all rings have in common. See
 * {@link SpscConsumer} and {@link MpscConsumer}, which also state the costs.
 *
 * **Records** are read in place, through one cursor that is used again. The space of a record goes back to the
 * writers when the next one is asked for, with `releaseRecord`, at the end of a `drain`, and before every sleep.
 *
 * **Closed**: what was written before the close is read to its end; then every call fails.
 */
export abstract class RecordConsumer {
  protected readonly platform: Platform;
  readonly #words: Int32Array;
  #state = IDLE;
  /** Of the asynchronous read that waits. */
  #waiting: AttemptSteps | undefined;

  protected constructor(words: Int32Array, platform: Platform) {
    this.#words = words;
    this.platform = platform;
  }

  /**
   * Whether a record is next. Gets past what is none, and gives its space back.
   *
   * @throws HeddleError `ERR_HEDDLE_CLOSED` where the ring is closed and read to its end.
   */
  protected abstract ready(): boolean;

  /** Whether a record is next, among what was there at the last look. Gets past what is none. */
  protected abstract readyKnown(): boolean;

  /** Moves the cursor to the next record, which is ready. */
  protected abstract next(): RingRecord;

  /** Gives the space of everything read back to the writers. */
  protected abstract giveBack(): void;

  /** Announces a sleep and looks once more. */
  protected abstract lookBeforeSleep(): Step<boolean> | undefined;

  /** Gives the side back. */
  protected abstract leave(): void;

  /**
   * The next record, undefined where there is none. It is good until the next call of this consumer.
   *
   * @throws HeddleError `ERR_HEDDLE_CLOSED` where the ring is closed and read to its end.
   */
  tryRead(): RingRecord | undefined {
    if (this.#state !== IDLE) this.#refuse();
    this.giveBack();
    return this.ready() ? this.next() : undefined;
  }

  /**
   * Calls `handler` with each record that was there when this side looked last, up to `limit`. Returns how many; the
   * space goes back to the writers once, at the end. It looks where none is left from the last time: so it returns 0 only
   * where there is none, and what was published since may wait for the next call.
   *
   * What the handler throws comes through; the record it was given counts as read.
   *
   * @throws HeddleError `ERR_HEDDLE_CLOSED` where the ring is closed and read to its end.
   */
  drain(handler: (record: RingRecord) => void, limit = Number.POSITIVE_INFINITY): number {
    if (this.#state !== IDLE) this.#refuse();
    if (typeof limit !== 'number') throw new TypeError(`A limit is a number, not ${typeof limit}`);
    if (!(limit >= 0)) throw new RangeError(`A limit is a number of records from 0, not ${limit}`);
    this.giveBack();
    if (limit === 0 || !this.ready()) return 0;
    let count = 0;
    this.#state = DRAINING;
    try {
      // Only what was there at the first look: a writer that keeps up does not keep this call from returning.
      do {
        count++;
        handler(this.next());
      } while (count < limit && this.#state === DRAINING && this.readyKnown());
    } finally {
      if (this.#state === DRAINING) {
        this.#state = IDLE;
        this.giveBack();
      }
    }
    return count;
  }

  /** Gives the space of the record read last back to the writers. The record must not be used any more. */
  releaseRecord(): void {
    if (this.#state !== IDLE) this.#refuse();
    this.giveBack();
  }

  /**
   * The next record, blocking while there is none.
   *
   * @returns undefined when the time is up.
   * @throws HeddleError `ERR_HEDDLE_CLOSED` where the ring is closed and read to its end;
   *   `ERR_HEDDLE_MUST_NOT_BLOCK` on a thread that must not block, also where there is a record.
   */
  read(options?: WaitOptions & { readonly timeout?: undefined }): RingRecord;
  read(options?: WaitOptions): RingRecord | undefined;
  read(options: WaitOptions = {}): RingRecord | undefined {
    return this.wait(options) ? this.next() : undefined;
  }

  /** Blocks until there is a record. Returns false when the time is up. @throws as {@link read} does. */
  wait(options: WaitOptions = {}): boolean {
    const deadline = beginBlocking(this.platform, options);
    if (this.#state !== IDLE) this.#refuse();
    this.giveBack();
    return this.ready() || blockUntil(this.#steps(), this.#words, this.platform, deadline, options.spins);
  }

  /**
   * The next record as soon as there is one. Use it before you await anything else. The event loop has its turn
   * only where there is none yet.
   *
   * @returns a promise of undefined when the time is up.
   * @throws (rejects) HeddleError `ERR_HEDDLE_CLOSED` where the ring is closed and read to its end,
   *   `ERR_HEDDLE_OUTSTANDING` while another asynchronous read waits; with `signal.reason` when aborted.
   */
  readAsync(options?: WaitAsyncOptions & { readonly timeout?: undefined }): Promise<RingRecord>;
  readAsync(options?: WaitAsyncOptions): Promise<RingRecord | undefined>;
  async readAsync(options: WaitAsyncOptions = {}): Promise<RingRecord | undefined> {
    const { now } = this.platform;
    const deadline = deadlineAfter(timeoutOf(options), now);
    // Each round but the last is one in which another call of this thread read what this one had waited for.
    while (await this.waitAsync({ ...options, timeout: deadline - now() })) {
      const record = this.tryRead();
      if (record) return record;
    }
    return undefined;
  }

  /** Waits on the event loop until there is a record. Resolves to false when the time is up. As {@link readAsync}. */
  async waitAsync(options: WaitAsyncOptions = {}): Promise<boolean> {
    if (this.#state !== IDLE) this.#refuse();
    if (this.#waiting) {
      throw new HeddleError(
        'ERR_HEDDLE_OUTSTANDING',
        'An asynchronous read waits already: the consumer has one cursor, so await it first',
      );
    }
    this.giveBack();
    const steps = this.#steps();
    this.#waiting = steps;
    try {
      return await runAsync(steps, this.#words, this.platform, options);
    } finally {
      this.#waiting = undefined;
    }
  }

  /**
   * Every record until the ring is closed and read to its end. Each is good until the next one is asked for. Every
   * 5 ms the event loop has its turn, also where there is always a next record.
   */
  async *[Symbol.asyncIterator](): AsyncGenerator<RingRecord, void, undefined> {
    const { now } = this.platform;
    let sliceEnd = now() + SLICE_MS;
    try {
      for (;;) {
        yield this.tryRead() ?? (await this.readAsync());
        if (now() < sliceEnd) continue;
        await this.#turn();
        sliceEnd = now() + SLICE_MS;
      }
    } catch (error) {
      if (!(error instanceof HeddleError && error.code === 'ERR_HEDDLE_CLOSED')) throw error;
    }
  }

  /** Gives the side back, so that another thread can take it, and the space of the record read last. A read that waits fails. */
  release(): void {
    if (this.#state === RELEASED) return;
    this.giveBack();
    this.leave();
    this.abandon();
  }

  /** Lets go of a side that is this thread's no more, and touches nothing of it. A read that waits fails. */
  abandon(): void {
    this.#state = RELEASED;
    this.#waiting?.wake(this.#words, this.platform);
  }

  [Symbol.dispose](): void {
    this.release();
  }

  /** Lets the event loop turn, and keeps it alive until then. */
  async #turn(): Promise<void> {
    await new Promise<void>((resolve) => this.platform.turn(resolve));
  }

  #steps(): AttemptSteps {
    const attempt = () => {
      if (this.#state !== IDLE) this.#refuse();
      return this.ready();
    };
    return new AttemptSteps({ attempt, lookBeforeSleep: () => this.lookBeforeSleep() });
  }

  #refuse(): never {
    if (this.#state === RELEASED) throw releasedError('consumer');
    throw new HeddleError('ERR_HEDDLE_OUTSTANDING', 'A drain is going on: the consumer has one cursor');
  }
}
