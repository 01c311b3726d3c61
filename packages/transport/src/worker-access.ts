import type { ContextMemory } from './context-memory.js';
import type { Entry } from './entry.js';
import type { WorkerPlace } from './lane-life.js';
import type { ThreadMode } from './thread-mode.js';
import { handlerRuns, isClosed } from './transport-errors.js';

/**
 * Lets this thread into a worker, one call at a time: what its thread mode asks for, in all builds.
 *
 * **Cost**, in Atomics calls: none; in thread mode serialized 1 CAS on entry, 2 where another thread was inside since,
 * and 1 store on leaving.
 */
export class WorkerAccess {
  readonly #entry: Entry | undefined;
  #inside = false;
  /** What this thread is inside for, where no call is, and how that ends. */
  #stay: { readonly by: object; readonly end: () => void } | undefined;

  constructor(memory: ContextMemory, place: WorkerPlace, threadMode: ThreadMode) {
    if (threadMode === 'serialized') this.#entry = memory.rowEntry(place);
  }

  /**
   * @returns whether another thread was inside since this one was.
   * @throws HeddleError `ERR_HEDDLE_OUTSTANDING` from inside a handler, `ERR_HEDDLE_WRONG_THREAD` where calls of threads
   *   overlap, `ERR_HEDDLE_CLOSED`. Nothing has changed then.
   */
  enter(): boolean {
    if (this.#inside) this.endStay();
    const changed = this.#entry?.enter() ?? false;
    this.#inside = true;
    return changed;
  }

  leave(): void {
    this.#inside = false;
    this.#entry?.leave();
  }

  /** Stays inside beyond the call, in the name of `by`, until this thread enters again, which ends it first. */
  stay(by: object, end: () => void): void {
    this.#stay = { by, end };
  }

  /**
   * Ends a stay, if there is one.
   *
   * @param by ends only that of this one.
   * @throws HeddleError `ERR_HEDDLE_OUTSTANDING` from inside a handler.
   */
  endStay(by?: object): void {
    const stay = this.#stay;
    if (by && stay?.by !== by) return;
    this.assertOutside();
    if (!stay) return;
    this.#stay = undefined;
    try {
      stay.end();
    } finally {
      this.leave();
    }
  }

  /**
   * Lets nobody in any more. By the thread that owns the worker.
   *
   * @param leaves leaves it to another thread that is inside.
   * @returns false where it does, or where recovery has closed it, and ends it.
   * @throws HeddleError `ERR_HEDDLE_WRONG_THREAD` where another thread is inside.
   */
  close(leaves: boolean): boolean {
    if (!this.#entry) return true;
    try {
      this.#entry.enter();
    } catch (error) {
      if (leaves || isClosed(error)) return false;
      throw error;
    }
    this.#entry.close();
    return true;
  }

  /** This thread does not come in again, and does not inherit. */
  forget(): void {
    this.#entry?.forget();
  }

  /** After {@link forget}: lets nobody in any more, if nobody is left who may come again. Returns whether it did. */
  closeForgotten(): boolean {
    return this.#entry?.closeForgotten() ?? false;
  }

  /** @throws HeddleError `ERR_HEDDLE_OUTSTANDING` from inside a handler. */
  assertOutside(): void {
    if (this.#inside && !this.#stay) throw handlerRuns();
  }
}
