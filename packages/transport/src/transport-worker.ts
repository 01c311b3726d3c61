import {
  assertMayBlock,
  deadlineAfter,
  HeddleError,
  runAsync,
  runBlocking,
  type WaitAsyncOptions,
  type WaitOptions,
} from '@heddle/memory';
import { assertAddress, type WorkerAddress } from './address.js';
import { type Arming, ArmSteps } from './arm-steps.js';
import type { ContextMemory } from './context-memory.js';
import { Doorbell } from './doorbell.js';
import { Endpoint, type EndpointOptions } from './endpoint.js';
import { Entry } from './entry.js';
import { type LoopReceiver, runOnEventLoop } from './event-loop-run.js';
import { KeepAlive } from './keep-alive.js';
import { endLanesTo } from './lane-ends.js';
import type { WorkerPlace } from './lane-life.js';
import type { Message, MessageCursor } from './message.js';
import { OutboundLane } from './outbound-lane.js';
import { Polling } from './polling.js';
import { type ReceiveCounts, ReceiveQueue } from './receive-queue.js';
import { MAX_ID } from './record.js';
import { THREAD_MODES, type ThreadMode } from './thread-mode.js';
import { workerRowLayout } from './transport.layout.js';
import { assertWhole, closedError, noHandler } from './transport-errors.js';
import type { WorkerRow } from './worker-row.js';

export type Handler = (message: Message) => void;

export interface RunOptions {
  /** Ends the run: its promise resolves. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * A receive queue with its handlers, and the start of ways to other workers.
 *
 * **Progress**: handlers run from inside `progress`, `run` or `messages`, and nowhere else.
 *
 * **Thread modes**: `single` is for the thread that made it. `serialized` is for any thread that opens it by its address,
 * one at a time: each of `progress`, `wait`, `arm` costs 1 CAS and 1 store more, and calls that overlap are refused.
 * `multi` is for any threads at any time, a group that shares the messages: they read different lanes at the same time.
 * Handlers belong to the thread that registers them.
 *
 * **Death** of the thread that made it closes it: senders are told. A serialized worker goes on, with the thread that
 * used it last, if that lives.
 */
export class TransportWorker {
  readonly name: string;
  /** The thread mode in force. */
  readonly threadMode: ThreadMode;
  readonly address: WorkerAddress;
  readonly #memory: ContextMemory;
  readonly #row: WorkerRow;
  readonly #place: WorkerPlace;
  readonly #queue: ReceiveQueue;
  readonly #shared: boolean;
  readonly #entry: Entry | undefined;
  /** By the row and generation to which they lead. */
  readonly #outbound = new Map<string, OutboundLane>();
  readonly #onClose: (worker: TransportWorker) => void;
  readonly #handlers: (Handler | undefined)[] = [];
  readonly #endpoints = new Set<Endpoint>();
  readonly #arming: Arming;
  readonly #polling: Polling;
  readonly #keepAlive: KeepAlive;
  #inside = false;
  /** Receivers of endpoints may be gone, and that is not reported yet. */
  #mayReport = false;
  /** The context was shut down: what is there is read to its end. */
  #ending = false;
  #closed = false;

  /** Made by `context.createWorker` and `context.openWorker`. */
  constructor(
    memory: ContextMemory,
    place: WorkerPlace,
    name: string,
    onClose: (worker: TransportWorker) => void,
  ) {
    const { platform } = memory;
    this.name = name;
    this.#memory = memory;
    this.#row = memory.row(place.row);
    this.#place = place;
    this.#onClose = onClose;
    this.threadMode = THREAD_MODES[this.#row.threadMode]!;
    this.#shared = this.threadMode === 'multi';
    this.#queue = new ReceiveQueue(memory, place, this.#shared);
    this.address = { heddle: 'address', segment: memory.segment.id, ...place };
    if (this.threadMode === 'serialized') {
      const { entry } = workerRowLayout.offsets;
      this.#entry = new Entry(memory.rowWords(place.row), entry, memory.token, platform);
    }
    this.#arming = {
      index: this.#row.doorbell.index,
      expected: Doorbell.SLEEPING,
      arm: () => this.#armed(),
      disarm: () => this.#row.doorbell.ring(),
    };
    this.#polling = new Polling(platform);
    this.#keepAlive = new KeepAlive(platform);
  }

