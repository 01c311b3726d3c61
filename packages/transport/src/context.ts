import type { LockOutcome } from '@heddle/lock';
import {
  deadlineAfter,
  HeddleError,
  Segment,
  type StructureInfo,
  timeoutOf,
  type WatchableWorker,
} from '@heddle/memory';
import { type Audit, Mpool } from '@heddle/mpool';
import type { WorkerAddress } from './address.js';
import { assertContextHandle, type ContextHandle } from './context-handle.js';
import { isMade, makeContext, poolNameOf } from './context-making.js';
import { contextMemoryOf, forgetContextMemory, poolMakingOf } from './context-memories.js';
import type { ContextMemory } from './context-memory.js';
import { type ContextOptions, planOf } from './context-options.js';
import { type KeptMessage, keptOf } from './kept-note.js';
import { PHASE, phaseOf } from './lane-life.js';
import { Lease, type LeaseHandle } from './lease.js';
import type { MtType } from './mt-type.js';
import { shutDown } from './shut-down.js';
import type { SpawnedWorker, SpawnOptions } from './spawn.js';
import { ThreadLinks } from './thread-links.js';
import { contextLayout } from './transport.layout.js';
import { assertWhole, closedError } from './transport-errors.js';
import type { TransportWorker } from './transport-worker.js';
import type { OpenOptions, WorkerOptions } from './worker-options.js';
import { WorkerTable } from './worker-table.js';

export interface CloseOptions {
  /** Milliseconds to wait until what was sent is handled. Default 1000; 0 does not wait. */
  readonly timeout?: number | undefined;
}

const DEFAULT_CLOSE_MS = 1000;

/** The contexts of this thread. */
const contexts = new Map<string, Context>();

/**
 * What all threads of an application share: the workers that receive, the lanes between them, and a pool for data.
 *
 * ```ts
 * const context = Context.create();
 * const worker = context.createWorker({ name: 'main' });
 * context.spawn(new URL('./echo.js', import.meta.url), { workerData: { main: worker.address } });
 * worker.on(1, (message) => console.log(message.byteLength));
 * await worker.run();
 *
 * // echo.js
 * const context = Context.attach(workerData.heddle);
 * const endpoint = context.createWorker().connect(workerData.main);
 * endpoint.trySend(1, new TextEncoder().encode('hello'));
 * await context.close();
 * ```
 *
 * **Memory**: lanes and pool are reserved at creation; the operating system gives what is touched. Lanes and slots are
 * used again, so that threads may come and go for ever.
 *
 * **Death** of a thread is seen by whoever spawned or adopted it, and by the janitor: its workers close, what it held
 * comes back, whoever sends to it is told.
 *
 * **When not to use it**: for a few messages a second, `postMessage` does; for one writer and one reader of bytes, a ring.
 */
export class Context {
  readonly name: string;
  readonly segment: Segment;
  readonly #info: StructureInfo;
  readonly #memory: ContextMemory;
  readonly #key: string;
  readonly #workers: WorkerTable;
  readonly #links: ThreadLinks;
  /** For reports. Opened once. */
  #openPools: readonly Mpool[] | undefined;
  #uses = 1;

  private constructor(segment: Segment, name: string, key: string) {
    this.segment = segment;
    this.name = name;
    this.#key = key;
    this.#info = segment.openStructure(name, contextLayout);
    if (!isMade(segment, this.#info)) {
      throw new HeddleError(
        'ERR_HEDDLE_NOT_READY',
        `The context "${name}" is still being made: attach with the handle that its maker gives`,
        { name },
      );
    }
    this.#memory = contextMemoryOf(segment, this.#info);
    this.#workers = new WorkerTable(this.#memory);
    this.#links = new ThreadLinks(segment, name);
    // What is for one thread is refused to others before they have begun.
    if (this.mtType === 'none') this.#memory.lock.run(() => {});
  }

  /**
   * Makes a context, in a segment of its own unless told otherwise, and attaches this thread.
   *
   * @throws TypeError or RangeError for bad options; HeddleError `ERR_HEDDLE_NAME_TAKEN`, `ERR_HEDDLE_OUT_OF_SPACE`,
   *   `ERR_HEDDLE_UNSUPPORTED` where a janitor cannot be had: pass `janitor: false`.
   */
  static create(options: ContextOptions = {}): Context {
    const plan = planOf(options);
    const { segment: given } = options;
    // One more use of a segment that is given: closing the context ends that one only.
    const segment = given
      ? Segment.attach(given.handle, { platform: given.platform })
      : Segment.create({
          byteLength: plan.byteLength,
          maxThreads: plan.maxThreads,
          janitor: options.janitor ?? true,
        });
    try {
      makeContext(segment, plan.name, plan.shape, poolMakingOf(segment, plan.pools));
      const context = Context.#over(segment, plan.name);
      // What one thread has for itself is that of the one that made it.
      context.#memory.lock.run(() => {});
      return context;
    } catch (error) {
      segment.detach();
      throw error;
    }
  }

  /**
   * Attaches this thread to the context of a handle. Each `create` or `attach` of a thread needs a `close`.
   *
   * @throws TypeError where it is no handle; HeddleError as `Segment.attach` does, `ERR_HEDDLE_NAME_UNKNOWN`,
   *   `ERR_HEDDLE_NOT_READY` while it is being made, `ERR_HEDDLE_CLOSED` where the context was shut down.
   */
  static attach(handle: ContextHandle): Context {
    assertContextHandle(handle);
    const segment = Segment.attach(handle.segment);
    try {
      const context = Context.#over(segment, handle.name);
      if (context.closed) {
        context.#release();
        throw closedError('The context');
      }
      return context;
    } catch (error) {
      segment.detach();
      throw error;
    }
  }

  static #over(segment: Segment, name: string): Context {
    const key = `${segment.id}/${name}`;
    const known = contexts.get(key);
    if (known) {
      known.#uses++;
      return known;
    }
    const context = new Context(segment, name, key);
    contexts.set(key, context);
    return context;
  }

