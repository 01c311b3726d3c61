import {
  assertMayBlock,
  deadlineAfter,
  runAsync,
  runBlocking,
  timeoutOf,
  type WaitAsyncOptions,
  type WaitOptions,
} from '@heddle/memory';
import type { WorkerAddress } from './address.js';
import { Completion } from './completion.js';
import type { ContextMemory } from './context-memory.js';
import { Flushing } from './flushing.js';
import type { LeftOver } from './lane-left-over.js';
import type { LaneWriter } from './lane-writer.js';
import { Loan } from './loan.js';
import { type MessageData, type MessageWriter, type SendStatus, statusOf } from './message-writer.js';
import type { OutboundLane } from './outbound-lane.js';
import type { Outstanding } from './outstanding.js';
import * as answers from './send-answer.js';
import { AttemptSteps } from './send-queue.js';
import { assertWhole, closedError, notHandled, sendsWait } from './transport-errors.js';
import { WaitingSend } from './waiting-send.js';

/**
 * Told once, when the receiver of an endpoint is gone. It counts the messages of the lane, which all endpoints from one
 * worker of one thread to that receiver share; those that `sendMany` did not publish for that reason are among them.
 */
export interface EndpointReport extends LeftOver {
  readonly address: WorkerAddress;
}

export interface EndpointOptions {
  /** Called once, from `progress` of the worker that connected, when the receiver is gone, closed or dead. */
  readonly onClosed?: ((report: EndpointReport) => void) | undefined;
}

export interface SendOptions extends Pick<WaitOptions, 'timeout'> {
  /** Is told when the receiver is done with the message. */
  readonly completion?: Completion | undefined;
}

export interface SendAsyncOptions extends WaitAsyncOptions, Pick<SendOptions, 'completion'> {}

const { SENT, LANE_CLOSED } = answers;
const NOTHING = new Uint8Array(0);

/**
 * The way from a worker of this thread to another worker. Messages arrive in the order in which they were sent, in
 * whatever form, and those of all endpoints from one worker, of one thread, to one worker are in one order, as long as one
 * of them is open: one that is made after the last was closed has a lane of its own, and may overtake what is unread.
 *
 * **Forms**: header and data of up to `inlineBytes` travel in the lane; longer data in a slot of the smallest size that
 * holds it, copied once; a {@link Loan} is written in its slot and not copied at all.
 *
 * **Cost** of `trySend`, in Atomics calls, while the receiver polls: inline 1 CAS; in a slot 1 CAS more, and what the pool
 * takes for a get: 0 mostly for the smallest size, 2 for a larger one; 1 load more each time the room known before is used
 * up. Corked 1 CAS less, and 1 at the `uncork`. Where the receiver sleeps: 1 CAS, 1 and, 1 notify more.
 */
export class Endpoint {
  readonly address: WorkerAddress;
  readonly #memory: ContextMemory;
  readonly #lane: OutboundLane;
  readonly #writer: LaneWriter;
  readonly #messages: MessageWriter;
  readonly #outstanding: Outstanding;
  readonly #onClosed: EndpointOptions['onClosed'];
  readonly #leave: (endpoint: Endpoint) => void;
  #closed = false;
  #reported = false;

  /** Made by `worker.connect`. @param leave gives the lane back. */
  constructor(
    memory: ContextMemory,
    lane: OutboundLane,
    outstanding: Outstanding,
    address: WorkerAddress,
    options: EndpointOptions,
    leave: (endpoint: Endpoint) => void,
  ) {
    this.#memory = memory;
    this.#lane = lane;
    this.#writer = lane.writer;
    this.#messages = lane.messages;
    this.#outstanding = outstanding;
    this.address = address;
    this.#onClosed = options.onClosed;
    this.#leave = leave;
  }

  /** Bytes of the longest data of a message. */
  get maxDataBytes(): number {
    return this.#memory.slots.maxDataBytes;
  }

  /** Bytes of the longest header of a message; up to here header and data together travel in the lane. */
  get maxHeaderBytes(): number {
    return this.#messages.inlineBytes;
  }

  /** Whether nothing can be sent any more. 1 load. */
  get closed(): boolean {
    return this.#closed || this.#lane.left || this.#writer.closed;
  }