  /** Whether it is closed: here, or by the thread that made it. 1 load. */
  get closed(): boolean {
    return this.#closed || !this.#row.isOpen(this.#place.generation);
  }

  /** What this thread has received so far. */
  get counts(): Readonly<ReceiveCounts> {
    return this.#queue.counts;
  }

  /**
   * Registers the handler of an id, instead of the one before.
   *
   * It is given a {@link Message} that is good until it returns. A handler that returns a promise is done with the
   * message at its first `await`.
   *
   * @throws TypeError, RangeError.
   */
  on(id: number, handler: Handler): void {
    assertWhole('The id of a message', id, 0, MAX_ID);
    if (typeof handler !== 'function') throw new TypeError('A handler is a function that takes a message');
    this.#handlers[id] = handler;
  }

  /** Takes the handler of an id away: messages with it are an error from then on. */
  off(id: number): void {
    this.#handlers[assertWhole('The id of a message', id, 0, MAX_ID)] = undefined;
  }

  /**
   * Makes a way to another worker, or to this one.
   *
   * @throws HeddleError `ERR_HEDDLE_CLOSED` where the worker is gone or this one closed, `ERR_HEDDLE_EXHAUSTED` where all
   *   lanes are in use; TypeError where it is no address, RangeError where it is one of another context.
   */
  connect(address: WorkerAddress, options: EndpointOptions = {}): Endpoint {
    assertAddress(address);
    this.#assertOpen();
    const { segment, shape } = this.#memory;
    if (address.segment !== segment.id || address.row >= shape.maxWorkers) {
      throw new RangeError('This is the address of a worker of another context');
    }
    const key = `${address.row}/${address.generation}`;
    let lane = this.#outbound.get(key);
    if (!lane || lane.sweep()) {
      lane = OutboundLane.open(this.#memory, address, this.#place);
      this.#outbound.set(key, lane);
    }
    const used = lane;
    used.users++;
    const endpoint = new Endpoint(this.#memory, used, address, options, (closed) => {
      this.#endpoints.delete(closed);
      if (--used.users > 0) return;
      used.leave();
      if (this.#outbound.get(key) === used) this.#outbound.delete(key);
    });
    this.#endpoints.add(endpoint);
    return endpoint;
  }

  /**
   * Runs the handlers of messages that are there, at most `budget` of them. Returns how many messages that were.
   *
   * What a handler throws comes through; its message counts as handled, the others stay where they are.
   *
   * @throws HeddleError `ERR_HEDDLE_CLOSED`; `ERR_HEDDLE_NAME_UNKNOWN` for a message without a handler, which is
   *   dropped; `ERR_HEDDLE_OUTSTANDING` from inside a handler; `ERR_HEDDLE_WRONG_THREAD` where calls overlap.
   */
  progress(budget = Infinity): number {
    if (!(budget >= 0)) throw new RangeError(`A budget is a number of messages from 0, not ${budget}`);
    this.#enter();
    try {
      return this.#queue.poll(this.#handle, budget);
    } finally {
      this.#leave();
    }
  }

  /**
   * Blocks until there is something to progress, or a signal. Returns false when the time is up.
   *
   * @throws HeddleError `ERR_HEDDLE_CLOSED`, `ERR_HEDDLE_MUST_NOT_BLOCK`; else as {@link progress} does.
   */
  wait(options: WaitOptions = {}): boolean {
    const { platform } = this.#memory;
    assertMayBlock(platform);
    const deadline = deadlineAfter(options.timeout, platform.now);
    const found = this.#polling.until(() => this.#hasNews(), options.spins);
    // Shared, another thread may be at it.
    if (found && !this.#shared && this.#queue.mayHaveNews) return true;
    const leftMs = deadline === Infinity ? Infinity : deadline - platform.now();
    return runBlocking(new ArmSteps(this.#arming), this.#rowWords, platform, leftMs);
  }

  /** The same on the event loop. @throws (rejects) as {@link wait} does, and with `signal.reason`. */
  async waitAsync(options: WaitAsyncOptions = {}): Promise<boolean> {
    return runAsync(new ArmSteps(this.#arming), this.#rowWords, this.#memory.platform, options);
  }

  /**
   * Prepares for a sleep outside of this library: senders ring from now on. Returns false where there is something to
   * progress already; else {@link waitAsync} and `wait` end at the next message.
   *
   * Cost, in Atomics calls: 1 CAS and 3 loads, and 1 load and 1 CAS a lane.
   */
  arm(): boolean {
    return this.#armed();
  }

  /** Ends the current or next `wait` of this worker, or turn of its `run`. From any thread that has opened it. */
  signal(): void {
    this.#row.doorbell.signal();
  }

  /**
   * Receives on the event loop until the signal aborts or the worker is closed: polls for a while that adapts to the
   * traffic, then sleeps. Every few milliseconds of work the event loop has its turn.
   *
   * @throws (rejects) with what a handler threw, and as {@link progress} does.
   */
  async run(options: RunOptions = {}): Promise<void> {
    const { signal } = options;
    const receiver: LoopReceiver = {
      isOver: () => this.#closed,
      progress: () => this.progress(),
      // Shared, another thread may be at what there is.
      poll: () => !this.#shared && this.#polling.until(() => this.#hasNews()),
      sleep: () => this.waitAsync({ signal, ref: false }),
    };
    this.#keepAlive.hold();
    try {
      await runOnEventLoop(receiver, signal, this.#memory.platform);
    } catch (error) {
      if (!this.#endsRun(error, signal)) throw error;
    } finally {
      this.#keepAlive.drop();
    }
  }

  /**
   * Every message, one at a time, until the worker is closed; handlers are not called. Each is good until the next one
   * is asked for.
   */
  async *messages(options: RunOptions = {}): AsyncGenerator<Message, void, undefined> {
    const { signal } = options;
    this.#keepAlive.hold();
    try {
      while (!signal?.aborted && !this.#closed) {
        this.#enter();
        const inbound = this.#queue.nextLane();
        if (!inbound) {
          this.#leave();
          await this.waitAsync({ signal, ref: false });
          continue;
        }
        try {
          if (this.#queue.begin(inbound)) yield this.#queue.cursor;
        } finally {
          this.#queue.finish(inbound);
          this.#leave();
        }
      }
    } catch (error) {
      if (!this.#endsRun(error, signal)) throw error;
    } finally {
      this.#keepAlive.drop();
    }
  }

  /** Lets a `run` keep the event loop alive, which it does at first. */
  ref(): this {
    this.#keepAlive.ref();
    return this;
  }

  /** Lets the event loop end although a `run` goes on. */
  unref(): this {
    this.#keepAlive.unref();
    return this;
  }

  /**
   * Closes the worker: senders are told, with the number of messages that nobody read, and whoever waits here gets
   * `ERR_HEDDLE_CLOSED`. Its endpoints are closed too; what they sent is still read. Closing again does nothing.
   *
   * Where another thread made it, only this thread's use of it ends.
   *
   * @throws HeddleError `ERR_HEDDLE_OUTSTANDING` from inside a handler, `ERR_HEDDLE_WRONG_THREAD` where calls overlap.
   */
  close(): void {
    if (this.#closed) return;
    if (this.#inside) throw handlerRuns();
    const { token } = this.#memory;
    const owned = this.#row.isOpen(this.#place.generation) && this.#row.owner === token;
    if (owned && this.#entry) {
      this.#entry.enter();
      this.#entry.close();
    }
    this.#closed = true;
    for (const endpoint of [...this.#endpoints]) endpoint.close();
    if (owned) {
      this.#row.shut(this.#place.generation);
      endLanesTo(this.#memory, this.#place);
      this.#row.callAttention();
      this.#row.doorbell.signal();
      this.#row.free(token);
    }
    this.#onClose(this);
  }

  /** Waits until what its endpoints sent to other threads was handled, or cannot be, or the time is up. */
  async flushAll(options: WaitAsyncOptions): Promise<void> {
    const { token } = this.#memory;
    const others = [...this.#endpoints].filter(
      ({ address }) => this.#memory.row(address.row).owner !== token,
    );
    await Promise.allSettled(others.map((endpoint) => endpoint.flushAsync(options)));
  }

  [Symbol.dispose](): void {
    this.close();
  }

  readonly #handle = (message: MessageCursor): void => {
    const handler = this.#handlers[message.id];
    if (!handler) throw noHandler(message.id);
    handler(message);
  };

  get #rowWords(): Int32Array {
    return this.#memory.rowWords(this.#place.row);
  }

  #enter(): void {
    const passedOn = this.#stepIn();
    try {
      this.#attend(passedOn);
      this.#report();
      this.#assertGoesOn();
    } catch (error) {
      this.#leave();
      throw error;
    }
  }

  /** @returns whether another thread was inside since this one was. */
  #stepIn(): boolean {
    if (this.#inside) throw handlerRuns();
    if (this.#closed) throw closedError('This worker');
    const passedOn = this.#entry?.enter() ?? false;
    this.#inside = true;
    return passedOn;
  }

  #leave(): void {
    this.#inside = false;
    this.#entry?.leave();
  }

  /** Lanes came or went: of this worker, of its endpoints, or the worker itself. */
  #attend(passedOn: boolean): void {
    if (!passedOn && !this.#queue.needsAttention) return;
    if (!this.#row.isOpen(this.#place.generation)) throw closedError('This worker');
    if (passedOn) this.#queue.resume();
    else this.#queue.attend();
    this.#ending = this.#memory.closed;
    this.#mayReport = true;
  }

  /** Tells the program which receivers are gone. */
  #report(): void {
    if (!this.#mayReport) return;
    this.#mayReport = false;
    const failures: unknown[] = [];
    for (const endpoint of [...this.#endpoints]) {
      try {
        endpoint.report();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }

  /** After a shutdown what is there is read to its end. */
  #assertGoesOn(): void {
    if (this.#ending && !this.#queue.mayHaveNews) throw closedError('The context');
  }

  #hasNews(): boolean {
    this.#assertOpen();
    return this.#queue.needsAttention || this.#queue.mayHaveNews;
  }

  /** Announces a sleep, then looks at everything that could end it: B1. */
  #armed(): boolean {
    const passedOn = this.#stepIn();
    try {
      this.#attend(passedOn);
      // Reporting is for progress: from here, whoever waits for the report would sleep through it.
      if (this.#mayReport && [...this.#endpoints].some((endpoint) => endpoint.hasReport)) return false;
      this.#assertGoesOn();
      // Others may wait for what this thread keeps back.
      this.#memory.flushPool();
      if (!this.#row.doorbell.fallAsleep()) return false;
      if (this.#queue.arm() && !this.#queue.needsAttention && !this.closed) return true;
      this.#row.doorbell.ring();
      return false;
    } finally {
      this.#leave();
    }
  }

  #endsRun(error: unknown, signal: AbortSignal | undefined): boolean {
    if (signal?.aborted && error === signal.reason) return true;
    return error instanceof HeddleError && error.code === 'ERR_HEDDLE_CLOSED' && this.#hasEnded;
  }

  get #hasEnded(): boolean {
    return this.closed || this.#memory.closed;
  }

  #assertOpen(): void {
    if (this.#closed) throw closedError('This worker');
  }
}

function handlerRuns(): HeddleError {
  return new HeddleError(
    'ERR_HEDDLE_OUTSTANDING',
    'A message of this worker is being handled: do this after its handler has returned',
  );
}
