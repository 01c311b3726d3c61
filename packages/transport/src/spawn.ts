import { HeddleError, type WatchableWorker } from '@heddle/memory';

/** What is used of a thread that was started: Node's `Worker` has it. */
export interface SpawnedWorker extends WatchableWorker {
  postMessage(message: unknown, transferList?: readonly unknown[]): void;
  terminate(): Promise<number>;
  on(event: string, listener: (...args: never[]) => void): unknown;
  ref(): void;
  unref(): void;
}

/** Options of Node's `Worker`, of which `workerData` is an object or absent. */
export interface SpawnOptions {
  readonly workerData?: object | undefined;
  readonly transferList?: readonly unknown[] | undefined;
  readonly name?: string | undefined;
  readonly [option: string]: unknown;
}

interface WorkerThreads {
  Worker: new (url: URL | string, options: object) => SpawnedWorker;
}

/**
 * Starts a thread.
 *
 * @throws HeddleError `ERR_HEDDLE_UNSUPPORTED` outside of Node: there, create the worker and pass the handle.
 */
export function startWorker(url: URL | string, options: object): SpawnedWorker {
  const host = globalThis as { process?: { getBuiltinModule?: (name: string) => unknown } };
  const threads = host.process?.getBuiltinModule?.('node:worker_threads') as WorkerThreads | undefined;
  if (threads) return new threads.Worker(url, options);
  throw new HeddleError(
    'ERR_HEDDLE_UNSUPPORTED',
    'context.spawn needs Node: here, create the worker yourself, post it context.handle, and declare its end when you know',
  );
}
