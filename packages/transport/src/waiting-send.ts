import {
  copyBytes,
  type Deadline,
  runAsync,
  runBlocking,
  type Step,
  type Steps,
  type WaitAsyncOptions,
} from '@heddle/memory';
import type { ContextMemory } from './context-memory.js';
import { Loan } from './loan.js';
import { type MessageData, type MessageWriter, type SendStatus, shiftFor } from './message-writer.js';
import type { OutboundLane } from './outbound-lane.js';
import { type Attempt, AttemptSteps } from './send-queue.js';
import { assertUnchanged, timedOut } from './transport-errors.js';

/** What a send that waits needs of its endpoint. */
export interface Way {
  readonly memory: ContextMemory;
  readonly lane: OutboundLane;
  readonly messages: MessageWriter;
  /** @throws HeddleError `ERR_HEDDLE_CLOSED`. */
  assertOpen(): void;
  /** The same, by a look at the lane: ends a wait for a slot when nothing can be sent any more. */
  assertMaySend(): void;
}

/**
 * A message that found no room, until it is sent: waits for a slot first, where it needs one, then for room in the lane.
 *
 * The slot is waited for on the word of its pool; whoever closes the lane wakes that too, so that a wait which has lost
 * its point ends.
 *
 * Data and header are not copied before there is a slot, or room: where a program changed their length meanwhile (it
 * resized the buffer, or transferred it away) nothing of them is written.
 */
export class WaitingSend implements Attempt {
  readonly #way: Way;
  readonly #data: MessageData;
  readonly #dataBytes: number;
  readonly #header: Uint8Array;
  readonly #headerBytes: number;
  readonly #asked: boolean;
  readonly #write: (data: MessageData) => SendStatus;
  /** A slot of this send's own, with a copy of the data. */
  #copy: Loan | undefined;

  /** @param write tries to send; the data is a loan by then, where the message needs a slot. */
  constructor(
    way: Way,
    data: MessageData,
    header: Uint8Array,
    asked: boolean,
    write: (data: MessageData) => SendStatus,
  ) {
    this.#way = way;
    this.#data = data;
    this.#dataBytes = data.byteLength;
    this.#header = header;
    this.#headerBytes = header.length;
    this.#asked = asked;
    this.#write = write;
  }

  attempt(): boolean {
    this.#way.assertOpen();
    assertUnchanged('The header', this.#header, this.#headerBytes);
    if (!this.#copy) assertUnchanged('The data', this.#data, this.#dataBytes);
    const status = this.#write(this.#copy ?? this.#data);
    if (status === 'closed') this.#way.lane.throwClosed();
    return status === 'sent';
  }

  sleep(): Step<never> | undefined {
    const { lane, messages } = this.#way;
    return lane.writer.sleepUntilRoom(messages.bodyBytes(this.#copy ?? this.#data, this.#header));
  }

  /** @throws HeddleError `ERR_HEDDLE_CLOSED`, `ERR_HEDDLE_TIMED_OUT`. */
  block(deadline: Deadline): void {
    const { memory, lane } = this.#way;
    const { platform } = memory;
    const leftMs = () => (deadline === Infinity ? Infinity : deadline - platform.now());
    try {
      const size = this.#sizeNeeded;
      if (size >= 0) {
        const descriptor = memory.slots.get(size, { timeout: leftMs(), check: this.#way.assertMaySend });
        this.#fill(size, descriptor);
      }
      const done = runBlocking(new AttemptSteps(this), lane.lane.words, platform, leftMs());
      if (!done) throw noRoom(lane);
    } catch (error) {
      this.#copy?.cancel();
      throw error;
    }
  }

  /** The same on the event loop, in turn. @throws (rejects) as {@link block} does, and with `signal.reason`. */
  async wait(options: WaitAsyncOptions, deadline: Deadline): Promise<void> {
    const { memory, lane } = this.#way;
    const { platform } = memory;
    const left = () => ({
      ...options,
      timeout: deadline === Infinity ? undefined : deadline - platform.now(),
    });
    const entry = {};
    const untilDone = async (steps: Steps<boolean>) => {
      if (!(await runAsync(steps, lane.lane.words, platform, left()))) throw noRoom(lane);
    };
    lane.queue.join(entry);
    try {
      // First the turn, then a slot: held by one that waits behind another, it might be what that one waits for.
      await untilDone(lane.queue.turn(entry, this.#way.assertOpen));
      this.#way.assertOpen();
      const size = this.#sizeNeeded;
      if (size >= 0) {
        const check = this.#way.assertMaySend;
        const descriptor = await memory.slots.getAsync(size, { ...left(), check });
        this.#fill(size, descriptor);
      }
      await untilDone(new AttemptSteps(this));
    } catch (error) {
      this.#copy?.cancel();
      // This thread has detached since: what is said of that is that the way is closed.
      if (!memory.segment.attached) this.#way.assertOpen();
      throw error;
    } finally {
      lane.queue.leave(entry);
    }
  }

  /** Copies the data to a slot of this thread, which is given back by who cancels that copy. */
  #fill(size: number, descriptor: number): void {
    const { memory } = this.#way;
    const data = this.#data as Uint8Array;
    const copy = new Loan(memory, size, descriptor, this.#dataBytes, shiftFor(data));
    this.#copy = copy;
    assertUnchanged('The data', data, this.#dataBytes);
    copyBytes(memory.memory, data, copy.byteOffset, copy.byteLength);
  }

  /** Size of the slot that has to be had first, -1 for none. */
  get #sizeNeeded(): number {
    const { memory, messages } = this.#way;
    if (!messages.needsSlot(this.#data, this.#header, this.#asked)) return -1;
    return memory.slots.sizeFor(this.#dataBytes);
  }
}

function noRoom(lane: OutboundLane): Error {
  return timedOut('There was no room in the lane', { ...lane.to });
}
