import type { ContextMemory } from './context-memory.js';
import type { SlotPool } from './slot-pools.js';
import { assertWhole } from './transport-errors.js';

/** What another thread takes a lease over with: plain and cloneable. */
export interface LeaseHandle {
  readonly heddle: 'lease';
  readonly descriptor: number;
  /** Of the slot: which pool it is of. */
  readonly size: number;
  /** Where the data begins in the slot, and its bytes. */
  readonly at: number;
  readonly byteLength: number;
  /** Row of the worker that asked to be woken by the release, -1 for none. */
  readonly asker: number;
}

/** For {@link LeaseHandle.asker}: nobody asked. */
export const NOBODY = -1;

/**
 * Data of a message that a thread keeps: a slot of the pool, which is its own until it releases it or hands it over.
 *
 * When the thread ends, its leases are released. `context.report()` says who holds which.
 */
export class Lease {
  readonly byteLength: number;
  readonly #memory: ContextMemory;
  readonly #pool: SlotPool;
  readonly #handle: LeaseHandle;

  constructor(memory: ContextMemory, handle: LeaseHandle) {
    this.#memory = memory;
    this.#pool = memory.slots.of(handle.size);
    this.#handle = handle;
    this.byteLength = handle.byteLength;
  }

  /**
   * Takes over what another thread handed over. Of several that try, one succeeds.
   *
   * @throws HeddleError `ERR_HEDDLE_NOT_HOLDER` where it was not handed over, or taken already,
   *   `ERR_HEDDLE_STALE_DESCRIPTOR` where it was released since; TypeError or RangeError where it is no handle.
   */
  static take(memory: ContextMemory, handle: LeaseHandle): Lease {
    if (typeof handle !== 'object' || handle === null || handle.heddle !== 'lease') {
      throw new TypeError('A lease is taken over with what lease.handOver() gave');
    }
    const { shape } = memory;
    assertWhole('The size of a lease', handle.size, 0, shape.slotBytes.length - 1);
    assertWhole('The asker of a lease', handle.asker, NOBODY, shape.maxWorkers - 1);
    memory.slots.of(handle.size).adopt(handle.descriptor);
    return new Lease(memory, { ...handle });
  }

  /**
   * The data in place, a new view each time.
   *
   * @throws HeddleError `ERR_HEDDLE_STALE_DESCRIPTOR` after `release`; a view made before it must not be used then.
   */
  get data(): Uint8Array<SharedArrayBuffer> {
    const { descriptor, at } = this.#handle;
    return this.#memory.view(this.#pool.offset(descriptor) + at, this.byteLength);
  }

  /**
   * Gives the slot back. Where the sender asked to know, it is told: what that costs is said at `Completion`.
   *
   * @throws HeddleError `ERR_HEDDLE_STALE_DESCRIPTOR` the second time. After `handOver` nobody else may have taken it
   *   yet: then this takes it back.
   */
  release(): void {
    const { descriptor, asker } = this.#handle;
    this.#pool.put(descriptor);
    if (asker !== NOBODY) this.#memory.tellDone(asker);
  }

  /**
   * Gives the lease away, to whichever thread calls `context.lease` with the handle first. Until then the end of this
   * thread releases it. 1 CAS.
   *
   * @throws HeddleError `ERR_HEDDLE_NOT_HOLDER` where this thread has it no more.
   */
  handOver(): LeaseHandle {
    this.#pool.detach(this.#handle.descriptor);
    return { ...this.#handle };
  }

  [Symbol.dispose](): void {
    this.release();
  }
}
