import {
  assertMayBlock,
  deadlineAfter,
  runAsync,
  runBlocking,
  timeoutOf,
  type WaitAsyncOptions,
} from '@heddle/memory';
import { type Arming, ArmSteps } from './arm-steps.js';
import type { Connections } from './connections.js';
import type { ContextMemory } from './context-memory.js';
import { Doorbell } from './doorbell.js';
import { assertIdle, Idle, type IdleStrategy } from './idle.js';
import type { InboundLane } from './inbound-lane.js';
import { KeepAlive } from './keep-alive.js';
import type { WorkerPlace } from './lane-life.js';
import { MessageCursor } from './message.js';
import { MessageIterator } from './message-iterator.js';
import { Pace } from './pace.js';
import { ReceiveQueue } from './receive-queue.js';
import { closedError, isClosed } from './transport-errors.js';
import type { WorkerAccess } from './worker-access.js';
import type { IdleOptions, RunOptions, WaitForMessagesOptions } from './worker-options.js';
import type { WorkerRow } from './worker-row.js';

/** Looks between two for a signal, which a sleep would see. */
const LOOKS_PER_SIGNAL = 64;

/** Each so many-th `progress` looks by a load whether lanes came or went, the others by a hint. A power of two. */
const PROGRESS_PER_LOAD = 8;

/** What a receiver belongs to. */
export interface ReceiverParts {
  readonly memory: ContextMemory;
  readonly place: WorkerPlace;
  readonly access: WorkerAccess;
  /** Several threads receive at the same time. */
  readonly shared: boolean;
  readonly idle: IdleStrategy | undefined;
  /** Whose reports come from progress. */
  readonly connections: Connections;
}

/**
 * The forms of progress over one {@link ReceiveQueue}: polling, blocking, on the event loop. Each of them goes in by
 * {@link WorkerAccess}, looks after what came or went, and receives.
 */
export class Receiver {
  readonly queue: ReceiveQueue;
  readonly #memory: ContextMemory;
  readonly #row: WorkerRow;
  readonly #words: Int32Array;
  readonly #place: WorkerPlace;
  readonly #access: WorkerAccess;
  readonly #idle: IdleStrategy;
  readonly #connections: Connections;
  readonly #arming: Arming;
  readonly #keepAlive: KeepAlive;
  /** The context was shut down: what is there is read to its end. */
  #ending = false;
  #closed = false;
  /** Receivers of endpoints may be gone, and that is not reported yet. */
  #mayReport = false;
  #turn = 0;

