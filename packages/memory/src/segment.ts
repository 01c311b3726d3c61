import { Directory, type StructureInfo, type StructureOptions } from './directory.js';
import { HeddleError } from './errors.js';
import { forgetJanitor } from './janitor.js';
import { JanitorLink, type Lifeline } from './janitor-link.js';
import { type Layout, LINE_BYTES, WORD_BYTES } from './layout.js';
import { type Platform, realPlatform } from './platform.js';
import { Recovery, type RecoveryReport } from './recovery.js';
import { type Geometry, regionsOf, segmentLayout } from './segment.layout.js';
import { assertBlank, geometryFrom, initialise, readHeader } from './segment-header.js';
import { assertSupported, reserve, sharedBuffer } from './segment-memory.js';
import { type Range, Space } from './space.js';
import { roundingOf } from './space.layout.js';
import { type Membership, threadState, uniqueOfThreadId } from './thread-state.js';
import { type ThreadInfo, ThreadTable, threadsFull } from './thread-table.js';

const { janitor, deaths } = segmentLayout.offsets;

/** Milliseconds after which a recovery that another thread was in the way of is tried again, at first and at most. */
const RECOVER_AGAIN_MS = 50;
const MOST_RECOVER_AGAIN_MS = 1000;

/** Reserved unless told otherwise: 64 MiB, of which only what is touched takes memory. */
export const DEFAULT_SEGMENT_BYTES = 64 * 1024 * 1024;

export interface SegmentOptions extends Partial<Geometry> {
  /**
   * Bytes to reserve, a whole number, rounded up to a multiple of 128. Default 64 MiB. It never grows; pages
   * take memory when they are first touched, so a large reservation is free.
   */
  readonly byteLength?: number | undefined;
  /** Memory to make the segment in, zeroed or a segment already; `byteLength` is its own then. */
  readonly buffer?: SharedArrayBuffer | undefined;
  /** Whether to start a janitor, which sees the deaths of threads whose parents cannot. Default false. */
  readonly janitor?: boolean | undefined;
  /** For tests. */
  readonly platform?: Platform | undefined;
}

export interface AttachOptions {
  /** Milliseconds to wait for the creator, where the memory is still all zero. Default 1000. */
  readonly timeout?: number | undefined;
  /** Whether to link this thread to the janitor, where there is one. Default true. */
  readonly linked?: boolean | undefined;
  /** For tests. */
  readonly platform?: Platform | undefined;
}

/** What another thread needs to attach: plain and cloneable, for `workerData` or a message. Never transfer it. */
export interface SegmentHandle {
  readonly heddle: 'segment';
  readonly buffer: SharedArrayBuffer;
  /** Unique number of the thread that made this handle. */
  readonly from: number;
  /** In the handle of a {@link Segment.lifeline}: the end of a channel to the janitor with this unique number. */
  readonly link?: { readonly port: unknown; readonly janitor: number };
}

/** The thread that a segment object belongs to, as the table knows it. */
export interface ThreadIdentity {
  readonly id: number;
  readonly token: number;
  readonly unique: number;
}

/** What `watch` needs of a worker: Node's `Worker` has it. */
export interface WatchableWorker {
  readonly threadId: number;
  once(event: 'exit', listener: () => void): unknown;
  off(event: 'exit', listener: () => void): unknown;
}

/** How a thread joins. */
type Joining = Pick<SegmentHandle, 'from' | 'link'> & { readonly linked: boolean };

/**
 * The segments of this thread, weakly: one that nobody refers to any more is collected, attached or not, unless it is
 * linked to a janitor. The row that it had stays the thread's until that ends.
 */
const instances = new Map<string, WeakRef<Segment>>();
const collected = new FinalizationRegistry<string>((id) => {
  if (!instances.get(id)?.deref()) instances.delete(id);
  const { memberships } = threadState();
  if (!memberships.get(id)?.deref()) memberships.delete(id);
});

