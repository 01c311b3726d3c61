import type { WaitAsyncOptions, WaitOptions } from '@heddle/memory';
import type { WorkerAddress } from './address.js';
import { Connections } from './connections.js';
import type { ContextMemory } from './context-memory.js';
import type { Endpoint, EndpointOptions } from './endpoint.js';
import { endLanesTo } from './lane-ends.js';
import type { WorkerPlace } from './lane-life.js';
import type { Message, MessageCursor } from './message.js';
import type { ReceiveCounts } from './receive-queue.js';
import { Receiver } from './receiver.js';
import { record } from './record.js';
import { THREAD_MODES, type ThreadMode } from './thread-mode.js';
import { assertWhole, closedError, noHandler } from './transport-errors.js';
import { WorkerAccess } from './worker-access.js';
import type { OpenOptions, RunOptions, WaitForMessagesOptions } from './worker-options.js';
import type { WorkerRow } from './worker-row.js';

const { MAX_ID } = record;

export type Handler = (message: Message) => void;

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
 * used it last, if that lives and has not closed it.
 */
export class TransportWorker {
  readonly name: string;
  /** The thread mode in force. */
  readonly threadMode: ThreadMode;
  readonly address: WorkerAddress;
  readonly #memory: ContextMemory;
  readonly #row: WorkerRow;
  readonly #place: WorkerPlace;
  readonly #access: WorkerAccess;
  readonly #receiver: Receiver;
  readonly #connections: Connections;
  readonly #handlers: (Handler | undefined)[] = [];
  readonly #onClose: (worker: TransportWorker) => void;

