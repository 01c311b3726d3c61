import type { Mpool } from './mpool.js';

/**
 * An element as an object, for code that prefers one to a number: `release()`, or `using` where the language has it.
 *
 * It belongs to the thread that made it; its `descriptor` is what travels. A lease that is forgotten is not released:
 * finalizers do not run in a worker that is terminated.
 */
export class Lease {
  readonly descriptor: number;
  readonly #pool: Mpool;
  #bytes: Uint8Array<SharedArrayBuffer> | undefined;
  #released = false;

  constructor(pool: Mpool, descriptor: number) {
    this.#pool = pool;
    this.descriptor = descriptor;
  }

  /** The memory of the element: one view, made at the first call. @throws as `pool.bytes` does after release. */
  get bytes(): Uint8Array<SharedArrayBuffer> {
    if (this.#bytes === undefined || this.#released) this.#bytes = this.#pool.bytes(this.descriptor);
    return this.#bytes;
  }

  /** Puts the element back. Once; a second call does nothing. */
  release(): void {
    if (this.#released) return;
    this.#pool.put(this.descriptor);
    this.#released = true;
  }

  [Symbol.dispose](): void {
    this.release();
  }
}