/**
 * One reserved piece of shared memory and what every thread finds in it.
 *
 * **Layout**: `segment.layout.ts`: a header, the thread table, the directory, the range table, then space.
 *
 * **Attaching** gives the thread a row in the thread table, and so an id, until it detaches or dies. Attaching
 * again in the same thread, through any object over the same memory, yields the same segment.
 *
 * **Death** of an attached thread is noticed by its parent ({@link watch}) or by the janitor; both run
 * {@link declareDead}, and whoever meets a row left over runs {@link recover}.
 *
 * Handles cross threads, segments do not:
 *
 * ```ts
 * const segment = Segment.create({ byteLength: 2 ** 30 });
 * const worker = new Worker(new URL('./w.js', import.meta.url), { workerData: segment.handle });
 * segment.watch(worker);
 * // w.js
 * const segment = Segment.attach(workerData);
 * ```
 */
export class Segment {
  /** Process-unique, the same in every thread: 16 hexadecimal digits. */
  readonly id: string;
  readonly buffer: SharedArrayBuffer;
  readonly byteLength: number;
  /** The whole segment. */
  readonly words: Int32Array<SharedArrayBuffer>;
  readonly space: Space;
  readonly directory: Directory;
  readonly platform: Platform;
  readonly #threads: ThreadTable;
  readonly #recovery: Recovery;
  readonly #membership: Membership;
  #uses = 1;
  #recoversLater = false;
  #recoverAgainMs = RECOVER_AGAIN_MS;