  /** Made by `context.createWorker` and `context.openWorker`. */
  constructor(
    memory: ContextMemory,
    place: WorkerPlace,
    options: OpenOptions,
    onClose: (worker: TransportWorker) => void,
  ) {
    this.name = options.name ?? 'worker';
    this.#memory = memory;
    this.#row = memory.row(place.row);
    this.#place = place;
    this.#onClose = onClose;
    this.threadMode = THREAD_MODES[this.#row.threadMode]!;
    this.address = memory.addressOf(place);
    this.#access = new WorkerAccess(memory, place, this.threadMode);
    this.#connections = new Connections(memory, place);
    this.#receiver = new Receiver({
      memory,
      place,
      access: this.#access,
      shared: this.threadMode === 'multi',
      idle: options.idle,
      connections: this.#connections,
    });
  }

  /** Whether it is closed: here, or by the thread that made it. 1 load. */
  get closed(): boolean {
    return this.#receiver.closed;
  }

  /** For the context: whether this is the worker of an address of this context. */
  isAt({ row, generation }: WorkerPlace): boolean {
    return row === this.#place.row && generation === this.#place.generation;
  }

  /** What this thread has received so far. Messages that `progress` is at are counted when it is through with their lane. */
  get counts(): Readonly<ReceiveCounts> {
    return this.#receiver.queue.counts;
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
   *   lanes are in use, `ERR_HEDDLE_MUST_NOT_BLOCK` as `context.locked` does; TypeError where it is no address, RangeError
   *   where it is one of another context.
   */
  connect(address: WorkerAddress, options: EndpointOptions = {}): Endpoint {
    if (this.closed) throw closedError('This worker');
    return this.#connections.connect(address, options);
  }

  /**
   * Publishes what endpoints made from this worker hold back. A message sent after it, to whichever worker, becomes
   * visible after those sent before; which handler starts first in different workers is up to them.
   *
   * On one endpoint it changes nothing: its messages are in order always, in whatever form. 1 CAS for each that holds
   * something back.
   *
   * @throws HeddleError `ERR_HEDDLE_OUTSTANDING` while asynchronous sends of this thread wait.
   */
  fence(): void {
    this.#connections.fence();
  }

  /** {@link Endpoint.flush} of all endpoints made from this worker by this thread. @throws as that does. */
  flush(options: Pick<WaitOptions, 'timeout'> = {}): void {
    this.#connections.flush(options);
  }

  /** The same on the event loop. @throws (rejects) as {@link Endpoint.flushAsync} does for the first that fails. */
  async flushAsync(options: WaitAsyncOptions = {}): Promise<void> {
    await this.#connections.flushAsync(options);
  }

  /**
   * Tells completions that have ended, and runs the handlers of messages that are there: at most `budget` of them, and
   * of each lane at most 256, so there may be more. Returns how many of both that were; `while (worker.progress());` goes
   * on until it finds none.
   *
   * What a handler throws comes through; its message counts as handled, the others stay where they are.
   *
   * @throws HeddleError `ERR_HEDDLE_CLOSED`; `ERR_HEDDLE_NAME_UNKNOWN` for a message without a handler, which is
   *   dropped; `ERR_HEDDLE_OUTSTANDING` from inside a handler; `ERR_HEDDLE_WRONG_THREAD` where calls overlap.
   */
  progress(budget = Infinity): number {
    if (typeof budget !== 'number') throw new TypeError(`A budget is a number, not ${typeof budget}`);
    if (!(budget >= 0)) throw new RangeError(`A budget is a number of messages from 0, not ${budget}`);
    return this.#receiver.progress(this.#handle, budget);
  }

  /**
   * Blocks until there is something to progress, or a signal. Returns false when the time is up.
   *
   * @throws HeddleError `ERR_HEDDLE_CLOSED`, `ERR_HEDDLE_MUST_NOT_BLOCK`; TypeError or RangeError for bad options; else as
   *   {@link progress} does.
   */
  wait(options: WaitForMessagesOptions = {}): boolean {
    return this.#receiver.wait(options);
  }

  /** Sleeps on the event loop, else the same. @throws (rejects) as {@link wait} does, and with `signal.reason`. */
  async waitAsync(options: WaitAsyncOptions = {}): Promise<boolean> {
    return this.#receiver.waitAsync(options);
  }

  /**
   * Prepares for a sleep outside of this library: senders ring from now on. Returns false where there is something to
   * progress already; else {@link waitAsync} and `wait` end at the next message.
   *
   * Cost, in Atomics calls: 1 exchange and 2 loads, and 1 load and 1 CAS for each lane that was looked at lately.
   */
  arm(): boolean {
    return this.#receiver.arm();
  }

  /** Ends the current or next `wait` of this worker, or turn of its `run`. From any thread that has opened it. */
  signal(): void {
    if (!this.closed) this.#row.doorbell.signal();
  }

  /**
   * Receives on the event loop until the signal aborts or the worker is closed. While there is nothing it does what its
   * idle strategy says: polls for a while that adapts to the traffic, then sleeps, unless told otherwise. Every few
   * milliseconds of work the event loop has its turn.
   *
   * @throws (rejects) with what a handler threw, and as {@link progress} does.
   */
  async run(options: RunOptions = {}): Promise<void> {
    await this.#receiver.run(this.#handle, options);
  }

  /**
   * Every message, one at a time, until the worker is closed or the signal aborts; handlers are not called. Waits as
   * {@link run} does.
   *
   * Each message is good until the next one is asked for, or this thread receives on this worker in another way, or
   * closes it. So an iteration may be dropped at any time; `return`, which `break` calls, ends one that waits at once, and
   * lets other threads at what the last message kept them off.
   *
   * @throws (rejects) `next`, as {@link run} does, and the iteration is over; HeddleError `ERR_HEDDLE_OUTSTANDING` while
   *   another `next` waits, which goes on.
   */
  messages(options: RunOptions = {}): AsyncGenerator<Message, void, undefined> {
    return this.#receiver.messages(options);
  }

  /** Lets a `run` keep the event loop alive, which it does at first. */
  ref(): this {
    this.#receiver.ref();
    return this;
  }

  /** Lets the event loop end although a `run` goes on. */
  unref(): this {
    this.#receiver.unref();
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
    this.#close(false);
  }

  /**
   * For the context, whose use this thread ends: the same, but that another thread which is inside goes on with the worker,
   * as after the death of this one.
   */
  leave(): void {
    this.#close(true);
  }

  #close(leaves: boolean): void {
    if (this.#receiver.closedHere) return;
    this.#access.endStay();
    const { token } = this.#memory;
    // First: recovery that has named this thread as the heir before this began after the owner was declared dead, which is
    // seen here; later it names another one, or nobody: H1.
    if (this.#row.owner !== token) this.#access.forget();
    const { owner } = this.#row;
    const ends = this.#row.isOpen(this.#place.generation) && this.#takesToEnd(owner, leaves);
    this.#receiver.close();
    if (ends) {
      this.#row.shut(this.#place.generation);
      endLanesTo(this.#memory, this.#place);
      this.#row.callAttention();
      this.#row.doorbell.signal();
      this.#row.free(owner);
      this.#row.free(token);
    }
    this.#onClose(this);
    this.#connections.close();
  }

  /** Whether this thread ends the worker: as its owner, or where that is dead, and nobody else may go on with it. */
  #takesToEnd(owner: number, leaves: boolean): boolean {
    if (owner === this.#memory.token) return this.#access.close(leaves);
    return !this.#memory.isAlive(owner) && this.#access.closeForgotten();
  }

  /** For the context. @throws HeddleError `ERR_HEDDLE_OUTSTANDING` from inside a handler. */
  assertOutside(): void {
    this.#access.assertOutside();
  }

  /** Waits until what its endpoints sent to other threads was handled, or cannot be, or the time is up. */
  async flushAll(options: WaitAsyncOptions): Promise<void> {
    await this.#connections.settleOthers(options);
  }

  [Symbol.dispose](): void {
    this.close();
  }

  readonly #handle = (message: MessageCursor): void => {
    const handler = this.#handlers[message.id];
    if (!handler) throw noHandler(message.id);
    handler(message);
  };
}
