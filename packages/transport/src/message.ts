import { copyBytes, HeddleError } from '@heddle/memory';
import type { WorkerAddress } from './address.js';
import type { ContextMemory, Lane } from './context-memory.js';
import { noteKept } from './kept-note.js';
import { Lease, NOBODY } from './lease.js';
import { record } from './record.js';
import { assertBytes } from './transport-errors.js';

const { KIND, RECORD_HEAD_BYTES, SLOT_BODY_BYTES, SLOT_RECORD } = record;
const { bodyBytesOf, headerBytesOf, idOfRecord, kindOf, toUnits } = record;

/**
 * A message while its handler runs, or until an iteration goes on: a window on shared memory.
 *
 * One object is used again for every message of a worker, or of an iteration. When it is over, its space goes back to the
 * sender; so `copyTo` what you need, or `keep()` it.
 */
export interface Message {
  readonly id: number;
  /** Bytes of the data. */
  readonly byteLength: number;
  readonly headerByteLength: number;
  /** Where the data begins in `memory`. With it, reading makes no object. */
  readonly byteOffset: number;
  readonly headerByteOffset: number;
  /** The whole segment. */
  readonly memory: Uint8Array<SharedArrayBuffer>;
  /** The data in place, a new view each time. */
  readonly data: Uint8Array<SharedArrayBuffer>;
  readonly header: Uint8Array<SharedArrayBuffer>;
  /** The worker that the sender's endpoint was made from: connect to it to answer. */
  readonly sender: WorkerAddress;
  /**
   * Copies the data to `target` from `at` on.
   *
   * @returns its length. @throws RangeError where it does not fit, TypeError where the target is no Uint8Array.
   */
  copyTo(target: Uint8Array, at?: number): number;
  /**
   * Keeps the data beyond the handler. What came in a slot is not copied; what came in the lane is, into a slot.
   *
   * @throws HeddleError `ERR_HEDDLE_EXHAUSTED` where that needs a slot, and all of the smallest size are out;
   *   `ERR_HEDDLE_NOT_HOLDER` the second time.
   */
  keep(): Lease;
}

const NO_SLOT = -1;

/** Answers of {@link MessageCursor.moveTo}: the data is in the lane, in a slot that is this thread's now, or gone. */
export const INLINE = 0;
const IN_SLOT = 1;
export const LOST = 2;

/** The one message object of a worker, or of an iteration. */
export class MessageCursor implements Message {
  id = 0;
  readonly memory: Uint8Array<SharedArrayBuffer>;
  readonly #memory: ContextMemory;
  #lane: Lane | undefined;
  #slot = NO_SLOT;
  #slotAt = 0;
  /** Of the slot: which pool it is of. */
  #size = 0;
  /** The sender asked to be woken when the slot is back. */
  #asked = false;
  /** So did one since the last {@link takeAsked}. */
  anyAsked = false;
  #kept = false;
  #byteLength = 0;
  #byteOffset = 0;
  #headerByteLength = 0;
  #headerByteOffset = 0;

  constructor(memory: ContextMemory) {
    this.#memory = memory;
    this.memory = memory.memory;
  }

  /**
   * Moves to the record at a word of a lane's space.
   *
   * Short, and the rest on its own: what reads many short messages is compiled in one piece then.
   *
   * @returns `LOST` where its slot came back to the pool, because its sender died; else `INLINE` or `IN_SLOT`.
   */
  moveTo(lane: Lane, space: Int32Array, at: number): number {
    const first = space[at]!;
    const second = space[at + 1]!;
    const bodyAt = lane.byteOffset + at * 4 + RECORD_HEAD_BYTES;
    const headerBytes = headerBytesOf(second);
    this.id = idOfRecord(second);
    this.#lane = lane;
    this.#kept = false;
    this.#slot = NO_SLOT;
    this.#headerByteLength = headerBytes;
    this.#headerByteOffset = bodyAt;
    if (kindOf(first) !== KIND.inline) return this.#moveToSlot(space, at, kindOf(first) === KIND.asked);
    const dataAt = toUnits(headerBytes);
    this.#byteOffset = bodyAt + dataAt;
    this.#byteLength = bodyBytesOf(first) - dataAt;
    return INLINE;
  }