  constructor({ memory, place, access, shared, idle, connections }: ReceiverParts) {
    this.#memory = memory;
    this.#row = memory.row(place.row);
    this.#words = memory.rowWords(place.row);
    this.#place = place;
    this.#access = access;
    this.#idle = idle ?? Idle.adaptive();
    this.#connections = connections;
    this.queue = new ReceiveQueue(memory, place, shared);
    this.#arming = {
      index: this.#row.doorbell.index,
      expected: Doorbell.SLEEPING,
      arm: () => this.arm(),
      disarm: () => this.#row.doorbell.ring(),
    };
    this.#keepAlive = new KeepAlive(memory.platform);
  }

  /** Whether this thread has closed it. */
  get closedHere(): boolean {
    return this.#closed;
  }

  /** Whether it is closed: here, or by the thread that made it. 1 load. */
  get closed(): boolean {
    return this.#closed || !this.#row.isOpen(this.#place.generation);
  }

  /** What sleeps here in this thread ends; other threads look again. */
  close(): void {
    this.#closed = true;
    this.#row.doorbell.ring();
  }

  /** @throws HeddleError `ERR_HEDDLE_CLOSED` where this thread has closed it. */
  assertOpen(): void {
    if (this.#closed) throw closedError('This worker');
  }

  progress(handle: (message: MessageCursor) => void, budget: number): number {
    const passedOn = this.#stepIn();
    try {
      if (passedOn || this.#mayReport || this.#ending || this.#mayNeedAttention()) this.#look(passedOn);
      return this.#connections.outstanding.tell() + this.queue.poll(handle, budget);
    } finally {
      this.#access.leave();
    }
  }

  wait(options: WaitForMessagesOptions): boolean {
    const { platform } = this.#memory;
    const idle = this.#idleOf(options);
    assertMayBlock(platform);
    const deadline = deadlineAfter(timeoutOf(options), platform.now);
    const leftMs = () => (deadline === Infinity ? Infinity : deadline - platform.now());
    for (let looks = 1; leftMs() > 0 && idle.idle(looks, platform) === 'look'; looks++) {
      if (this.#hasNews()) {
        idle.found?.(looks);
        return true;
      }
      if (looks % LOOKS_PER_SIGNAL === 0 && this.#row.doorbell.takeSignal()) return true;
    }
    return runBlocking(new ArmSteps(this.#arming), this.#words, platform, leftMs());
  }

  async waitAsync(options: WaitAsyncOptions): Promise<boolean> {
    return this.#sleep(this.#arming, options);
  }

  #sleep(arming: Arming, options: WaitAsyncOptions): Promise<boolean> {
    return runAsync(new ArmSteps(arming), this.#words, this.#memory.platform, options);
  }

  arm(): boolean {
    const passedOn = this.#stepIn();
    try {
      this.#attend(passedOn);
      // Reporting is for progress: from here, whoever waits for the report would sleep through it.
      if (this.#hasReport()) return false;
      this.#assertGoesOn();
      // Others may wait for what this thread keeps back.
      this.#memory.flushPools();
      // Announces a sleep, then looks at everything that could end it: B1.
      if (!this.queue.arm()) return false;
      const { outstanding } = this.#connections;
      if (!this.queue.needsAttention && !this.closed && !outstanding.mayHaveNews) return true;
      this.#row.doorbell.ring();
      return false;
    } finally {
      this.#access.leave();
    }
  }

  async run(handle: (message: MessageCursor) => void, options: RunOptions): Promise<void> {
    const { signal } = options;
    const pace = this.#pace(options);
    this.#keepAlive.hold();
    try {
      while (!signal?.aborted && !this.#closed) {
        const found = this.progress(handle, Infinity) > 0;
        const pause = pace.after(found);
        // What handlers resolved goes on at once, not only when the slice is over.
        if (found || pause) await pause;
      }
    } catch (error) {
      if (!this.#endsRun(error, signal)) throw error;
    } finally {
      this.#keepAlive.drop();
    }
  }

  messages(options: RunOptions): MessageIterator {
    const { signal } = options;
    return new MessageIterator({
      newCursor: () => new MessageCursor(this.#memory),
      pace: (isOver) => this.#pace(options, isOver),
      keepAlive: this.#keepAlive,
      isOver: () => this.#closed || signal?.aborted === true,
      give: (cursor) => this.#give(cursor),
      takeBack: (cursor) => this.#access.endStay(cursor),
      wake: () => this.#row.doorbell.ring(),
      isEnd: (error) => this.#endsRun(error, signal),
    });
  }

  /** This thread stays inside with the message, until it comes in again. */
  #give(cursor: MessageCursor): boolean {
    const passedOn = this.#stepIn();
    let inbound: InboundLane | undefined;
    try {
      this.#look(passedOn);
      this.#connections.outstanding.tell();
      inbound = this.queue.next(cursor);
    } finally {
      if (!inbound) this.#access.leave();
    }
    const lane = inbound;
    if (lane) this.#access.stay(cursor, () => this.queue.finish(lane, cursor));
    return lane !== undefined;
  }

  ref(): void {
    this.#keepAlive.ref();
  }

  unref(): void {
    this.#keepAlive.unref();
  }

  /** @returns whether another thread was inside since this one was. */
  #stepIn(): boolean {
    this.assertOpen();
    return this.#access.enter();
  }

  /** Looks after what came or went, tells the program, and whether there is something to go on with. */
  #look(passedOn: boolean): void {
    this.#attend(passedOn);
    if (this.#mayReport) {
      this.#mayReport = false;
      this.#connections.report();
    }
    this.#assertGoesOn();
  }

  #mayNeedAttention(): boolean {
    this.#turn = (this.#turn + 1) & (PROGRESS_PER_LOAD - 1);
    return this.#turn === 0 || this.queue.mayNeedAttention;
  }

  /** Lanes came or went: of this worker, of its endpoints, or the worker itself. */
  #attend(passedOn: boolean): void {
    if (!passedOn && !this.queue.needsAttention) return;
    if (!this.#row.isOpen(this.#place.generation)) throw closedError('This worker');
    if (passedOn) this.queue.resume();
    else this.queue.attend();
    this.#ending = this.#memory.closed;
    this.#mayReport = true;
  }

  /** After a shutdown what is there is read to its end. @throws HeddleError `ERR_HEDDLE_CLOSED` then. */
  #assertGoesOn(): void {
    if (this.#ending && !this.queue.hasNews) throw closedError('The context');
  }

  #hasReport(): boolean {
    return this.#mayReport && this.#connections.hasReport;
  }

  #hasNews(): boolean {
    this.assertOpen();
    if (this.queue.needsAttention) this.#attendOnly();
    return this.#hasReport() || this.queue.hasNews || this.#connections.outstanding.mayHaveNews;
  }

  #attendOnly(): void {
    const passedOn = this.#stepIn();
    try {
      this.#attend(passedOn);
      this.#assertGoesOn();
    } finally {
      this.#access.leave();
    }
  }

  #idleOf({ idle }: IdleOptions): IdleStrategy {
    return idle === undefined ? this.#idle : assertIdle(idle);
  }

  #pace(options: RunOptions, isOver: () => boolean = () => false): Pace {
    const arming = { ...this.#arming, arm: () => !isOver() && this.arm() };
    const { signal } = options;
    const sleep = () => this.#sleep(arming, { signal, ref: false });
    return new Pace(this.#idleOf(options), this.#memory.platform, this.#keepAlive, sleep);
  }

  #endsRun(error: unknown, signal: AbortSignal | undefined): boolean {
    if (signal?.aborted && error === signal.reason) return true;
    return isClosed(error) && (this.closed || this.#memory.closed);
  }
}
