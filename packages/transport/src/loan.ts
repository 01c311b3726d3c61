import { HeddleError } from '@heddle/memory';
import type { ContextMemory } from './context-memory.js';
import type { SlotPool } from './slot-pools.js';

/**
 * A slot of the pool to write a message into, in place: sending it moves a descriptor, and no byte of data.
 *
 * It is this thread's until it was sent; what is not sent has to be cancelled.
 */
export class Loan {
  /** Of the data, as asked for. */
  readonly byteLength: number;
  /** In the segment. */
  readonly byteOffset: number;
  /** In the slot. */
  readonly shift: number;
  /** Of the slot: which pool it is of. */
  readonly size: number;
  readonly #memory: ContextMemory;
  readonly #pool: SlotPool;
  #descriptor: number;

  /** @param shift where the data begins in the slot. */
  constructor(memory: ContextMemory, size: number, descriptor: number, byteLength: number, shift = 0) {
    this.#memory = memory;
    this.#pool = memory.slots.of(size);
    this.#descriptor = descriptor;
    this.size = size;
    this.byteLength = byteLength;
    this.shift = shift;
    this.byteOffset = this.#pool.offset(descriptor) + shift;
  }

  /**
   * Where to write, a new view each time: what the last user of the slot left is in it. Not to be used after the loan
   * was sent or cancelled.
   *
   * @throws HeddleError `ERR_HEDDLE_NOT_HOLDER` then; `ERR_HEDDLE_DETACHED` where it came back as this thread detached.
   */
  get data(): Uint8Array<SharedArrayBuffer> {
    return this.#memory.view(this.#pool.offset(this.assertHeld()) + this.shift, this.byteLength);
  }

  /** @throws TypeError where it is of another context, or of an earlier use of this one. */
  assertOf(memory: ContextMemory): void {
    if (memory === this.#memory) return;
    throw new TypeError('This loan is of another context: ask an endpoint of this one for a loan');
  }

  /** The slot. For sending. @throws HeddleError `ERR_HEDDLE_NOT_HOLDER` where it was sent or cancelled. */
  assertHeld(): number {
    if (this.#descriptor >= 0) return this.#descriptor;
    throw new HeddleError(
      'ERR_HEDDLE_NOT_HOLDER',
      'This loan was sent or cancelled: ask the endpoint for another one',
    );
  }

  /** It is the receiver's now. */
  markSent(): void {
    this.#descriptor = -1;
  }

  /** Gives the slot back. Nothing happens where it was sent or cancelled already, or came back as this thread detached. */
  cancel(): void {
    if (this.#descriptor < 0) return;
    if (this.#memory.segment.attached) this.#pool.put(this.#descriptor);
    this.#descriptor = -1;
  }

  [Symbol.dispose](): void {
    this.cancel();
  }
}