  /**
   * Sends a message, if there is room now. Nothing of it is kept: the caller may use its bytes again.
   *
   * @param id 0 to 65,535: for which handler.
   * @param data a copy is sent; a {@link Loan} is sent itself, and stays the caller's unless the answer is `'sent'`.
   * @param completion is told when the receiver is done with it, where it was sent.
   * @throws TypeError or RangeError for bad arguments; HeddleError `ERR_HEDDLE_RECORD_TOO_LARGE`.
   */
  trySend(
    id: number,
    data: MessageData = NOTHING,
    header: Uint8Array = NOTHING,
    completion?: Completion,
  ): SendStatus {
    if (this.#closed || this.#lane.left || !this.#lane.queue.isEmpty) {
      return this.#refuse(id, data, header, completion);
    }
    if (completion) return this.#sendAsked(id, data, header, completion);
    return statusOf(this.#messages.write(id, data, header, false));
  }

  /**
   * Sends messages, one after the other, as far as there is room now, and publishes them by one Atomics call: the
   * receiver sees all or none of them. Where room or slots end half way, those before are sent, and the others are not.
   *
   * @param all data of the messages, as for {@link trySend}. Loans from the answer on stay the caller's.
   * @returns how many were sent: 0 also while asynchronous sends of this thread wait.
   * @throws as {@link trySend} does, at the first bad one: those before it are sent; HeddleError `ERR_HEDDLE_CLOSED`,
   *   where none is sent, and loans that were written already come back to the pool by themselves.
   */
  sendMany(id: number, all: readonly MessageData[], header: Uint8Array = NOTHING): number {
    this.assertOpen();
    if (!this.#lane.queue.isEmpty) return 0;
    const { corked } = this.#writer;
    const { length } = all;
    let sent = 0;
    let answer: number = SENT;
    this.#writer.cork();
    try {
      while (sent < length) {
        sent = this.#messages.writeManyInline(id, all, header, sent);
        if (sent === length) break;
        const data = all[sent]!;
        // Reading it may have run code of the program, which closed this.
        this.assertOpen();
        answer = this.#messages.write(id, data, header, false);
        if (answer !== SENT) break;
        sent++;
      }
    } finally {
      if (!corked && !this.uncork()) this.#lane.throwClosed();
    }
    if (sent === 0 && answer === LANE_CLOSED) this.#lane.throwClosed();
    return sent;
  }

  /**
   * Sends a message; blocks while there is no room.
   *
   * @throws HeddleError `ERR_HEDDLE_CLOSED`, `ERR_HEDDLE_TIMED_OUT`; `ERR_HEDDLE_OUTSTANDING` while asynchronous sends
   *   of this thread wait, which must not be overtaken; `ERR_HEDDLE_MUST_NOT_BLOCK`, also where it would wait, without a
   *   timeout, for a receiver that only this thread can make go on; and as {@link trySend} does. Nothing was sent then.
   */
  send(
    id: number,
    data: MessageData = NOTHING,
    header: Uint8Array = NOTHING,
    options: SendOptions = {},
  ): void {
    const { platform } = this.#memory;
    assertMayBlock(platform);
    this.#messages.check(id, data, header);
    this.assertOpen();
    if (!this.#lane.queue.isEmpty) throw sendsWait();
    const deadline = deadlineAfter(timeoutOf(options), platform.now);
    const status = this.trySend(id, data, header, options.completion);
    if (status === 'closed') this.#lane.throwClosed();
    if (status === 'sent') return;
    if (deadline === Infinity) this.#lane.assertOthersReceive();
    this.#waiting(id, data, header, options.completion).block(deadline);
  }

  /**
   * Sends a message as soon as there is room, after those that wait already. The data must not change until then.
   *
   * @throws (rejects) with `signal.reason` when aborted, HeddleError `ERR_HEDDLE_TIMED_OUT`, `ERR_HEDDLE_CLOSED`, with
   *   TypeError where data or header became longer or shorter while they waited, and as {@link trySend} does. Nothing was
   *   sent then.
   */
  async sendAsync(
    id: number,
    data: MessageData = NOTHING,
    header: Uint8Array = NOTHING,
    options: SendAsyncOptions = {},
  ): Promise<void> {
    const { completion, ...waitOptions } = options;
    const deadline = deadlineAfter(timeoutOf(options), this.#memory.platform.now);
    options.signal?.throwIfAborted();
    const status = this.trySend(id, data, header, completion);
    if (status === 'sent') return;
    if (status === 'closed') this.#lane.throwClosed();
    await this.#waiting(id, data, header, completion).wait(waitOptions, deadline);
  }

  /**
   * A slot to write a message into, undefined where all of the size that is needed are out. Send it, or cancel it. Its
   * cost does not depend on its size: nothing is cleared.
   *
   * @throws RangeError, TypeError or HeddleError `ERR_HEDDLE_RECORD_TOO_LARGE` for a bad size; `ERR_HEDDLE_CLOSED` where
   *   this side knows that nothing can be sent any more.
   */
  loan(byteLength: number): Loan | undefined {
    const size = this.#sizeFor(byteLength);
    this.assertOpen();
    const descriptor = this.#memory.slots.of(size).tryGet();
    return descriptor === null ? undefined : new Loan(this.#memory, size, descriptor, byteLength);
  }

  /**
   * The same as soon as there is one, on the event loop.
   *
   * @throws (rejects) with `signal.reason` when aborted, HeddleError `ERR_HEDDLE_TIMED_OUT`, `ERR_HEDDLE_CLOSED` where
   *   nothing can be sent any more, and as {@link loan} does.
   */
  async loanAsync(byteLength: number, options: WaitAsyncOptions = {}): Promise<Loan> {
    // Spread below, a bare number would be no options at all.
    timeoutOf(options);
    const size = this.#sizeFor(byteLength);
    this.assertMaySend();
    const check = () => this.assertMaySend();
    try {
      const descriptor = await this.#memory.slots.getAsync(size, { ...options, check });
      return new Loan(this.#memory, size, descriptor, byteLength);
    } catch (error) {
      // This thread has detached since: what is said of that is that the way is closed.
      if (!this.#memory.segment.attached) this.assertOpen();
      throw error;
    }
  }

  #sizeFor(byteLength: number): number {
    assertWhole('The size of a loan', byteLength, 0, Number.MAX_SAFE_INTEGER);
    this.#messages.checkDataBytes(byteLength);
    return this.#memory.slots.sizeFor(byteLength);
  }

  /**
   * Holds back what is sent from now on, so that one Atomics call publishes it all: at {@link uncork}, or when full.
   * Meanwhile `'sent'` does not say that the receiver is there still: see there.
   */
  cork(): void {
    // Others may use the lane of an endpoint that is closed.
    if (!this.#closed) this.#writer.cork();
  }

  /**
   * Publishes what was held back, and everything from now on at once.
   *
   * @returns false where the receiver is gone, as far as this side knows or finds by it: what was held back was not sent,
   *   and is counted as `unread` in the report to `onClosed`, once, from `progress`; completions end with an error there.
   *   Also after {@link close}, which publishes what is held back.
   */
  uncork(): boolean {
    return !this.#closed && !this.#lane.left && this.#writer.uncork();
  }

  /**
   * Blocks until every message sent so far from this worker, by this thread, to that one was handled: its handler has
   * returned. What handlers keep is not waited for; that is what a `Completion` tells.
   *
   * @throws HeddleError `ERR_HEDDLE_CLOSED` where the receiver is gone before that, or this endpoint closed,
   *   `ERR_HEDDLE_TIMED_OUT`, `ERR_HEDDLE_OUTSTANDING` while asynchronous sends of this thread wait, which need its event
   *   loop; `ERR_HEDDLE_MUST_NOT_BLOCK` as {@link send} does.
   */
  flush(options: Pick<WaitOptions, 'timeout'> = {}): void {
    const { platform } = this.#memory;
    const timeout = timeoutOf(options);
    const deadline = deadlineAfter(timeout, platform.now);
    if (!this.#lane.queue.isEmpty) throw sendsWait();
    const flushing = this.#flushing();
    if (deadline === Infinity && !flushing.attempt()) this.#lane.assertOthersReceive();
    const steps = new AttemptSteps(flushing);
    if (!runBlocking(steps, this.#lane.lane.words, platform, timeout)) throw notHandled();
  }

  /**
   * The same on the event loop, behind asynchronous sends that wait already.
   *
   * @throws (rejects) as {@link flush} does, and with `signal.reason`.
   */
  async flushAsync(options: WaitAsyncOptions = {}): Promise<void> {
    const { platform } = this.#memory;
    const { queue, lane } = this.#lane;
    const deadline = deadlineAfter(timeoutOf(options), platform.now);
    if (!queue.isEmpty && !(await queue.passed(() => this.assertOpen(), options))) throw notHandled();
    const timeout = deadline === Infinity ? undefined : deadline - platform.now();
    const steps = new AttemptSteps(this.#flushing());
    if (!(await runAsync(steps, lane.words, platform, { ...options, timeout }))) throw notHandled();
  }

  /**
   * Closes this end. What was sent is still read. Messages in slots that are unread when this thread detaches or ends
   * come back to the pool then: `flush` first where each counts. Completions that are pending end with an error, now.
   */
  close(): void {
    if (this.#closed) return;
    // Others that use the lane would not know that it is corked.
    this.uncork();
    this.#closed = true;
    this.#lane.wakeWaiting();
    this.#leave(this);
    this.#outstanding.endOf(this);
  }

  [Symbol.dispose](): void {
    this.close();
  }

  /** Looks whether the receiver is gone, and says whether {@link report} is going to call `onClosed`. */
  get hasReport(): boolean {
    return this.#lane.sweep() && !!this.#onClosed && !this.#reported && !this.#closed;
  }

  /** Calls `onClosed` once, where the receiver is gone. For `progress`. */
  report(): void {
    if (!this.#lane.sweep() || this.#reported || this.#closed) return;
    this.#reported = true;
    this.#onClosed?.({ address: this.address, ...(this.#lane.leftOver ?? { begun: 0, unread: 0 }) });
  }

  /** @throws HeddleError `ERR_HEDDLE_CLOSED`. For what waits. */
  assertOpen(): void {
    if (this.#closed) throw closedError('This endpoint');
    if (this.#lane.left) this.#lane.throwClosed();
  }

  /** The same, where the receiver may be gone and this side not have noticed: for who waits for a slot. 1 load. */
  assertMaySend(): void {
    this.assertOpen();
    if (this.#writer.closed) this.#lane.throwClosed();
  }

  #flushing(): Flushing {
    return new Flushing(this.#lane, () => this.assertMaySend());
  }

  /** What `trySend` answers without a try. @throws as that does for bad arguments. */
  #refuse(id: number, data: MessageData, header: Uint8Array, completion?: Completion): SendStatus {
    if (completion) assertCompletion(completion);
    this.#messages.check(id, data, header);
    return this.closed ? 'closed' : 'no-resource';
  }

  #sendAsked(id: number, data: MessageData, header: Uint8Array, completion: Completion): SendStatus {
    assertCompletion(completion);
    const messages = this.#messages;
    const answer = messages.write(id, data, header, true);
    if (answer === SENT) {
      this.#outstanding.add({
        completion,
        lane: this.#lane,
        written: this.#writer.written,
        pool: messages.pool!,
        descriptor: messages.descriptor,
        by: this,
      });
    }
    return statusOf(answer);
  }

  #waiting(id: number, data: MessageData, header: Uint8Array, completion?: Completion): WaitingSend {
    const way = {
      memory: this.#memory,
      lane: this.#lane,
      messages: this.#messages,
      assertOpen: () => this.assertOpen(),
      assertMaySend: () => this.assertMaySend(),
    };
    return new WaitingSend(way, data, header, completion !== undefined, (now) =>
      completion
        ? this.#sendAsked(id, now, header, completion)
        : statusOf(this.#messages.write(id, now, header, false)),
    );
  }
}

/** @throws TypeError where it is none. */
function assertCompletion(completion: unknown): void {
  if (!(completion instanceof Completion))
    throw new TypeError('The completion of a message is what new Completion() gave');
}
