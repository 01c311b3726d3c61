import { HeddleError } from '@heddle/memory';
import type { ContextMemory } from './context-memory.js';
import { MAX_SHIFT, type SlotPool } from './slot-pools.js';
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

/** Where a lease is, as this object knows it. */
type State = 'held' | 'handed over' | 'released';

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
  #state: State = 'held';

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
    const { descriptor, size, at, byteLength, asker } = handle;
    assertWhole('The size of a lease', size, 0, shape.slotBytes.length - 1);
    assertWhole('The place of a lease', at, 0, MAX_SHIFT);
    assertWhole('The length of a lease', byteLength, 0, shape.slotBytes[size]!);
    assertWhole('The asker of a lease', asker, NOBODY, shape.maxWorkers - 1);
    memory.slots.of(size).adopt(descriptor);
    return new Lease(memory, { heddle: 'lease', descriptor, size, at, byteLength, asker });
  }

  /**
   * The data in place, a new view each time.
   *
   * @throws HeddleError `ERR_HEDDLE_STALE_DESCRIPTOR` after `release`, `ERR_HEDDLE_NOT_HOLDER` after `handOver`; a view
   *   made before must not be used then.
   */
  get data(): Uint8Array<SharedArrayBuffer> {
    const { descriptor, at } = this.#handle;
    if (this.#state === 'handed over') throw handedOver();
    return this.#memory.view(this.#pool.offset(descriptor) + at, this.byteLength);
  }

  /**
   * Gives the slot back. Where the sender asked to know, it is told: what that costs is said at `Completion`.
   *
   * After `handOver` this takes it back first, where nobody else has taken it yet.
   *
   * @throws HeddleError `ERR_HEDDLE_STALE_DESCRIPTOR` the second time; `ERR_HEDDLE_NOT_HOLDER` where it was handed over,
   *   and somebody has taken it.
   */
  release(): void {
    const { descriptor, asker } = this.#handle;
    if (this.#state === 'handed over') {
      this.#pool.adopt(descriptor);
      this.#state = 'held';
    }
    this.#pool.put(descriptor);
    this.#state = 'released';
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
    this.#state = 'handed over';
    return { ...this.#handle };
  }

  /** Releases it. Nothing happens where it was released or handed over already, or came back as this thread detached. */
  [Symbol.dispose](): void {
    if (this.#state === 'held' && this.#memory.segment.attached) this.release();
  }
}

function handedOver(): HeddleError {
  return new HeddleError(
    'ERR_HEDDLE_NOT_HOLDER',
    'This lease was handed over: its data is for whoever takes it by context.lease',
  );
}
