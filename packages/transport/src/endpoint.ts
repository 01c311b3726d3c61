import {
  assertMayBlock,
  deadlineAfter,
  HeddleError,
  runAsync,
  runBlocking,
  type Steps,
  type WaitAsyncOptions,
  type WaitOptions,
} from '@heddle/memory';
import type { WorkerAddress } from './address.js';
import type { ContextMemory } from './context-memory.js';
import { KEPT_NOTE_BYTES } from './kept-note.js';
import type { LeftOver } from './lane-left-over.js';
import { type LaneWriter, NO_ROOM, SENT } from './lane-writer.js';
import { Loan } from './loan.js';
import type { OutboundLane } from './outbound-lane.js';
import { MAX_ID, SLOT_BODY_BYTES, toUnits } from './record.js';
import { type Attempt, AttemptSteps } from './send-queue.js';
import { assertBytes, assertWhole, closedError, timedOut, tooLarge } from './transport-errors.js';

/** `'no-resource'`: no room in the lane, or no slot, or earlier sends wait still. `'closed'`: the receiver is gone. */
export type SendStatus = 'sent' | 'no-resource' | 'closed';

/** Told once, when the receiver of an endpoint is gone. */
export interface EndpointReport extends LeftOver {
  readonly address: WorkerAddress;
}

export interface EndpointOptions {
  /** Called once, from `progress` of the worker that connected, when the receiver is gone, closed or dead. */
  readonly onClosed?: ((report: EndpointReport) => void) | undefined;
}

const NOTHING = new Uint8Array(0);
const SHIFT_MASK = 7;

/** Bytes by which a slot is larger than the longest data: for the shift to where copying in is fast, and who keeps it. */
export const SLOT_SLACK_BYTES = 8 + KEPT_NOTE_BYTES;

/**
 * The way from a worker of this thread to another worker. Messages arrive in the order in which they were sent, in
 * whatever form, and those of all endpoints from one worker, of one thread, to one worker are in one order.
 *
 * **Forms**: header and data of up to `inlineBytes` travel in the lane; longer data in a slot of the pool, copied once;
 * a {@link Loan} is written in its slot and not copied at all.
 *
 * **Cost** of `trySend`, in Atomics calls, while the receiver polls: inline 1 CAS; in a slot 1 CAS more, and what the pool
 * takes for a get, 0 mostly; 1 load more each time the room known before is used up. Corked 1 CAS less, and 1 at the
 * `uncork`. Where the receiver sleeps: 1 CAS, 1 and, 1 notify more.
 */
export class Endpoint {
  readonly address: WorkerAddress;
  readonly #memory: ContextMemory;
  readonly #lane: OutboundLane;
  readonly #writer: LaneWriter;
  readonly #inlineBytes: number;
  readonly #slotBytes: number;
  readonly #onClosed: EndpointOptions['onClosed'];
  readonly #leave: (endpoint: Endpoint) => void;
  #closed = false;
  #reported = false;

  /** Made by `worker.connect`. @param leave gives the lane back. */
  constructor(
    memory: ContextMemory,
    lane: OutboundLane,
    address: WorkerAddress,
    options: EndpointOptions,
    leave: (endpoint: Endpoint) => void,
  ) {
    this.#memory = memory;
    this.#lane = lane;
    this.#writer = lane.writer;
    this.address = address;
    this.#inlineBytes = memory.shape.inlineBytes;
    this.#slotBytes = memory.pool.elemSize - SLOT_SLACK_BYTES;
    this.#onClosed = options.onClosed;
    this.#leave = leave;
  }

  /** Bytes of the longest data of a message. */
  get maxDataBytes(): number {
    return this.#slotBytes;
  }

