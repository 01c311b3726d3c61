import { type ChildProcess, fork } from 'node:child_process';
import type { LeftOver, PoolAccount, Variant } from './courier.js';
import type { Job } from './job.js';

/** What a variant is asked to do: the first message to its process. */
export interface VariantTask {
  readonly variant: Variant;
  readonly files: readonly string[];
  readonly job: Job;
  readonly workers: number;
  readonly blockBytes: number;
  /** Where to write the output, for a job that has one. */
  readonly writingPath: string | undefined;
  readonly killAtBlock: number | undefined;
}

export interface VariantResult {
  readonly bytes: number;
  readonly blockCrcs: Uint32Array;
  readonly crc: number;
  readonly wallMs: number;
  /** Of all its threads together, user and system. */
  readonly cpuMs: number;
  /** Time that the same blocks take to go to the workers and back with no work on them. */
  readonly movingMs: number;
  readonly peakMemoryBytes: number;
  readonly account: PoolAccount | undefined;
}

export interface DeathReport extends LeftOver {
  readonly worker: string;
}

/** What the process of a variant says. */
export type VariantMessage =
  | { readonly bytesDone: number }
  | { readonly result: VariantResult }
  | { readonly failed: string; readonly death?: DeathReport | undefined };

/** A variant did not come to its end. */
export class VariantError extends Error {
  readonly death: DeathReport | undefined;

  constructor(message: string, death?: DeathReport) {
    super(message);
    this.name = 'VariantError';
    this.death = death;
  }
}

/**
 * Runs a variant in a process of its own, so that time and memory are its alone.
 *
 * @throws (rejects) VariantError when it fails or its process ends early; `signal.reason` when aborted.
 */
export function runVariant(
  task: VariantTask,
  onProgress: (bytesDone: number) => void,
  signal: AbortSignal,
): Promise<VariantResult> {
  return new Promise((resolve, reject) => {
    const child: ChildProcess = fork(new URL('./variant.process.js', import.meta.url), {
      serialization: 'advanced',
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    const onAbort = () => child.kill('SIGKILL');
    signal.addEventListener('abort', onAbort, { once: true });
    let outcome: () => void = () =>
      reject(new VariantError(`The process of variant "${task.variant}" ended without a result`));
    child.on('message', (message: VariantMessage) => {
      if ('bytesDone' in message) onProgress(message.bytesDone);
      else if ('result' in message) outcome = () => resolve(message.result);
      else outcome = () => reject(new VariantError(message.failed, message.death));
    });
    child.on('error', (error) => {
      outcome = () => reject(error);
    });
    child.on('close', () => {
      signal.removeEventListener('abort', onAbort);
      if (signal.aborted) reject(signal.reason);
      else outcome();
    });
    child.send(task);
  });
}
