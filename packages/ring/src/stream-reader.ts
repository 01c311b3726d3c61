import {
  copyBytes,
  deadlineAfter,
  HeddleError,
  type Platform,
  realPlatform,
  runAsync,
  timeoutOf,
  type WaitAsyncOptions,
  type WaitOptions,
} from '@heddle/memory';
import { AttemptSteps, beginBlocking, blockUntil } from './attempt-steps.js';
import { ReadEnd } from './read-end.js';
import { closedError, releasedError } from './ring-errors.js';
import { BYTE, bytesOf, elementBytesOf, type StreamView } from './stream-bytes.js';

/**
 * The reading side of an {@link SpscStream}: one thread at a time.
 *
 * **Cost**, in Atomics calls: a read is 1 exchange; 1 load more each time the bytes known before are not enough,
 * and 1 notify more where the writer sleeps. Empty: 2 loads.
 */
export class StreamReader {
  /** Bytes that the last reader had begun to read when it died; they are gone. */
  readonly skippedBytes: number;
  readonly #words: Int32Array;
  readonly #memory: Uint8Array<SharedArrayBuffer>;
  readonly #platform: Platform;
  readonly #end: ReadEnd;
  readonly #onRelease: () => void;
  #released = false;
  #waiting: AttemptSteps | undefined;

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
    this.#words = words;
    this.#memory = memory;
    this.#platform = platform;
    this.#end = new ReadEnd(words, platform, 'The stream');
    this.#onRelease = onRelease;
    const skipped = this.#end.begunByOthers;
    this.#end.position = (this.#end.position + skipped) | 0;
    this.#end.release();
    this.skippedBytes = skipped / BYTE;
  }

  /** Bytes that can be read now. 1 load. */
  get available(): number {
    return this.#end.availableUpTo(this.#memory.byteLength * BYTE) / BYTE;
  }

  /**
   * Reads as many whole elements as there are and the target holds.
   *
   * @returns how many bytes, 0 where there is nothing.
   * @throws TypeError where it is no view; HeddleError `ERR_HEDDLE_CLOSED` where the stream is closed and no whole
   *   element comes any more.
   */
  tryRead(target: StreamView): number {
    this.#assertHeld();
    const count = this.#read(bytesOf(target), elementBytesOf(target));
    if (count === 0 && target.byteLength > 0 && this.#end.closed) {
      // Something may have come between the two looks; nothing comes any more.
      const last = this.#read(bytesOf(target), elementBytesOf(target));
      if (last === 0) throw closedError('The stream');
      return last;
    }
    return count;
  }

  /**
   * Reads what there is, blocking while there is not one element.
   *
   * @returns how many bytes: at least an element, or 0 when the time is up.
   * @throws as {@link tryRead} does; HeddleError `ERR_HEDDLE_MUST_NOT_BLOCK` on a thread that must not block.
   */
  read(target: StreamView, options: WaitOptions = {}): number {
    const deadline = beginBlocking(this.#platform, options);
    const count = this.tryRead(target);
    if (count > 0 || target.byteLength === 0) return count;
    return blockUntil(this.#stepsFor(target), this.#words, this.#platform, deadline, options.spins)
      ? this.tryRead(target)
      : 0;
  }

  /**
   * Reads what there is as soon as there is an element. One at a time.
   *
   * @returns a promise of how many bytes, 0 when the time is up.
   * @throws (rejects) as {@link tryRead} does, HeddleError `ERR_HEDDLE_OUTSTANDING` while another one waits; with
   *   `signal.reason` when aborted: nothing was read then.
   */
  async readAsync(target: StreamView, options: WaitAsyncOptions = {}): Promise<number> {
    this.#assertHeld();
    if (this.#waiting) {
      throw new HeddleError('ERR_HEDDLE_OUTSTANDING', 'An asynchronous read waits already: await it first');
    }
    if (target.byteLength === 0) return this.tryRead(target);
    const { now } = this.#platform;
    const deadline = deadlineAfter(timeoutOf(options), now);
    const steps = this.#stepsFor(target);
    this.#waiting = steps;
    try {
      const wait = () =>
        runAsync(steps, this.#words, this.#platform, { ...options, timeout: deadline - now() });
      // Each round but the last is one in which another call of this thread read what this one had waited for.
      while (await wait()) {
        const count = this.tryRead(target);
        if (count > 0 || target.byteLength === 0) return count;
      }
      return 0;
    } finally {
      this.#waiting = undefined;
    }
  }

  /** Gives the side back, so that another thread can take it. A read that waits fails. */
  release(): void {
    if (this.#released) return;
    this.#onRelease();
    this.abandon();
  }

  /** Lets go of a side that is this thread's no more, and touches nothing of it. A read that waits fails. */
  abandon(): void {
    this.#released = true;
    this.#waiting?.wake(this.#words, this.#platform);
  }

  [Symbol.dispose](): void {
    this.release();
  }

  #stepsFor(target: StreamView): AttemptSteps {
    const least = elementBytesOf(target) * BYTE;
    return new AttemptSteps({
      attempt: () => {
        this.#assertHeld();
        return this.#end.availableUpTo(least) >= least;
      },
      lookBeforeSleep: () => this.#end.lookBeforeSleep(least),
    });
  }

  #read(target: Uint8Array, elementBytes: number): number {
    const wanted = Math.min(target.byteLength, this.#memory.byteLength);
    const available = this.#end.availableUpTo(wanted * BYTE) / BYTE;
    const count = Math.min(target.byteLength, available - (available % elementBytes));
    if (count <= 0) return 0;
    const { position } = this.#end;
    const next = (position + count * BYTE) | 0;
    this.#end.begin(next);
    const at = (position >>> 2) & (this.#memory.byteLength - 1);
    const toEnd = Math.min(count, this.#memory.byteLength - at);
    copyBytes(target, this.#memory.subarray(at, at + toEnd));
    if (toEnd < count) copyBytes(target, this.#memory.subarray(0, count - toEnd), toEnd);
    this.#end.position = next;
    this.#end.release();
    return count;
  }

  #assertHeld(): void {
    if (this.#released) throw releasedError('reader');
  }
}
