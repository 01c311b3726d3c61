import { HeddleError, Segment, type SegmentHandle, type WatchableWorker } from '@heddle/memory';
import { type Audit, Mpool } from '@heddle/mpool';
import { assertAddress, type WorkerAddress } from './address.js';
import { contextMemoryOf, forgetContextMemory, poolNameOf } from './context-memories.js';
import type { ContextMemory } from './context-memory.js';
import { type ContextOptions, planOf } from './context-options.js';
import { PHASE, phaseOf } from './lane-life.js';
import { Lease, type LeaseHandle } from './lease.js';
import { shutDown } from './shut-down.js';
import { type SpawnedWorker, type SpawnOptions, startWorker } from './spawn.js';
import { THREAD_MODES, type ThreadMode } from './thread-mode.js';
import { contextByteLength, contextLayout, writeShape } from './transport.layout.js';
import { closedError } from './transport-errors.js';
import { TransportWorker } from './transport-worker.js';

/** What another thread attaches with: plain and cloneable, for `workerData` or a message. Never transfer it. */
export interface ContextHandle {
  readonly heddle: 'context';
  readonly segment: SegmentHandle;
  readonly name: string;
}

export interface WorkerOptions {
  /** For people. Default `'worker'`. */
  readonly name?: string | undefined;
  /** Default `'single'`. */
  readonly threadMode?: ThreadMode | undefined;
}

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
  readonly #memory: ContextMemory;
  readonly #key: string;
  readonly #workers = new Set<TransportWorker>();
  readonly #unwatch = new Set<() => void>();
  #uses = 1;

  private constructor(segment: Segment, name: string, key: string) {
    this.segment = segment;
    this.name = name;
    this.#key = key;
    this.#memory = contextMemoryOf(segment, segment.openStructure(name, contextLayout));
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
      : Segment.create({ byteLength: plan.byteLength, janitor: options.janitor ?? true });
    try {
      const made = segment.createStructure({
        name: plan.name,
        layout: contextLayout,
        byteLength: contextByteLength(plan.shape),
        init: ({ byteOffset, byteLength }) => writeShape(segment.wordsAt(byteOffset, byteLength), plan.shape),
      });
      try {
        Mpool.create(segment, { name: poolNameOf(plan.name), elemSize: plan.elemSize, maxElems: plan.slots });
      } catch (error) {
        segment.removeStructure(made);
        throw error;
      }
      return Context.#over(segment, plan.name);
    } catch (error) {
      segment.detach();
      throw error;
    }
  }

  /**
   * Attaches this thread to the context of a handle. Each `create` or `attach` of a thread needs a `close`.
   *
   * @throws TypeError where it is no handle; HeddleError as `Segment.attach` does, `ERR_HEDDLE_NAME_UNKNOWN`,
   *   `ERR_HEDDLE_CLOSED` where the context was shut down.
   */
  static attach(handle: ContextHandle): Context {
    if (typeof handle !== 'object' || handle === null || handle.heddle !== 'context') {
      throw new TypeError(
        'Context.attach takes what context.handle gave; context.spawn passes it as workerData.heddle',
      );
    }
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
    return { heddle: 'context', segment: this.segment.handle, name: this.name };
  }

  /** Whether the context was shut down, by whichever thread. 1 load. */
  get closed(): boolean {
    return this.#memory.closed;
  }

  /**
   * Makes a worker of this thread, which can receive.
   *
   * @throws HeddleError `ERR_HEDDLE_EXHAUSTED` where there are `maxWorkers` already, `ERR_HEDDLE_UNSUPPORTED` for a thread
   *   mode that cannot be had, `ERR_HEDDLE_CLOSED` after `shutdown`.
   */
  createWorker(options: WorkerOptions = {}): TransportWorker {
    this.#assertOpen();
    const threadMode = options.threadMode ?? 'single';
    const mode = THREAD_MODES.indexOf(threadMode);
    if (mode < 0) {
      throw new HeddleError(
        'ERR_HEDDLE_UNSUPPORTED',
        `Thread mode "${threadMode}" cannot be had, only ${THREAD_MODES.join(' and ')}`,
        { threadMode },
      );
    }
    const { maxWorkers } = this.#memory.shape;
    for (let row = 0; row < maxWorkers; row++) {
      const generation = this.#memory.row(row).claim(this.#memory.token, mode);
      if (generation >= 0) return this.#worker({ row, generation }, options.name ?? 'worker');
    }
    throw new HeddleError(
      'ERR_HEDDLE_EXHAUSTED',
      `The context has ${maxWorkers} workers already: close some, or create it with a larger maxWorkers`,
      { maxWorkers },
    );
  }

  /**
   * Opens a worker that another thread made, to receive on it too.
   *
   * @throws HeddleError `ERR_HEDDLE_WRONG_THREAD` where its thread mode is `single`, `ERR_HEDDLE_CLOSED` where it is gone;
   *   TypeError where it is no address.
   */
  openWorker(address: WorkerAddress): TransportWorker {
    assertAddress(address);
    this.#assertOpen();
    const row = this.#memory.row(address.row);
    if (address.segment !== this.segment.id || !row.isOpen(address.generation)) {
      throw closedError(`The worker in row ${address.row} of generation ${address.generation}`);
    }
    const { owner } = row;
    if (THREAD_MODES[row.threadMode] === 'single') {
      throw new HeddleError(
        'ERR_HEDDLE_WRONG_THREAD',
        `This worker is for the thread with token ${owner} only: its thread mode is "single". Create it with threadMode "serialized", or make a worker of your own`,
        { owner, thread: this.#memory.token },
      );
    }
    return this.#worker({ row: address.row, generation: address.generation }, 'worker');
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
    const { workerData = {} } = options;
    if (typeof workerData !== 'object' || workerData === null || 'heddle' in workerData) {
      throw new TypeError('workerData is an object without "heddle", under which the handle is passed');
    }
    const { handle, transferList } = this.lifeline();
    const worker = startWorker(url, {
      ...options,
      workerData: { ...workerData, heddle: handle },
      transferList: [...(options.transferList ?? []), ...transferList],
    });
    this.adopt(worker);
    return worker as unknown as Worker;
  }

  /**
   * Watches for the end of a worker that the program started itself. Give it `context.handle`, or better what
   * {@link lifeline} gives.
   *
   * @returns a function that stops watching.
   * @throws HeddleError `ERR_HEDDLE_CLOSED` where it has ended already.
   */
  adopt(worker: WatchableWorker): () => void {
    const stop = this.segment.watch(worker);
    this.#unwatch.add(stop);
    return () => {
      this.#unwatch.delete(stop);
      stop();
    };
  }

  /** A handle for one worker, linked to the janitor where there is one, and what to transfer with it. */
  // biome-ignore lint/suspicious/noExplicitAny: the type of a transfer list differs from engine to engine
  lifeline(): { readonly handle: ContextHandle; readonly transferList: any[] } {
    try {
      const { handle, transferList } = this.segment.lifeline();
      return { handle: { heddle: 'context', segment: handle, name: this.name }, transferList };
    } catch (error) {
      if (!(error instanceof HeddleError && error.code === 'ERR_HEDDLE_UNSUPPORTED')) throw error;
      return { handle: this.handle, transferList: [] };
    }
  }

  /** Takes over data that another thread keeps. @throws as {@link Lease.take} does. */
  lease(handle: LeaseHandle): Lease {
    return Lease.take(this.#memory, handle);
  }

  /** Who holds which slots, as text. */
  report(): string {
    return this.#pool().report();
  }

  /** The pool's account of the slots: how many were got and put, who holds which. */
  audit(): Audit {
    return this.#pool().audit();
  }

  /** How much of the context is in use. */
  usage(): { readonly workers: number; readonly lanes: number; readonly slots: number } {
    const { shape } = this.#memory;
    let workers = 0;
    let lanes = 0;
    for (let row = 0; row < shape.maxWorkers; row++) if (this.#memory.row(row).owner !== 0) workers++;
    for (let lane = 0; lane < shape.maxLanes; lane++) {
      if (phaseOf(this.#memory.lane(lane).life.state) !== PHASE.free) lanes++;
    }
    return { workers, lanes, slots: this.audit().outstanding };
  }

  /**
   * Ends all traffic of the context, from any thread: whoever waits wakes, what was sent before is still read, then every
   * call fails with `ERR_HEDDLE_CLOSED`. Every thread still closes its own use.
   */
  shutdown(): void {
    shutDown(this.#memory);
  }

  /**
   * Ends this thread's use: waits, a second unless told otherwise, until what it sent was handled, closes its workers and
   * endpoints, and detaches. What is left then comes back as after a death.
   */
  async close(options: CloseOptions = {}): Promise<void> {
    if (this.#uses === 0) return;
    if (this.#uses === 1) {
      const { timeout = DEFAULT_CLOSE_MS } = options;
      const flushes = [...this.#workers].map((worker) => worker.flushAll({ timeout }));
      await Promise.all(flushes);
    }
    this[Symbol.dispose]();
  }

  /** The same without waiting. */
  [Symbol.dispose](): void {
    if (this.#uses === 0) return;
    this.#release();
    this.segment.detach();
  }

  #pool(): Mpool {
    return Mpool.open(this.segment, poolNameOf(this.name));
  }

  #release(): void {
    if (--this.#uses > 0) return;
    contexts.delete(this.#key);
    for (const worker of [...this.#workers]) worker.close();
    for (const stop of this.#unwatch) stop();
    this.#memory.flushPool();
    forgetContextMemory(this.segment, this.name);
  }

  #worker(place: { row: number; generation: number }, name: string): TransportWorker {
    const worker = new TransportWorker(this.#memory, place, name, (closed) => this.#workers.delete(closed));
    this.#workers.add(worker);
    return worker;
  }

  #assertOpen(): void {
    if (this.#uses === 0) throw closedError('This thread’s use of the context');
    if (this.closed) throw closedError('The context');
  }
}
