import { copyBytes } from '@heddle/memory';
import type { ContextMemory } from './context-memory.js';
import type { LaneWriter } from './lane-writer.js';
import { Loan } from './loan.js';
import { record } from './record.js';
import * as answers from './send-answer.js';
import { MAX_SHIFT, type SlotPool } from './slot-pools.js';
import { assertBytes, assertWhole, tooLarge } from './transport-errors.js';

const { KIND, MAX_ID, SLOT_BODY_BYTES, toUnits } = record;
const { SENT, NO_ROOM } = answers;

/** Where data begins in a slot: congruent to the source's offset modulo 8, where copying is fast. */
export function shiftFor(data: Uint8Array): number {
  return data.byteOffset & MAX_SHIFT;
}

/** What is sent: bytes to be copied, or a loan. */
export type MessageData = Uint8Array | Loan;

/**
 * Writes messages to a lane, each in its form: inline, in a slot, or as the loan that it is.
 *
 * A slot is detached before its record is written: from then on it belongs to whoever adopts it, and this thread's death
 * brings it back. The record is the commit.
 */
export class MessageWriter {
  /** Bytes of the longest header; and of header and data together that travel in the lane. */
  readonly inlineBytes: number;
  /** The slot of the last message that was written and has one. */
  pool: SlotPool | undefined;
  descriptor = -1;
  readonly #memory: ContextMemory;
  readonly #lane: LaneWriter;

  constructor(memory: ContextMemory, lane: LaneWriter) {
    this.#memory = memory;
    this.#lane = lane;
    this.inlineBytes = memory.shape.inlineBytes;
  }

  /**
   * Writes a message, if there is room. Answers `SENT`, `NO_ROOM` or `LANE_CLOSED`. A loan that is not sent stays the
   * caller's.
   *
   * @throws as {@link check} does. Nothing has changed then.
   */
  write(id: number, data: MessageData, header: Uint8Array, asked: boolean): number {
    // `length` first: it is a plain load, tells the engine the types that are checked next, and a loan has none.
    const bodyBytes = toUnits(header.length) + (data as Uint8Array).length;
    const inline = bodyBytes <= this.inlineBytes && !asked && data instanceof Uint8Array;
    if (inline && header instanceof Uint8Array && id >>> 0 === id && id <= MAX_ID) {
      return this.#lane.writeInline(id, header, data);
    }
    return this.#writeChecked(id, data, header, asked);
  }

  /**
   * Writes messages from number `from` on, as far as they go the shortest way: without header, in the lane, where there is
   * room without a look. Returns the number of the first that is not written, for {@link write}.
   */
  writeManyInline(id: number, all: readonly MessageData[], header: Uint8Array, from: number): number {
    if (header.length > 0 || !(header instanceof Uint8Array) || id >>> 0 !== id || id > MAX_ID) return from;
    return this.#lane.writeManyInline(id, all, from, this.inlineBytes);
  }

  #writeChecked(id: number, data: MessageData, header: Uint8Array, asked: boolean): number {
    this.check(id, data, header);
    if (data instanceof Loan) return this.#writeLoan(id, data, header, asked);
    if (!this.needsSlot(data, header, asked)) return this.#lane.writeInline(id, header, data);
    if (!this.#lane.hasRoomFor(SLOT_BODY_BYTES + header.length)) return this.#lane.refuse();
    const { slots, memory } = this.#memory;
    const { length } = data;
    const size = slots.sizeFor(length);
    const pool = slots.of(size);
    const descriptor = pool.tryGet();
    // What is held back goes out, or it could hold all slots for ever.
    if (descriptor === null) return this.#lane.refuse();
    const shift = shiftFor(data);
    copyBytes(memory, data, pool.offset(descriptor) + shift, length);
    const answer = this.#writeSlot(id, header, size, descriptor, length, shift, asked);
    if (answer !== SENT) pool.put(descriptor);
    return answer;
  }

  #writeLoan(id: number, loan: Loan, header: Uint8Array, asked: boolean): number {
    const descriptor = loan.assertHeld();
    if (!this.#lane.hasRoomFor(SLOT_BODY_BYTES + header.length)) return this.#lane.refuse();
    const { size, shift, byteLength } = loan;
    const answer = this.#writeSlot(id, header, size, descriptor, byteLength, shift, asked);
    if (answer === SENT) loan.markSent();
    return answer;
  }

  /** Gives a slot of this thread away, and writes the record. Where that is not done, the slot is this thread's again. */
  #writeSlot(
    id: number,
    header: Uint8Array,
    size: number,
    descriptor: number,
    byteLength: number,
    shift: number,
    asked: boolean,
  ): number {
    const pool = this.#memory.slots.of(size);
    pool.detach(descriptor);
    const kind = asked ? KIND.asked : KIND.slot;
    const answer = this.#lane.writeSlot(id, header, descriptor, byteLength, shift, size, kind);
    if (answer !== SENT) pool.adopt(descriptor);
    this.pool = pool;
    this.descriptor = descriptor;
    return answer;
  }

  /** Whether a message has to be copied to a slot. */
  needsSlot(data: MessageData, header: Uint8Array, asked: boolean): boolean {
    if (data instanceof Loan) return false;
    return asked || toUnits(header.length) + data.length > this.inlineBytes;
  }

  /** Bytes of the record's body of what needs no slot any more. */
  bodyBytes(data: MessageData, header: Uint8Array): number {
    if (data instanceof Loan) return SLOT_BODY_BYTES + header.length;
    return toUnits(header.length) + data.length;
  }

  /** @throws TypeError or RangeError for bad arguments; HeddleError `ERR_HEDDLE_RECORD_TOO_LARGE`. */
  check(id: number, data: MessageData, header: Uint8Array): void {
    assertWhole('The id of a message', id, 0, MAX_ID);
    if (data instanceof Loan) data.assertOf(this.#memory);
    else {
      assertBytes('The data of a message', data);
      this.checkDataBytes(data.length);
    }
    assertBytes('The header of a message', header);
    if (header.length > this.inlineBytes) {
      const hint = 'Create the context with larger inlineBytes';
      throw tooLarge('A header', header.length, this.inlineBytes, hint);
    }
  }

  /** @throws HeddleError `ERR_HEDDLE_RECORD_TOO_LARGE`. */
  checkDataBytes(byteLength: number): void {
    const { maxDataBytes } = this.#memory.slots;
    if (byteLength <= maxDataBytes) return;
    throw tooLarge(
      'Data',
      byteLength,
      maxDataBytes,
      'Create the context with larger slotBytes or largeSlots',
    );
  }
}

/** `'no-resource'`: no room in the lane, or no slot, or earlier sends wait still. `'closed'`: the receiver is gone. */
export type SendStatus = 'sent' | 'no-resource' | 'closed';

export function statusOf(answer: number): SendStatus {
  return answer === SENT ? 'sent' : answer === NO_ROOM ? 'no-resource' : 'closed';
}