  private constructor(buffer: SharedArrayBuffer, platform: Platform, joining: Joining) {
    this.buffer = buffer;
    this.byteLength = buffer.byteLength;
    this.platform = platform;
    this.words = new Int32Array(buffer);
    const header = readHeader(this.words, buffer.byteLength, platform);
    this.id = header.id;
    const regions = regionsOf(header.geometry);
    this.#threads = new ThreadTable(this.words.subarray(regions.threads, regions.directory), platform);
    this.space = new Space(
      this.words.subarray(regions.ranges, regions.space),
      regions.space * WORD_BYTES,
      buffer.byteLength - regions.space * WORD_BYTES,
      platform,
    );
    this.directory = new Directory(
      this.words.subarray(regions.directory, regions.directory + header.geometry.maxStructures),
      this.words,
      this.space,
      platform,
    );
    this.#recovery = new Recovery(this.#threads, this.directory, (kindName) => {
      const kind = threadState().kinds.get(kindName);
      return kind && ((info, dead) => kind.recover({ segment: this, info, dead }));
    });
    this.#membership = this.#join(joining);
  }

  /**
   * Reserves memory and makes a segment in it; over a `buffer` that is a segment already, attaches to it.
   *
   * @throws RangeError or TypeError for bad options; HeddleError `ERR_HEDDLE_UNSUPPORTED` where the engine has no
   *   shared memory, `ERR_HEDDLE_OUT_OF_SPACE` where it refuses so much, `ERR_HEDDLE_NOT_A_SEGMENT` where the
   *   buffer holds something else.
   */
  static create(options: SegmentOptions = {}): Segment {
    const platform = options.platform ?? realPlatform;
    assertSupported();
    const geometry = geometryFrom(options);
    const least = Segment.byteLengthFor({ ...geometry, spaceBytes: 0 });
    const buffer =
      options.buffer === undefined
        ? reserve(options.byteLength ?? DEFAULT_SEGMENT_BYTES, least)
        : sharedBuffer(options.buffer);
    if (buffer.byteLength < least || buffer.byteLength % LINE_BYTES !== 0) {
      throw new RangeError(
        `A segment with these tables is a multiple of ${LINE_BYTES} bytes from ${least}, not ${buffer.byteLength}`,
      );
    }
    const words = new Int32Array(buffer);
    if (options.buffer) assertBlank(words, geometry, platform);
    initialise(words, buffer.byteLength, geometry, platform);
    const segment = Segment.#over(buffer, platform, { from: 0, linked: true });
    if (options.janitor) segment.startJanitor();
    return segment;
  }

  /**
   * Attaches this thread to the segment of a handle.
   *
   * Where its creator was interrupted half way, finishes what it began; where the memory is still all zero, waits.
   *
   * @throws TypeError where it is no handle; HeddleError `ERR_HEDDLE_NOT_READY` when the time is up,
   *   `ERR_HEDDLE_NOT_A_SEGMENT`, `ERR_HEDDLE_VERSION`, `ERR_HEDDLE_BYTE_ORDER` or `ERR_HEDDLE_SEGMENT_SIZE` for
   *   memory that is none of ours, `ERR_HEDDLE_THREADS_FULL` where no row is left.
   */
  static attach(handle: SegmentHandle, options: AttachOptions = {}): Segment {
    if (typeof handle !== 'object' || handle === null || handle.heddle !== 'segment') {
      throw new TypeError(
        'Segment.attach takes what segment.handle gave, passed through workerData or a message',
      );
    }
    assertSupported();
    const platform = options.platform ?? realPlatform;
    const buffer = sharedBuffer(handle.buffer);
    if (buffer.byteLength < segmentLayout.byteLength || buffer.byteLength % LINE_BYTES !== 0) {
      throw new HeddleError(
        'ERR_HEDDLE_NOT_A_SEGMENT',
        `A buffer of ${buffer.byteLength} bytes cannot be a segment`,
      );
    }
    initialise(new Int32Array(buffer), buffer.byteLength, undefined, platform, options.timeout ?? 1000);
    return Segment.#over(buffer, platform, { ...handle, linked: options.linked ?? true });
  }

  /**
   * Bytes of a segment with these tables and so many bytes of space. Each structure takes a line of it besides its
   * body, and rounds up to lines. What larger ones than 16 MiB round up to is added to it.
   *
   * @throws RangeError for a bad size.
   */
  static byteLengthFor(options: Partial<Geometry> & { readonly spaceBytes: number }): number {
    if (!Number.isSafeInteger(options.spaceBytes) || options.spaceBytes < 0) {
      throw new RangeError(`Space is a whole number of bytes, not ${options.spaceBytes}`);
    }
    const lines = Math.ceil(options.spaceBytes / LINE_BYTES);
    return regionsOf(geometryFrom(options)).space * WORD_BYTES + (lines + roundingOf(lines)) * LINE_BYTES;
  }

  static #over(buffer: SharedArrayBuffer, platform: Platform, joining: Joining): Segment {
    const { id } = readHeader(new Int32Array(buffer), buffer.byteLength, platform);
    const known = platform === realPlatform ? instances.get(id)?.deref() : undefined;
    if (known) {
      known.#uses++;
      return known;
    }
    const segment = new Segment(buffer, platform, joining);
    if (platform === realPlatform) instances.set(id, new WeakRef(segment));
    collected.register(segment, id);
    return segment;
  }

  /** What another thread attaches with. Every call makes one; they are all alike. */
  get handle(): SegmentHandle {
    return { heddle: 'segment', buffer: this.buffer, from: threadState().unique };
  }

  /** This thread, as owner words name it. */
  get thread(): ThreadIdentity {
    const { id, token } = this.#membership;
    return { id, token, unique: threadState().unique };
  }

  /** Whether this object can be used: false after {@link detach}. */
  get attached(): boolean {
    return this.#uses > 0;
  }

  /** Takes a range of space for this thread; until `space.keep` it is freed when this thread ends. */
  allocate(byteLength: number, options: { readonly align?: number } = {}): Range {
    this.assertAttached();
    return this.space.allocate(byteLength, this.#membership.id, options.align);
  }

  /** Creates a named structure; see {@link Directory.create}. */
  createStructure(options: StructureOptions): StructureInfo {
    this.assertAttached();
    return this.directory.create(options, this.#membership.id);
  }

  /** Opens a named structure, or creates it; see {@link Directory.openOrCreate}. */
  openOrCreateStructure(options: StructureOptions): { info: StructureInfo; created: boolean } {
    this.assertAttached();
    return this.directory.openOrCreate(options, this.#membership.id);
  }

  /** Opens a named structure; see {@link Directory.open}. */
  openStructure(name: string, layout: Pick<Layout, 'kind' | 'version'>): StructureInfo {
    this.assertAttached();
    return this.directory.open(name, layout);
  }

  /** Removes a named structure and frees its memory; see {@link Directory.remove}. */
  removeStructure(info: StructureInfo): boolean {
    this.assertAttached();
    return this.directory.remove(info, this.#membership.id);
  }

  /**
   * The words of a part of the segment.
   *
   * @throws RangeError where it is not aligned to words or not inside of the segment.
   */
  wordsAt(byteOffset: number, byteLength: number): Int32Array<SharedArrayBuffer> {
    this.#assertInside(byteOffset, byteLength, WORD_BYTES);
    return new Int32Array(this.buffer, byteOffset, byteLength / WORD_BYTES);
  }

  /**
   * The bytes of a part of the segment.
   *
   * @throws RangeError where it is not inside of the segment.
   */
  bytesAt(byteOffset: number, byteLength: number): Uint8Array<SharedArrayBuffer> {
    this.#assertInside(byteOffset, byteLength, 1);
    return new Uint8Array(this.buffer, byteOffset, byteLength);
  }

  /** Everyone who is attached, and who is dead and not recovered yet. */
  threads(): ThreadInfo[] {
    const all: ThreadInfo[] = [];
    for (let id = 1; id <= this.#threads.capacity; id++) {
      const info = this.#threads.info(id);
      if (info) all.push(info);
    }
    return all;
  }

  /** Whether the thread of this token lives. 2 loads. */
  isAlive(token: number): boolean {
    return this.#threads.isAlive(token);
  }

  /**
   * Recovers what a worker held when it exits, however it ends. The calling thread needs a turn of its event
   * loop for it; where it may be blocked, use the janitor as well.
   *
   * @returns a function that stops watching.
   * @throws HeddleError `ERR_HEDDLE_CLOSED` where the worker has exited already, `ERR_HEDDLE_UNSUPPORTED` where
   *   the engine does not tell when a worker ends.
   */
  watch(worker: WatchableWorker): () => void {
    this.assertAttached();
    if (typeof worker?.threadId !== 'number' || typeof worker.once !== 'function') {
      throw new HeddleError(
        'ERR_HEDDLE_UNSUPPORTED',
        'This engine does not tell when a worker ends: call segment.declareDead with its unique number when you know',
      );
    }
    if (worker.threadId < 0) {
      throw new HeddleError(
        'ERR_HEDDLE_CLOSED',
        'The worker has exited already: watch it when it is created',
      );
    }
    const unique = uniqueOfThreadId(worker.threadId);
    const onExit = () => {
      if (this.attached) this.declareDead(unique);
    };
    worker.once('exit', onExit);
    return () => worker.off('exit', onExit);
  }

  /**
   * Says that the thread of this unique number is dead, wakes who waits for deaths, and recovers what it held.
   * A thread that lives and is declared dead will corrupt memory: both detectors call this only after its last store.
   *
   * @throws RangeError where the number cannot be that of a dead thread.
   */
  declareDead(unique: number): RecoveryReport {
    this.assertAttached();
    if (!Number.isInteger(unique) || unique < 1 || unique > 2 ** 31 - 1 || unique === threadState().unique) {
      throw new RangeError(`${unique} is not the unique number of another thread`);
    }
    return this.#declareDead(unique);
  }

  #declareDead(unique: number): RecoveryReport {
    this.#threads.markDead(unique);
    this.platform.atomics.add(this.words, deaths, 1);
    this.platform.atomics.notify(this.words, deaths);
    forgetJanitor(this, unique);
    const report = this.#recover();
    if (report.unknownKinds.length > 0) this.#membership.link.askForHelp();
    return report;
  }

  /**
   * Recovers every dead thread that nobody else is recovering. Anyone may call it at any time. Where some thread has a
   * structure and does not move, it is tried again from this thread's event loop.
   *
   * @throws what the `recover` of a structure threw; its row stays dead then, others are recovered.
   */
  recover(): RecoveryReport {
    this.assertAttached();
    return this.#recover();
  }

  #recover(): RecoveryReport {
    const report = this.#recovery.run(this.#membership.token);
    if (!report.stalled) this.#recoverAgainMs = RECOVER_AGAIN_MS;
    else if (!this.#recoversLater) {
      this.#recoversLater = true;
      this.platform.schedule(() => {
        this.#recoversLater = false;
        // Also where only another object of this thread is attached still.
        if (this.#membership.uses > 0) this.#recover();
      }, this.#recoverAgainMs);
      this.#recoverAgainMs = Math.min(2 * this.#recoverAgainMs, MOST_RECOVER_AGAIN_MS);
    }
    return report;
  }

  /** A number that changes after every death that is noticed, once or more; wraps at 2^32. */
  get deaths(): number {
    return this.platform.atomics.load(this.words, deaths) >>> 0;
  }

  /**
   * Starts a thread that sees the deaths of all threads that attach from now on, where there is none.
   *
   * @throws HeddleError `ERR_HEDDLE_UNSUPPORTED` outside of Node, and in a bundle without the janitor's file.
   */
  startJanitor(): void {
    this.assertAttached();
    this.#membership.link.start();
  }

  /** Unique number of the janitor's thread, 0 where there is none that is ready. */
  get janitor(): number {
    return Math.max(this.platform.atomics.load(this.words, janitor), 0);
  }

  /**
   * A handle for one worker that is linked to the janitor from the start, also while this thread blocks.
   *
   * ```ts
   * const { handle, transferList } = segment.lifeline();
   * new Worker(url, { workerData: { segment: handle }, transferList });
   * ```
   *
   * @throws HeddleError `ERR_HEDDLE_UNSUPPORTED` where this thread is not linked to a janitor.
   */
  lifeline(): Lifeline {
    this.assertAttached();
    return this.#membership.link.lifeline();
  }

  /** What goes into a log as JSON: not the memory, word by word, in which a logger would spend minutes. */
  toJSON(): Pick<Segment, 'id' | 'byteLength'> {
    return { id: this.id, byteLength: this.byteLength };
  }

  /**
   * Takes this thread out. What it still holds is recovered as after a death. Each `create` or `attach` of this
   * thread needs one; the last one counts.
   */
  detach(): void {
    if (this.#uses === 0 || --this.#uses > 0) return;
    if (instances.get(this.id)?.deref() === this) instances.delete(this.id);
    if (--this.#membership.uses > 0) return;
    threadState().memberships.delete(this.id);
    this.#recovery.leave(this.#membership.token, threadState().unique);
    this.#membership.link.close();
  }

  [Symbol.dispose](): void {
    this.detach();
  }

  /** @throws HeddleError `ERR_HEDDLE_DETACHED` after {@link detach}. */
  assertAttached(): void {
    if (this.#uses > 0) return;
    throw new HeddleError(
      'ERR_HEDDLE_DETACHED',
      `This thread has detached from segment ${this.id}: attach again`,
    );
  }

  /** For the janitor: notes that it has a port to this thread. */
  noteLinked(unique: number): void {
    this.#threads.noteLinked(unique);
  }

  #join({ from, linked, link: lifeline }: Joining): Membership {
    const state = threadState(this.platform);
    const known = state.memberships.get(this.id)?.deref();
    if (known) {
      known.uses++;
      return known;
    }
    // It works for the thread as long as that is attached, also when another copy of this package holds on to it.
    const link = new JanitorLink(this, {
      declareDead: (unique) => this.#declareDead(unique),
      recover: () => this.#recover(),
      parentOf: (unique) => this.threads().find((thread) => thread.unique === unique)?.parent ?? 0,
      noteUnlinked: () => this.#threads.noteLinked(threadState().unique, false),
      awaitLinked: (timeoutMs) => this.#threads.awaitLinked(this.#membership.id, timeoutMs),
    });
    // Before the row is claimed: from then on a death is seen.
    if (linked) link.connect(lifeline);
    const id = this.#threads.claim(state.unique, from);
    if (id === 0) {
      link.close();
      throw threadsFull(this.#threads.capacity);
    }
    link.noteAttached();
    const membership = { id, token: this.#threads.tokenOf(id), uses: 1, link };
    state.memberships.set(this.id, new WeakRef(membership));
    return membership;
  }

  #assertInside(byteOffset: number, byteLength: number, unit: number): void {
    const end = byteOffset + byteLength;
    const whole = Number.isSafeInteger(byteOffset) && Number.isSafeInteger(byteLength);
    if (
      whole &&
      byteOffset >= 0 &&
      byteLength >= 0 &&
      end <= this.byteLength &&
      byteOffset % unit === 0 &&
      byteLength % unit === 0
    ) {
      return;
    }
    throw new RangeError(
      `Bytes ${byteOffset} to ${end} are not inside of the segment's ${this.byteLength}, or not multiples of ${unit}`,
    );
  }
}
