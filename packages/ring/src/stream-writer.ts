import {
  copyBytes,
  HeddleError,
  type Platform,
  realPlatform,
  runAsync,
  type WaitAsyncOptions,
  type WaitOptions,
} from '@heddle/memory';
import { AttemptSteps, beginBlocking, blockUntil } from './attempt-steps.js';
import { assertUnchanged, releasedError } from './ring-errors.js';
import { BYTE, bytesOf, elementBytesOf, type StreamView } from './stream-bytes.js';
import { WriteEnd } from './write-end.js';

/**
 * The writing side of an {@link SpscStream}: one thread at a time.
 *
 * **Cost**, in Atomics calls: a write is 1 CAS; 1 load more each time the room known before is used up, and 1 CAS
 * and 1 notify more where the reader sleeps. Full: 2 loads.
 */
export class StreamWriter {
  readonly #words: Int32Array;
  readonly #memory: Uint8Array<SharedArrayBuffer>;
  readonly #platform: Platform;
  readonly #end: WriteEnd;
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
    this.#end = new WriteEnd(words, memory.byteLength * BYTE, platform, 'The stream');
    this.#onRelease = onRelease;
  }

  /** Bytes that can be written now. 1 load. */
  get room(): number {
    return this.#end.roomUpTo(this.#end.capacity) / BYTE;
  }

  /**
   * Writes as many whole elements as there is room for.
   *
   * @returns how many bytes; 0 also while an asynchronous write waits.
   * @throws TypeError where it is no view; HeddleError `ERR_HEDDLE_CLOSED`.
   */
  tryWrite(view: StreamView): number {
    this.#assertHeld();
    return this.#waiting ? 0 : this.#write(bytesOf(view), elementBytesOf(view), 0);
  }

  /**
   * Writes everything, blocking while there is no room.
   *
   * @returns how many bytes: fewer when the time is up.
   * @throws as {@link tryWrite} does, `ERR_HEDDLE_CLOSED` also where a part was written; HeddleError
   *   `ERR_HEDDLE_MUST_NOT_BLOCK` on a thread that must not block; `ERR_HEDDLE_OUTSTANDING` while an asynchronous
   *   write waits.
   */
  write(view: StreamView, options: WaitOptions = {}): number {
    const deadline = beginBlocking(this.#platform, options);
    const job = this.#jobOf(view);
    if (!job.steps.attempt()) blockUntil(job.steps, this.#words, this.#platform, deadline, options.spins);
    return job.written();
  }

  /**
   * Writes everything as room comes. Leave the bytes alone until then. One at a time.
   *
   * @returns a promise of how many bytes: fewer when the time is up.
   * @throws (rejects) as {@link write} does, with TypeError where the bytes were detached or became fewer while they
   *   waited, and with `signal.reason` when aborted: a part may be written then.
   */
  async writeAsync(view: StreamView, options: WaitAsyncOptions = {}): Promise<number> {
    const job = this.#jobOf(view);
    this.#waiting = job.steps;
    try {
      await runAsync(job.steps, this.#words, this.#platform, options);
      return job.written();
    } finally {
      this.#waiting = undefined;
    }
  }

  /** Whether the stream is closed. 1 load. */
  get closed(): boolean {
    return this.#end.closed;
  }

  /** Gives the side back, so that another thread can take it. A write that waits fails. */
  release(): void {
    if (this.#released) return;
    this.#onRelease();
    this.abandon();
  }

  /** Lets go of a side that is this thread's no more, and touches nothing of it. A write that waits fails. */
  abandon(): void {
    this.#released = true;
    this.#waiting?.wake(this.#words, this.#platform);
  }

  [Symbol.dispose](): void {
    this.release();
  }

  #jobOf(view: StreamView) {
    this.#assertHeld();
    if (this.#waiting) {
      throw new HeddleError('ERR_HEDDLE_OUTSTANDING', 'An asynchronous write waits: await it first');
    }
    const bytes = bytesOf(view);
    const elementBytes = elementBytesOf(view);
    const { byteLength } = bytes;
    let written = 0;
    const attempt = () => {
      this.#assertHeld();
      assertUnchanged(bytes, byteLength);
      written += this.#write(bytes, elementBytes, written);
      return written === byteLength;
    };
    const lookBeforeSleep = () => this.#end.lookBeforeSleep(elementBytes * BYTE);
    return { written: () => written, steps: new AttemptSteps({ attempt, lookBeforeSleep }) };
  }

  #write(bytes: Uint8Array, elementBytes: number, from: number): number {
    const wanted = bytes.byteLength - from;
    const room = this.#end.roomUpTo(Math.min(wanted * BYTE, this.#end.capacity)) / BYTE;
    const count = Math.min(wanted, room - (room % elementBytes));
    if (count <= 0) {
      this.#end.assertOpen();
      return 0;
    }
    const { position } = this.#end;
    const at = (position >>> 2) & (this.#memory.byteLength - 1);
    const toEnd = this.#memory.byteLength - at;
    if (count <= toEnd) {
      copyBytes(this.#memory, from === 0 ? bytes : bytes.subarray(from, from + count), at, count);
    } else {
      copyBytes(this.#memory, bytes.subarray(from, from + toEnd), at);
      copyBytes(this.#memory, bytes.subarray(from + toEnd, from + count));
    }
    this.#end.position = (position + count * BYTE) | 0;
    this.#end.publish();
    return count;
  }

  #assertHeld(): void {
    if (this.#released) throw releasedError('writer');
  }
}
