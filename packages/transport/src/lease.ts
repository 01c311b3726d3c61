import type { ContextMemory } from './context-memory.js';

/** What another thread takes a lease over with: plain and cloneable. */
export interface LeaseHandle {
  readonly heddle: 'lease';
  readonly descriptor: number;
  /** Where the data begins in the slot, and its bytes. */
  readonly at: number;
  readonly byteLength: number;
}

/**
 * Data of a message that a thread keeps: a slot of the pool, which is its own until it releases it or hands it over.
 *
 * When the thread ends, its leases are released. `context.report()` says who holds which.
 */
export class Lease {
  readonly byteLength: number;
  readonly #memory: ContextMemory;
  readonly #descriptor: number;
  readonly #at: number;

  constructor(memory: ContextMemory, descriptor: number, at: number, byteLength: number) {
    this.#memory = memory;
    this.#descriptor = descriptor;
    this.#at = at;
    this.byteLength = byteLength;
  }

  /**
   * Takes over what another thread handed over. Of several that try, one succeeds.
   *
   * @throws HeddleError `ERR_HEDDLE_NOT_HOLDER` where it was not handed over, or taken already,
   *   `ERR_HEDDLE_STALE_DESCRIPTOR` where it was released since; TypeError where it is no handle.
   */
  static take(memory: ContextMemory, handle: LeaseHandle): Lease {
    if (typeof handle !== 'object' || handle === null || handle.heddle !== 'lease') {
      throw new TypeError('A lease is taken over with what lease.handOver() gave');
    }
    memory.pool.adopt(handle.descriptor);
    return new Lease(memory, handle.descriptor, handle.at, handle.byteLength);
  }

  /**
   * The data in place, a new view each time.
   *
   * @throws HeddleError `ERR_HEDDLE_STALE_DESCRIPTOR` after `release`; a view made before it must not be used then.
   */
  get data(): Uint8Array<SharedArrayBuffer> {
    return this.#memory.view(this.#memory.pool.offset(this.#descriptor) + this.#at, this.byteLength);
  }

  /**
   * Gives the slot back.
   *
   * @throws HeddleError `ERR_HEDDLE_STALE_DESCRIPTOR` the second time. After `handOver` nobody else may have taken it
   *   yet: then this takes it back.
   */
  release(): void {
    this.#memory.pool.put(this.#descriptor);
  }

  /**
   * Gives the lease away, to whichever thread calls `context.lease` with the handle first. Until then the end of this
   * thread releases it. 1 CAS.
   *
   * @throws HeddleError `ERR_HEDDLE_NOT_HOLDER` where this thread has it no more.
   */
  handOver(): LeaseHandle {
    this.#memory.pool.detach(this.#descriptor);
    return { heddle: 'lease', descriptor: this.#descriptor, at: this.#at, byteLength: this.byteLength };
  }

  [Symbol.dispose](): void {
    this.release();
  }
}
