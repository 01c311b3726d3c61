import type { ContextMemory } from './context-memory.js';
import { Entry } from './entry.js';
import type { WorkerPlace } from './lane-life.js';
import type { ThreadMode } from './thread-mode.js';
import { workerRowLayout } from './transport.layout.js';
import { handlerRuns } from './transport-errors.js';

/**
 * Lets this thread into a worker, one call at a time: what its thread mode asks for, in all builds.
 *
 * **Cost**, in Atomics calls: none; in thread mode serialized 1 CAS on entry, 2 where another thread was inside since,
 * and 1 store on leaving.
 */
export class WorkerAccess {
  readonly #entry: Entry | undefined;
  #inside = false;

  constructor(memory: ContextMemory, place: WorkerPlace, threadMode: ThreadMode) {
    if (threadMode !== 'serialized') return;
    const { entry } = workerRowLayout.offsets;
    this.#entry = new Entry(memory.rowWords(place.row), entry, memory.token, memory.platform);
  }

  /**
   * @returns whether another thread was inside since this one was.
   * @throws HeddleError `ERR_HEDDLE_OUTSTANDING` from inside a handler, `ERR_HEDDLE_WRONG_THREAD` where calls of threads
   *   overlap, `ERR_HEDDLE_CLOSED`. Nothing has changed then.
   */
  enter(): boolean {
    this.assertOutside();
    const changed = this.#entry?.enter() ?? false;
    this.#inside = true;
    return changed;
  }

  leave(): void {
    this.#inside = false;
    this.#entry?.leave();
  }

  /** Lets nobody in any more. By the thread that owns the worker. @throws as {@link enter} does. */
  close(): void {
    this.#entry?.enter();
    this.#entry?.close();
  }

  /** @throws HeddleError `ERR_HEDDLE_OUTSTANDING` from inside a handler. */
  assertOutside(): void {
    if (this.#inside) throw handlerRuns();
  }
}
