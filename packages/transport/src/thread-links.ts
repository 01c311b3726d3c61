import { HeddleError, type Segment, type WatchableWorker } from '@heddle/memory';
import type { ContextHandle } from './context-handle.js';
import { type SpawnedWorker, type SpawnOptions, startWorker } from './spawn.js';

/** The threads that a thread has started or adopted for a context: how they get its handle, and who sees their end. */
export class ThreadLinks {
  readonly #segment: Segment;
  readonly #name: string;
  readonly #unwatch = new Set<() => void>();

  constructor(segment: Segment, contextName: string) {
    this.#segment = segment;
    this.#name = contextName;
  }

  get handle(): ContextHandle {
    return { heddle: 'context', segment: this.#segment.handle, name: this.#name };
  }

  /** As `context.spawn` has it. */
  spawn(url: URL | string, options: SpawnOptions): SpawnedWorker {
    const { workerData = {} } = options;
    if (typeof workerData !== 'object' || workerData === null || 'heddle' in workerData) {
      throw new TypeError('workerData is an object without "heddle", under which the handle is passed');
    }
    const { handle, transferList } = this.lifeline();
    try {
      const worker = startWorker(url, {
        ...options,
        workerData: { ...workerData, heddle: handle },
        transferList: [...(options.transferList ?? []), ...transferList],
      });
      this.adopt(worker);
      return worker;
    } catch (error) {
      // Nobody has it: the janitor would wait for its end.
      for (const port of transferList) port.close();
      throw error;
    }
  }

  /** As `context.adopt` has it. */
  adopt(worker: WatchableWorker): () => void {
    const unwatch = this.#segment.watch(worker);
    const forget = () => this.#unwatch.delete(stop);
    const stop = () => {
      forget();
      worker.off('exit', forget);
      unwatch();
    };
    worker.once('exit', forget);
    this.#unwatch.add(stop);
    return stop;
  }

  /** As `context.lifeline` has it. */
  // biome-ignore lint/suspicious/noExplicitAny: the type of a transfer list differs from engine to engine
  lifeline(): { readonly handle: ContextHandle; readonly transferList: any[] } {
    try {
      const { handle, transferList } = this.#segment.lifeline();
      return { handle: { ...this.handle, segment: handle }, transferList };
    } catch (error) {
      if (!(error instanceof HeddleError && error.code === 'ERR_HEDDLE_UNSUPPORTED')) throw error;
      return { handle: this.handle, transferList: [] };
    }
  }

  /** Watches none of them any more. */
  close(): void {
    for (const stop of this.#unwatch) stop();
  }
}