  /** Bytes of the longest header of a message; up to here header and data together travel in the lane. */
  get maxHeaderBytes(): number {
    return this.#inlineBytes;
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
   * @throws TypeError or RangeError for bad arguments; HeddleError `ERR_HEDDLE_RECORD_TOO_LARGE`.
   */
  trySend(id: number, data: Uint8Array | Loan = NOTHING, header: Uint8Array = NOTHING): SendStatus {
    this.#check(id, data, header);
    if (this.#closed || this.#lane.left) return 'closed';
    if (!this.#lane.queue.isEmpty) return 'no-resource';
    return this.#attempt(id, data, header);
  }

  /**
   * Sends a message; blocks while there is no room.
   *
   * @throws HeddleError `ERR_HEDDLE_CLOSED`, `ERR_HEDDLE_TIMED_OUT`; `ERR_HEDDLE_OUTSTANDING` while asynchronous sends
   *   of this thread wait, which must not be overtaken; `ERR_HEDDLE_MUST_NOT_BLOCK`; and as {@link trySend} does.
   *   Nothing was sent then.
   */
  send(
    id: number,
    data: Uint8Array | Loan = NOTHING,
    header: Uint8Array = NOTHING,
    options: Pick<WaitOptions, 'timeout'> = {},
  ): void {
    const { platform } = this.#memory;
    assertMayBlock(platform);
    this.#check(id, data, header);
    this.#assertOpen();
    if (!this.#lane.queue.isEmpty) throw sendsWait();
    const deadline = deadlineAfter(options.timeout, platform.now);
    const leftMs = () => (deadline === Infinity ? Infinity : deadline - platform.now());
    const status = this.#attempt(id, data, header);
    if (status === 'sent') return;
    if (status === 'closed') this.#lane.throwClosed();
    const loan = this.#travelsInline(data, header) ? undefined : this.#blockForLoan(data, leftMs());
    try {
      const attempt = this.#sending(id, loan ?? data, header);
      const { words } = this.#lane.lane;
      if (!runBlocking(new AttemptSteps(attempt), words, platform, leftMs())) {
        throw timedOut('There was no room in the lane', { ...this.#lane.to });
      }
    } catch (error) {
      if (loan !== data) loan?.cancel();
      throw error;
    }
  }

  /**
   * Sends a message as soon as there is room, after those that wait already. The data must not change until then.
   *
   * @throws (rejects) with `signal.reason` when aborted, HeddleError `ERR_HEDDLE_TIMED_OUT`, `ERR_HEDDLE_CLOSED`, and
   *   as {@link trySend} does. Nothing was sent then.
   */
  async sendAsync(
    id: number,
    data: Uint8Array | Loan = NOTHING,
    header: Uint8Array = NOTHING,
    options: WaitAsyncOptions = {},
  ): Promise<void> {
    const status = this.trySend(id, data, header);
    if (status === 'sent') return;
    if (status === 'closed') this.#lane.throwClosed();
    const { platform, pool } = this.#memory;
    const { queue, lane } = this.#lane;
    const deadline = deadlineAfter(options.timeout, platform.now);
    const timeoutLeft = () => ({
      ...options,
      timeout: deadline === Infinity ? undefined : deadline - platform.now(),
    });
    const entry = {};
    let loan: Loan | undefined;
    queue.join(entry);
    const untilDone = async (steps: Steps<boolean>) => {
      if (await runAsync(steps, lane.words, platform, timeoutLeft())) return;
      throw timedOut('There was no room in the lane', { ...this.#lane.to });
    };
    try {
      // First the turn, then a slot: held by one that waits behind another, it might be what that one waits for.
      await untilDone(queue.turn(entry));
      this.#assertOpen();
      if (!this.#travelsInline(data, header)) {
        loan = data instanceof Loan ? data : this.#fill(await pool.getAsync(timeoutLeft()), data);
      }
      await untilDone(new AttemptSteps(this.#sending(id, loan ?? data, header)));
    } catch (error) {
      if (loan !== data) loan?.cancel();
      throw error;
    } finally {
      queue.leave(entry);
    }
  }

  /**
   * A slot to write a message into, undefined where all are out. Send it, or cancel it.
   *
   * @throws RangeError, TypeError or HeddleError `ERR_HEDDLE_RECORD_TOO_LARGE` for a bad size.
   */
  loan(byteLength: number): Loan | undefined {
    this.#checkDataBytes(assertWhole('The size of a loan', byteLength, 0, Number.MAX_SAFE_INTEGER));
    const { pool } = this.#memory;
    const descriptor = pool.tryGet();
    return descriptor === null ? undefined : new Loan(this.#memory, descriptor, byteLength);
  }

  /** Holds back what is sent from now on, so that one Atomics call publishes it all: at {@link uncork}, or when full. */
  cork(): void {
    this.#writer.cork();
  }

  /** Publishes what was held back, and everything from now on at once. */
  uncork(): void {
    if (!this.#lane.left) this.#writer.uncork();
  }

  /**
   * Blocks until every message sent so far from this worker, by this thread, to that one was handled.
   *
   * @throws HeddleError `ERR_HEDDLE_CLOSED` where the receiver is gone before that, `ERR_HEDDLE_TIMED_OUT`.
   */
  flush(options: Pick<WaitOptions, 'timeout'> = {}): void {
    const { platform } = this.#memory;
    const steps = new AttemptSteps(this.#flushing());
    if (!runBlocking(steps, this.#lane.lane.words, platform, options.timeout)) throw notHandled();
  }

  /** The same on the event loop. @throws (rejects) as {@link flush} does, and with `signal.reason`. */
  async flushAsync(options: WaitAsyncOptions = {}): Promise<void> {
    const { platform } = this.#memory;
    const steps = new AttemptSteps(this.#flushing());
    if (!(await runAsync(steps, this.#lane.lane.words, platform, options))) throw notHandled();
  }

  /**
   * Closes this end. What was sent is still read. Messages in slots that are unread when this thread detaches or ends
   * come back to the pool then: `flush` first where each counts.
   */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#lane.queue.wake();
    this.#leave(this);
  }

  [Symbol.dispose](): void {
    this.close();
  }

  /** Whether {@link report} is going to call `onClosed`. */
  get hasReport(): boolean {
    return !!this.#onClosed && !this.#reported && !this.#closed && this.#lane.sweep();
  }

  /** Calls `onClosed` once, where the receiver is gone. For `progress`. */
  report(): void {
    if (!this.#lane.sweep() || this.#reported || this.#closed) return;
    this.#reported = true;
    this.#onClosed?.({ address: this.address, ...(this.#lane.leftOver ?? { begun: 0, unread: 0 }) });
  }

  #attempt(id: number, data: Uint8Array | Loan, header: Uint8Array): SendStatus {
    const writer = this.#writer;
    if (data instanceof Loan) return this.#sendLoan(id, data, header);
    if (toUnits(header.length) + data.length <= this.#inlineBytes) {
      return statusOf(writer.writeInline(id, header, data));
    }
    if (!writer.hasRoomFor(SLOT_BODY_BYTES + header.length)) {
      return statusOf(writer.refuse());
    }
    const descriptor = this.#memory.pool.tryGet();
    if (descriptor === null) return writer.closed ? 'closed' : 'no-resource';
    return this.#sendSlot(id, descriptor, data, header);
  }

  #sendLoan(id: number, loan: Loan, header: Uint8Array): SendStatus {
    const descriptor = loan.assertHeld();
    const writer = this.#writer;
    if (!writer.hasRoomFor(SLOT_BODY_BYTES + header.length)) return statusOf(writer.refuse());
    const { pool } = this.#memory;
    pool.detach(descriptor);
    const status = statusOf(writer.writeSlot(id, header, descriptor, loan.byteLength, loan.shift));
    if (status === 'sent') loan.markSent();
    else pool.adopt(descriptor);
    return status;
  }

  #sendSlot(id: number, descriptor: number, data: Uint8Array, header: Uint8Array): SendStatus {
    const { memory, pool } = this.#memory;
    const shift = data.byteOffset & SHIFT_MASK;
    memory.set(data, pool.offset(descriptor) + shift);
    pool.detach(descriptor);
    const status = statusOf(this.#writer.writeSlot(id, header, descriptor, data.length, shift));
    if (status !== 'sent') this.#memory.takeBack(descriptor);
    return status;
  }

  #fill(descriptor: number, data: Uint8Array): Loan {
    const shift = data.byteOffset & SHIFT_MASK;
    const loan = new Loan(this.#memory, descriptor, data.length, shift);
    this.#memory.memory.set(data, loan.byteOffset);
    return loan;
  }

  #blockForLoan(data: Uint8Array | Loan, timeout: number): Loan {
    if (data instanceof Loan) return data;
    return this.#fill(this.#memory.pool.get({ timeout }), data);
  }

  /** Sending what needs no slot any more, until it is done. */
  #sending(id: number, data: Uint8Array | Loan, header: Uint8Array): Attempt {
    const bodyBytes =
      data instanceof Loan ? SLOT_BODY_BYTES + header.length : toUnits(header.length) + data.length;
    return {
      attempt: () => {
        if (this.#closed || this.#lane.left) this.#lane.throwClosed();
        const status = this.#attempt(id, data, header);
        if (status === 'closed') this.#lane.throwClosed();
        return status === 'sent';
      },
      sleep: () => this.#writer.sleepUntilRoom(bodyBytes),
    };
  }

  #flushing(): Attempt {
    const writer = this.#writer;
    if (!this.#lane.left) writer.publish();
    const { position } = writer;
    return {
      attempt: () => {
        const { left, leftOver } = this.#lane;
        if (left ? leftOver?.unread === 0 && leftOver.begun === 0 : writer.isHandled(position)) return true;
        if (left || writer.closed) this.#lane.throwClosed();
        return false;
      },
      sleep: () => writer.sleepUntilHandled(position),
    };
  }

  #travelsInline(data: Uint8Array | Loan, header: Uint8Array): boolean {
    return !(data instanceof Loan) && toUnits(header.length) + data.length <= this.#inlineBytes;
  }

  /** Reads `length`, which engines turn into a load; `byteLength` of a typed array is a call in some. */
  #check(id: number, data: Uint8Array | Loan, header: Uint8Array): void {
    if (!(Number.isInteger(id) && id >= 0 && id <= MAX_ID)) assertWhole('The id of a message', id, 0, MAX_ID);
    if (!(data instanceof Loan)) {
      if (!(data instanceof Uint8Array)) assertBytes('The data of a message', data);
      if (data.length > this.#slotBytes) this.#checkDataBytes(data.length);
    }
    if (!(header instanceof Uint8Array)) assertBytes('The header of a message', header);
    if (header.length > this.#inlineBytes) {
      throw tooLarge(
        'A header',
        header.length,
        this.#inlineBytes,
        'Create the context with larger inlineBytes',
      );
    }
  }

  #checkDataBytes(byteLength: number): void {
    if (byteLength <= this.#slotBytes) return;
    throw tooLarge('Data', byteLength, this.#slotBytes, 'Create the context with larger slotBytes');
  }

  #assertOpen(): void {
    if (this.#closed) throw closedError('This endpoint');
    if (this.#lane.left) this.#lane.throwClosed();
  }
}

function statusOf(answer: number): SendStatus {
  return answer === SENT ? 'sent' : answer === NO_ROOM ? 'no-resource' : 'closed';
}

function sendsWait(): HeddleError {
  return new HeddleError(
    'ERR_HEDDLE_OUTSTANDING',
    'Asynchronous sends of this thread wait for room on this lane, and must not be overtaken: await them first',
  );
}

function notHandled(): HeddleError {
  return timedOut('Not every message was handled');
}
