import { parentPort, workerData } from 'node:worker_threads';
import { BatchSize } from './batch-size.js';
import { kernelThreadId } from './pinning.js';
import { StartLine } from './start-line.js';
import { threadCpuMs } from './thread-cpu.js';
import type { ThreadAnswer, ThreadCommand, ThreadData, ThreadRound } from './thread-protocol.js';
import { roundAlone, roundDriving, roundServing } from './thread-round.js';
import type { Workload, WorkloadFactory } from './workload.js';

/** The thread of one workload. Between rounds it sleeps in its event loop and costs nothing. */

const port = parentPort!;
const { moduleUrl, workload: name, startLine, ...context } = workerData as ThreadData;
const line = new StartLine(startLine);
let resolveStop = () => {};

try {
  const workload = await loadWorkload();
  // Read inside: a worker file that sets no limit leaves the default.
  const size = 'serve' in workload ? new BatchSize() : new BatchSize(workload.maxBatch, workload.minBatch);
  port.on('message', (command: ThreadCommand) => {
    if (command.type === 'stop') resolveStop();
    else playRound(workload, size, command.timeMs).then((result) => answer({ type: 'round', result }), fail);
  });
  answer({ type: 'ready', driving: !('serve' in workload), kernelId: kernelThreadId() });
} catch (error) {
  fail(error);
}

async function loadWorkload(): Promise<Workload> {
  const exports = (await import(moduleUrl)) as Record<string, unknown>;
  const factory = exports[name];
  if (typeof factory !== 'function') {
    const names = Object.keys(exports).join(', ');
    throw new TypeError(`${moduleUrl} exports no workload "${name}". It exports: ${names}`);
  }
  return (factory as WorkloadFactory)(context as never);
}

async function playRound(workload: Workload, size: BatchSize, timeMs: number): Promise<ThreadRound> {
  workload.begin?.();
  const cpuBeforeMs = threadCpuMs();
  const times = await playPart(workload, size, timeMs);
  const cpuAfterMs = threadCpuMs();
  const cpuMs = cpuBeforeMs === null || cpuAfterMs === null ? null : cpuAfterMs - cpuBeforeMs;
  return { ...times, cpuMs, figures: workload.figures?.() ?? {} };
}

async function playPart(workload: Workload, size: BatchSize, timeMs: number) {
  if ('serve' in workload) {
    const stopped = new Promise<void>((resolve) => {
      resolveStop = resolve;
    });
    return roundServing(workload, line.signal(stopped), line, context.threads);
  }
  if (context.threads > 1) return roundDriving(workload, size, timeMs, line, context.threads);
  const times = await roundAlone(workload, size, timeMs);
  workload.end?.();
  return times;
}

function answer(message: ThreadAnswer): void {
  port.postMessage(message);
}

function fail(error: unknown): void {
  answer({ type: 'failed', reason: error instanceof Error ? (error.stack ?? error.message) : String(error) });
}
