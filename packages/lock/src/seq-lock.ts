import { HeddleError, type Segment, type WaitAsyncOptions, WORD_BYTES } from '@heddle/memory';
import { ExclusiveLock, type LockOptions } from './exclusive-lock.js';
import {
  alonePlacement,
  createPlacement,
  handlePlacement,
  type LockHandle,
  type NameOptions,
  openPlacement,
  type Placement,
  registerRecovery,
} from './placement.js';
import { RawMutex } from './raw-mutex.js';
import { copyStride, seqLockLayout } from './seq-lock.layout.js';
import { SharedObject } from './shared-object.js';

const { version, begun, length } = seqLockLayout.offsets;
const COPIES = seqLockLayout.wordCount;

/** Reads that two writes have disturbed, after which a reader asks the writers to wait. */
const MAX_ATTEMPTS = 32;

/** Most words of a payload. Beyond, writers copy for so long that a pointer to the data serves better. */
const MAX_LENGTH = 2 ** 20;

export interface SeqLockOptions {
  /** 32-bit words of the payload: 1 to 2^20. */
  readonly length: number;
}

/** The mutex of the writers. */
class WriterLock extends ExclusiveLock<RawMutex> {
  constructor(placement: Placement) {
    const { words, token, platform } = placement;
    super({ ...placement, ownsSegment: false }, new RawMutex(words, token, platform, undefined, 'seqlock'));
  }
}

/**
 * A few words that are always read together, by readers that write nothing and do not wait for writers.
 *
 * ```ts
 * const pose = SeqLock.create(segment, { name: 'pose', length: 3 });
 * pose.write([x, y, z]);
 * const [left, top, depth] = pose.read();
 * ```
 *
 * **Layout**: `seq-lock.layout.ts`. There are two copies of the payload: one is read while the other is written, and
 * the one store of `version` makes the new one current.
 *
 * **Invariant**: `begun` is `version` or `version + 1`; a write touches the copy that `version` does not name. So
 * what a reader has read under version v is whole if at its end at most write v + 1 has begun.
 *
 * **Ordering**: Q1: the payload, then `version` ↔ `version`, then the payload. Q2: `begun`, then the payload ↔ the
 * payload, then `begun`. Payload words go through Atomics on both sides.
 *
 * **Death** of a writer: before the store of `version` it has changed nothing that anybody reads; so there is no
 * `'owner-died'` here, and the next writer begins anew. Of a reader: nothing.
 *
 * **Cost**, in Atomics calls, `n` words: `read` n + 2 loads; `write` 2 CAS, 1 load and n + 2 stores while no other
 * writer is there.
 *
 * **Not** for payloads of more than some hundred words, nor where readers change anything: take an `RwLock`.
 *
 * After: `seqcount_latch` of Linux; Boehm, "Can seqlocks get along with programming language memory models?" (2012).
 */
export class SeqLock extends SharedObject {
  /** Words of the payload. */
  readonly length: number;
  readonly #words: Int32Array;
  readonly #atomics: NonNullable<Placement['platform']>['atomics'];
  readonly #writers: WriterLock;
  readonly #stride: number;

  /** Makes a small segment of its own, for up to 64 threads. @throws RangeError for a bad length. */
  constructor(options: SeqLockOptions | Placement) {
    const placement =
      'words' in options
        ? options
        : alonePlacement(seqLockLayout, initialised(options), byteLengthFor(options));
    super(seqLockLayout.kind, placement);
    this.#words = placement.words;
    this.#atomics = this.platform.atomics;
    this.#writers = new WriterLock(placement);
    this.length = this.#atomics.load(this.#words, length);
    this.#stride = copyStride(this.length);
  }

  /** @throws RangeError for a bad length; as `segment.createStructure` does. */
  static create(segment: Segment, options: NameOptions & SeqLockOptions): SeqLock {
    const byteLength = byteLengthFor(options);
    return new SeqLock(createPlacement(segment, seqLockLayout, options, initialised(options), byteLength));
  }

  /** @throws as `segment.openStructure` does. */
  static open(segment: Segment, name: string): SeqLock {
    return new SeqLock(openPlacement(segment, seqLockLayout, name));
  }

  /** Attaches to the segment of the handle. @throws TypeError where it is none of a sequence lock. */
  static from(handle: LockHandle): SeqLock {
    return new SeqLock(handlePlacement(handle, seqLockLayout));
  }

  /** Bytes that it takes. @throws RangeError for a bad length. */
  static byteLengthFor(options: SeqLockOptions): number {
    return byteLengthFor(options);
  }