  /** What another thread attaches with. */
  get handle(): ContextHandle {
    return this.#links.handle;
  }

  /** Whether the context was shut down, by whichever thread. 1 load. */
  get closed(): boolean {
    return this.#memory.closed;
  }

  /**
   * Makes a worker of this thread, which can receive.
   *
   * @throws HeddleError `ERR_HEDDLE_EXHAUSTED` where there are `maxWorkers` already, `ERR_HEDDLE_UNSUPPORTED` for a thread
   *   mode that cannot be had, `ERR_HEDDLE_CLOSED` after `shutdown`; `ERR_HEDDLE_MUST_NOT_BLOCK` on a thread that must
   *   not block, where another one stays in a section of {@link locked} for more than some milliseconds.
   */
  createWorker(options: WorkerOptions = {}): TransportWorker {
    return this.#readyWorkers().create(options);
  }

  /**
   * Opens a worker that another thread made, to receive on it too. Where this thread has it already, made or opened, it
   * is that one, whatever the options.
   *
   * @throws HeddleError `ERR_HEDDLE_WRONG_THREAD` where its thread mode is `single`, `ERR_HEDDLE_CLOSED` where it is gone;
   *   TypeError where it is no address, RangeError where it is one of another context.
   */
  openWorker(address: WorkerAddress, options: OpenOptions = {}): TransportWorker {
    return this.#readyWorkers().open(address, options);
  }

  /**
   * Starts a thread that finds the handle of this context in `workerData.heddle`, watches for its end, and links it to
   * the janitor from the start.
   *
   * @typeParam Worker Node's `Worker`, where its types are at hand.
   * @param options those of Node's `Worker`; `workerData` is an object.
   * @throws TypeError where `workerData` is no object, or has a `heddle` of its own; HeddleError `ERR_HEDDLE_UNSUPPORTED`
   *   outside of Node. What starting a thread throws comes through.
   */
  spawn<Worker = SpawnedWorker>(url: URL | string, options: SpawnOptions = {}): Worker {
    this.#assertOpen();
    return this.#links.spawn(url, options) as unknown as Worker;
  }

  /**
   * Watches for the end of a worker that the program started itself. Give it `context.handle`, or better what
   * {@link lifeline} gives.
   *
   * @returns a function that stops watching.
   * @throws HeddleError `ERR_HEDDLE_CLOSED` where it has ended already, or this thread has closed its use.
   */
  adopt(worker: WatchableWorker): () => void {
    this.#assertUsed();
    return this.#links.adopt(worker);
  }

  /**
   * A handle for one worker, linked to the janitor where there is one, and what to transfer with it.
   *
   * @throws HeddleError `ERR_HEDDLE_CLOSED` where this thread has closed its use.
   */
  // biome-ignore lint/suspicious/noExplicitAny: the type of a transfer list differs from engine to engine
  lifeline(): { readonly handle: ContextHandle; readonly transferList: any[] } {
    this.#assertUsed();
    return this.#links.lifeline();
  }

  /** Which lock guards what the threads share: the one in force. */
  get mtType(): MtType {
    return this.#memory.lock.type;
  }

  /**
   * Runs `section` under the context's lock, for what the threads of the program share. Keep it short: connecting and
   * creating workers wait meanwhile. Sections of one thread may nest.
   *
   * @param section is told `'owner-died'` where the thread that had the lock last died in a section.
   * @throws HeddleError `ERR_HEDDLE_WRONG_THREAD` where the mtType lets no other thread share; `ERR_HEDDLE_MUST_NOT_BLOCK` on
   *   a thread that must not block, after it tried for some milliseconds; what `section` throws. Cost, in Atomics calls, where nobody else is in one: 2; mtType `worker-async` 6, `none` 0.
   */
  locked<Result>(section: (outcome: LockOutcome) => Result): Result {
    this.#assertOpen();
    return this.#memory.lock.run(section);
  }

