import { idOf, realPlatform, type Segment, WORD_BYTES } from '@heddle/memory';
import { ExclusiveLock } from './exclusive-lock.js';
import type { Lock } from './lock.js';
import {
  alonePlacement,
  createPlacement,
  handlePlacement,
  type LockHandle,
  type NameOptions,
  type OverOptions,
  openPlacement,
  overPlacement,
  type Placement,
  registerRecovery,
} from './placement.js';
import { RawMutex } from './raw-mutex.js';
import { RawReadLock } from './raw-read-lock.js';
import { RawWriteLock, recoverRwLock } from './raw-write-lock.js';
import { ReaderLines } from './reader-lines.js';
import { LINE_WORDS, rwLockLayout } from './rw-lock.layout.js';
import { SharedObject } from './shared-object.js';

const { state, readers } = rwLockLayout.offsets;

/** Threads that may use it, unless told otherwise. */
const DEFAULT_THREADS = 64;

export interface RwLockOptions {
  /** Highest id of a thread that may use it, as of `segment.thread.id`: 1 to 512. Default 64. A line of memory each. */
  readonly maxThreads?: number | undefined;
}

/** One side of a read-write lock. */
export class RwLockSide extends ExclusiveLock<Lock> {
  constructor(placement: Placement, core: Lock, queueIndex: number) {
    super({ ...placement, ownsSegment: false }, core, queueIndex);
  }
}

/**
 * Many may read at a time, or one write.
 *
 * ```ts
 * lock.read.run(() => look());
 * lock.write.run(() => change());
 * ```
 *
 * **Layout**: `rw-lock.layout.ts`. Each thread says in a line of its own that it reads, so readers do not disturb
 * each other; a writer looks at all lines.
 *
 * **States** of a reader's word: 0; READING, it reads, or is about to look for a writer; WAITING, it stays out until
 * a writer lets it in; LOOKING, a task that waited is to look again. Of `writing`: 0; a token, readers stay out for that writer; OWNER_DIED, a writer died, and no
 * other one has marked the data consistent; POISONED.
 *
 * **Invariants**: a thread reads only if it saw `writing` without a writer after it had set READING; a writer writes
 * only if it saw every word without READING after it had set `writing`. One of the two comes second and sees the
 * other.
 *
 * **Fairness**: who wants to write keeps new readers out at once, so it waits for those who are in. Who leaves
 * after writing lets in every thread that waits to read, before the next writer: neither side starves. A task that
 * has waited a millisecond makes who blocks to write step aside for a moment. Writers among each other: as in `Mutex`.
 *
 * **Nesting**: reading while reading, also behind a waiting writer, writing while reading, and reading while writing
 * are `ERR_HEDDLE_RELOCK`. So two readers that want to write are told, and do not wait for each other.
 *
 * **Ordering**: R1: READING set ↔ `writing` read. R2: `writing` set ↔ words read. R3: a reader's word cleared, then
 * `writing` read, then notify ↔ `writing` set, then the wait on that word. R4: `writing` cleared, then WAITING
 * words let in ↔ WAITING set, then `writing` read, then the wait.
 *
 * **Death** of a reader: its words are cleared, nobody is told. Of a writer: the next writer is told once by
 * `'owner-died'`, and readers are told each time, until it calls `markConsistent`; without that everybody gets
 * `ERR_HEDDLE_POISONED`. Recovery lets those in who wait to read, as the writer would have done, and wakes everyone.
 *
 * **Cost**, in Atomics calls: `read.lock` 1 CAS and 2 loads, `read.unlock` 1 CAS and 1 load; `write.lock` 2 CAS and
 * 2 loads for each thread that ever read.
 *
 * **Not** where sections are short and writers frequent: a `Mutex` is cheaper. For a few words that are read much, a
 * `SeqLock`, whose readers write nothing. Tasks of one thread that read take turns.
 *
 * After: the "big reader" lock of Linux for the lines; Brandenburg and Anderson, "Reader-writer synchronization for
 * shared-memory multiprocessor real-time systems" (2009) for the turns of the two sides.
 */
export class RwLock extends SharedObject {
  readonly read: RwLockSide;
  readonly write: RwLockSide;
  readonly #core: RawWriteLock;

  /**
   * Makes a small segment of its own, for up to 64 threads: its `handle` is all that another thread needs.
   *
   * @throws HeddleError `ERR_HEDDLE_THREADS_FULL` where the lock has no line for this thread.
   */
  constructor(
    placement: Placement = alonePlacement(rwLockLayout, undefined, byteLengthFor(DEFAULT_THREADS)),
  ) {
    super(rwLockLayout.kind, placement);
    const { words, token, platform } = placement;
    this.#core = new RawWriteLock(words, token, platform);
    this.write = new RwLockSide(placement, this.#core, state);
    this.read = new RwLockSide(placement, new RawReadLock(words, token, platform), readers);
  }

  /** @throws RangeError for a bad number of threads; as `segment.createStructure` does. */
  static create(segment: Segment, options: NameOptions & RwLockOptions): RwLock {
    const byteLength = byteLengthFor(options.maxThreads ?? DEFAULT_THREADS);
    return new RwLock(createPlacement(segment, rwLockLayout, options, undefined, byteLength));
  }

  /** @throws as `segment.openStructure` does. */
  static open(segment: Segment, name: string): RwLock {
    return new RwLock(openPlacement(segment, rwLockLayout, name));
  }

  /** Attaches to the segment of the handle. @throws TypeError where it is none of a read-write lock. */
  static from(handle: LockHandle): RwLock {
    return new RwLock(handlePlacement(handle, rwLockLayout));
  }

  /** Over words of another structure, which recovers it by {@link recover}. */
  static over(words: Int32Array, options: OverOptions): RwLock {
    const wordCount = byteLengthFor(idOf(options.token)) / WORD_BYTES;
    return new RwLock(overPlacement(words, { kind: rwLockLayout.kind, wordCount }, options));
  }

  /** Bytes that it takes. @throws RangeError for a bad number of threads. */
  static byteLengthFor(options: RwLockOptions = {}): number {
    return byteLengthFor(options.maxThreads ?? DEFAULT_THREADS);
  }

  /** Takes back what a dead thread had on either side, and wakes everyone who sleeps. Can be repeated. */
  recover(deadToken: number): void {
    this.#core.recover(deadToken);
  }
}

function byteLengthFor(maxThreads: number): number {
  if (!Number.isInteger(maxThreads) || maxThreads < 1 || maxThreads > 512) {
    throw new RangeError(
      `The threads of a read-write lock are a whole number from 1 to 512, not ${maxThreads}`,
    );
  }
  return rwLockLayout.byteLength + maxThreads * LINE_WORDS * WORD_BYTES;
}

registerRecovery(rwLockLayout, import.meta.url, ({ words, token, platform = realPlatform }) => {
  // Not an RwLock: a thread that recovers need not have a line of its own.
  const lines = new ReaderLines(words, platform);
  const mutex = new RawMutex(words, token, platform);
  return { recover: (deadToken) => recoverRwLock(lines, mutex, deadToken) };
});