  /**
   * Reads the payload as one write left it.
   *
   * Where two writes begin during one read it reads again; after 32 such reads it takes the writers' lock for one.
   *
   * @param target where to put it, so that nothing is allocated; at least {@link length} long.
   * @throws RangeError for a short target; HeddleError `ERR_HEDDLE_TIMED_OUT` after 32 disturbed reads on a thread
   *   that must not block.
   */
  read(target: Int32Array = new Int32Array(this.length)): Int32Array {
    if (target.length < this.length) {
      throw new RangeError(`The payload has ${this.length} words, the target ${target.length}`);
    }
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const current = this.#atomics.load(this.#words, version);
      this.#load(current, target);
      const writes = (this.#atomics.load(this.#words, begun) - current) | 0;
      if (writes === 0 || writes === 1) return target;
    }
    return this.#readLocked(target);
  }

  #readLocked(target: Int32Array): Int32Array {
    if (!this.platform.canBlock()) {
      throw new HeddleError(
        'ERR_HEDDLE_TIMED_OUT',
        `${MAX_ATTEMPTS} reads were disturbed by writers, and this thread must not block: read again later`,
      );
    }
    this.#lock();
    try {
      this.#load(this.#atomics.load(this.#words, version), target);
      return target;
    } finally {
      this.#writers.unlock();
    }
  }

  /**
   * Replaces the payload, blocking while another writer is at work.
   *
   * @throws RangeError where `values` has another length; as `Mutex.lock` does, `ERR_HEDDLE_RELOCK` inside of
   *   {@link update}.
   */
  write(values: ArrayLike<number>, options?: LockOptions): void {
    this.#assertLength(values);
    this.#lock(options);
    try {
      this.#store(values);
    } finally {
      this.#writers.unlock();
    }
  }

  /** The same on the event loop. */
  async writeAsync(values: ArrayLike<number>, options?: WaitAsyncOptions): Promise<void> {
    this.#assertLength(values);
    await this.#writers.runAsync((guard) => {
      guard.markConsistent();
      this.#store(values);
    }, options);
  }

  /**
   * Changes the payload: `change` gets a private copy, and what it leaves there is written. Where it throws, nothing
   * is.
   *
   * @throws as {@link write}, and what `change` throws.
   */
  update(change: (values: Int32Array) => void, options?: LockOptions): void {
    this.#lock(options);
    try {
      this.#update(change);
    } finally {
      this.#writers.unlock();
    }
  }

  /** The same on the event loop; `change` itself is synchronous. */
  async updateAsync(change: (values: Int32Array) => void, options?: WaitAsyncOptions): Promise<void> {
    await this.#writers.runAsync((guard) => {
      guard.markConsistent();
      this.#update(change);
    }, options);
  }

  /** Writes that are complete; wraps at 2^32. 1 load. */
  get version(): number {
    return this.#atomics.load(this.#words, version) >>> 0;
  }

  /** Frees the writers' lock where the dead thread had it, and wakes everyone who sleeps. */
  recover(deadToken: number): void {
    this.#writers.core.recover(deadToken);
  }

  /** There is nothing to put in order after a death: what was current still is. */
  #lock(options?: LockOptions): void {
    if (this.#writers.lock(options) === 'owner-died') this.#writers.markConsistent();
  }

  #update(change: (values: Int32Array) => void): void {
    const values = new Int32Array(this.length);
    this.#load(this.#atomics.load(this.#words, version), values);
    change(values);
    this.#store(values);
  }

  #load(current: number, target: Int32Array): void {
    const from = this.#copy(current);
    for (let i = 0; i < this.length; i++) target[i] = this.#atomics.load(this.#words, from + i);
  }

  /** The lock is held. */
  #store(values: ArrayLike<number>): void {
    const next = (this.#atomics.load(this.#words, version) + 1) | 0;
    const to = this.#copy(next);
    this.#atomics.store(this.#words, begun, next);
    for (let i = 0; i < this.length; i++) this.#atomics.store(this.#words, to + i, values[i]!);
    this.#atomics.store(this.#words, version, next);
  }

  #copy(ofVersion: number): number {
    return COPIES + (ofVersion & 1) * this.#stride;
  }

  #assertLength(values: ArrayLike<number>): void {
    if (values.length === this.length) return;
    throw new RangeError(`The payload has ${this.length} words, ${values.length} were given`);
  }
}

function byteLengthFor({ length: words }: SeqLockOptions): number {
  if (!Number.isInteger(words) || words < 1 || words > MAX_LENGTH) {
    throw new RangeError(`The payload of a sequence lock has 1 to ${MAX_LENGTH} words, not ${words}`);
  }
  return (COPIES + 2 * copyStride(words)) * WORD_BYTES;
}

function initialised(options: SeqLockOptions): (words: Int32Array) => void {
  byteLengthFor(options);
  return (words) => {
    words[length] = options.length;
  };
}

registerRecovery(seqLockLayout, import.meta.url, (placement) => new SeqLock(placement));