  /** Takes over data that another thread keeps. @throws as {@link Lease.take} does. */
  lease(handle: LeaseHandle): Lease {
    return Lease.take(this.#memory, handle);
  }

  /** Who holds which slots, and who keeps messages since when, as text. */
  report(): string {
    const kept = this.kept().map(
      ({ descriptor, size, threadId, handedOver, ageMs }) =>
        `  kept: descriptor ${descriptor} of size ${size}, ${handedOver ? 'handed over' : 'held'} by thread ${threadId}, for ${ageMs} ms`,
    );
    return [...this.#pools().map((pool) => pool.report()), ...kept].join('\n');
  }

  /**
   * The messages that threads of this context keep, those first that were kept first: with an age that nobody expects they
   * are forgotten. Each lasts until it is released, or its thread ends, also when the worker that received it, its
   * sender, or both are closed.
   *
   * @param olderThanMs those kept for longer than this many milliseconds. Default 0: all of them.
   * @throws RangeError where it is NaN.
   */
  kept({ olderThanMs = 0 }: { readonly olderThanMs?: number } = {}): KeptMessage[] {
    if (Number.isNaN(olderThanMs)) throw new RangeError('olderThanMs is a number of milliseconds, not NaN');
    const kept = this.#pools().flatMap((pool, size) => keptOf(this.#memory, size, pool.audit()));
    return kept.filter(({ ageMs }) => ageMs >= olderThanMs).sort((a, b) => b.ageMs - a.ageMs);
  }

  /**
   * The account of the slots of one size: how many were got and put, who holds which.
   *
   * @param size 0 for the smallest, and so on.
   * @throws RangeError where there is no such size.
   */
  audit(size = 0): Audit {
    const pools = this.#pools();
    return pools[assertWhole('size', size, 0, pools.length - 1)]!.audit();
  }

  /** How much of the context is in use. */
  usage(): { readonly workers: number; readonly lanes: number; readonly slots: number } {
    const { shape } = this.#memory;
    let workers = 0;
    let lanes = 0;
    for (let row = 0; row < shape.maxWorkers; row++) if (this.#memory.row(row).owner !== 0) workers++;
    const { lanesUsed } = this.#memory;
    for (let lane = 0; lane < lanesUsed; lane++) {
      if (phaseOf(this.#memory.lane(lane).life.state) !== PHASE.free) lanes++;
    }
    const slots = this.#pools().reduce((sum, pool) => sum + pool.audit().outstanding, 0);
    return { workers, lanes, slots };
  }

  /**
   * Ends all traffic of the context, from any thread: whoever waits wakes, what was sent before is still read, then every
   * call fails with `ERR_HEDDLE_CLOSED`. Every thread still closes its own use.
   *
   * @throws HeddleError `ERR_HEDDLE_CLOSED` where this thread has closed its use.
   */
  shutdown(): void {
    this.#assertUsed();
    shutDown(this.#memory);
  }

  /**
   * Ends this thread's use: waits, a second unless told otherwise, until what it sent was handled, closes its workers and
   * endpoints, and detaches. What is left then comes back as after a death.
   *
   * @throws (rejects) with a TypeError or RangeError for a bad timeout: nothing has changed then; with what functions of
   *   completions throw, after everything is closed.
   */
  async close(options: CloseOptions = {}): Promise<void> {
    if (this.#uses === 0) return;
    const timeout = timeoutOf(options) ?? DEFAULT_CLOSE_MS;
    deadlineAfter(timeout, this.#memory.platform.now);
    if (this.#uses === 1) await this.#workers.flush(timeout);
    this[Symbol.dispose]();
  }

  /**
   * The same without waiting.
   *
   * @throws HeddleError `ERR_HEDDLE_OUTSTANDING` from inside a handler: nothing has changed then; else as {@link close}.
   */
  [Symbol.dispose](): void {
    if (this.#uses === 0) return;
    if (this.#uses === 1) this.#workers.assertOutside();
    try {
      this.#release();
    } finally {
      this.segment.detach();
    }
  }

  #pools(): readonly Mpool[] {
    const { slotBytes } = this.#memory.shape;
    this.#openPools ??= slotBytes.map((_, size) => Mpool.open(this.segment, poolNameOf(this.#info, size)));
    return this.#openPools;
  }

  #release(): void {
    if (--this.#uses > 0) return;
    contexts.delete(this.#key);
    try {
      this.#workers.close();
    } finally {
      this.#links.close();
      this.#memory.flushPools();
      forgetContextMemory(this.segment, this.#info);
    }
  }

  #assertUsed(): void {
    if (this.#uses === 0) throw closedError('This thread’s use of the context');
  }

  /** For who is about to have a worker: its first message should not wait for code that is new to the thread. */
  #readyWorkers(): WorkerTable {
    this.#assertOpen();
    this.#memory.slots.of(0);
    return this.#workers;
  }

  #assertOpen(): void {
    this.#assertUsed();
    if (this.closed) throw closedError('The context');
  }
}