  #moveToSlot(space: Int32Array, at: number, asked: boolean): number {
    this.#headerByteOffset += SLOT_BODY_BYTES;
    this.#asked = asked;
    if (asked) this.anyAsked = true;
    this.#byteLength = space[at + SLOT_RECORD.dataBytes]!;
    this.#slotAt = space[at + SLOT_RECORD.dataAt]!;
    this.#size = space[at + SLOT_RECORD.size]!;
    const descriptor = space[at + SLOT_RECORD.descriptor]!;
    const byteOffset = this.#memory.slots.adopt(this.#size, descriptor);
    if (byteOffset < 0) return LOST;
    this.#slot = descriptor;
    this.#byteOffset = byteOffset + this.#slotAt;
    return IN_SLOT;
  }

  /** Whether the sender of a message asked to be woken, since the last call of this. */
  takeAsked(): boolean {
    const asked = this.anyAsked;
    this.anyAsked = false;
    return asked;
  }

  /** The handler is done: puts the slot back, unless it was kept. */
  finish(): void {
    this.#lane = undefined;
    if (this.#slot === NO_SLOT) return;
    const slot = this.#slot;
    this.#slot = NO_SLOT;
    this.#memory.slots.of(this.#size).put(slot);
  }

  get byteLength(): number {
    return this.#byteLength;
  }

  get headerByteLength(): number {
    return this.#headerByteLength;
  }

  get byteOffset(): number {
    return this.#byteOffset;
  }

  get headerByteOffset(): number {
    return this.#headerByteOffset;
  }

  get data(): Uint8Array<SharedArrayBuffer> {
    this.#assertCurrent();
    return this.#memory.view(this.#byteOffset, this.#byteLength);
  }

  get header(): Uint8Array<SharedArrayBuffer> {
    this.#assertCurrent();
    return this.#memory.view(this.#headerByteOffset, this.#headerByteLength);
  }

  get sender(): WorkerAddress {
    return this.#memory.addressOf(this.#assertCurrent().life.source);
  }

  copyTo(target: Uint8Array, at = 0): number {
    assertBytes('The target of a copy', target);
    if (!(Number.isInteger(at) && at >= 0 && at + this.#byteLength <= target.byteLength)) {
      throw new RangeError(
        `Data of ${this.#byteLength} bytes does not fit ${target.byteLength} bytes from ${at} on`,
      );
    }
    copyBytes(target, this.data, at);
    return this.#byteLength;
  }

  keep(): Lease {
    const lane = this.#assertCurrent();
    if (this.#kept) {
      throw new HeddleError('ERR_HEDDLE_NOT_HOLDER', 'This message is kept already: it has one lease');
    }
    const inSlot = this.#slot !== NO_SLOT;
    const descriptor = inSlot ? this.#slot : this.#copyToSlot();
    const asker = inSlot && this.#asked ? lane.life.source.row : NOBODY;
    this.#slot = NO_SLOT;
    this.#kept = true;
    const size = inSlot ? this.#size : 0;
    noteKept(this.#memory, size, descriptor);
    return new Lease(this.#memory, {
      heddle: 'lease',
      descriptor,
      size,
      at: inSlot ? this.#slotAt : 0,
      byteLength: this.#byteLength,
      asker,
    });
  }

  /** The smallest slots are as large as what travels in a lane. */
  #copyToSlot(): number {
    const pool = this.#memory.slots.of(0);
    const descriptor = pool.tryGet();
    if (descriptor !== null) {
      this.memory.set(this.data, pool.offset(descriptor));
      return descriptor;
    }
    throw new HeddleError(
      'ERR_HEDDLE_EXHAUSTED',
      `All ${pool.maxElems} slots of the smallest size are out, and keeping a message from a lane takes one. context.report() says who holds them`,
      { slots: pool.maxElems },
    );
  }

  /** @throws HeddleError `ERR_HEDDLE_STALE_DESCRIPTOR` where it is over. */
  #assertCurrent(): Lane {
    if (this.#lane) return this.#lane;
    throw new HeddleError(
      'ERR_HEDDLE_STALE_DESCRIPTOR',
      'This message is over: its handler has returned, or this thread has received again. Copy what you need, or keep() it',
    );
  }
}
