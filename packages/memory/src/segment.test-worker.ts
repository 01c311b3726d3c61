import { once } from 'node:events';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { Holder, registerHolder } from './holder.test-worker.js';
import { Segment, type SegmentHandle } from './segment.js';

/** The ways in which a thread ends. */
export const ENDINGS = ['return', 'process.exit', 'throw', 'reject', 'terminate', 'heap limit'] as const;
export type Ending = (typeof ENDINGS)[number];

export interface SegmentJob {
  readonly handle: SegmentHandle;
  readonly ending: Ending;
  /** Whether to have a thread below this one do it, with a handle of this thread. */
  readonly nested?: 'plain' | 'lifeline';
  /** Starts a janitor first. */
  readonly janitor?: boolean;
  /** Attaches when it is told to. */
  readonly late?: boolean;
  /** Stays until it is told to end. */
  readonly stay?: boolean;
  /** Holds with a kind that the janitor cannot load. */
  readonly withoutModule?: boolean;
  /** Attaches and detaches so often first. */
  readonly rounds?: number;
}

export function startJob(job: SegmentJob, transfer: readonly unknown[] = []): Worker {
  return new Worker(new URL('./segment.test-worker.js', import.meta.url), {
    workerData: job,
    transferList: transfer as never,
    // What a thread prints when it dies of purpose is of no use.
    stderr: true,
    ...(job.ending === 'heap limit' ? { resourceLimits: { maxOldGenerationSizeMb: 10 } } : {}),
  });
}

function end(ending: Ending): void {
  if (ending === 'process.exit') process.exit(3);
  if (ending === 'throw') throw new Error('on purpose');
  if (ending === 'reject') void Promise.reject(new Error('on purpose'));
  if (ending === 'terminate') Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  if (ending === 'heap limit') for (const hoard: unknown[] = []; ; ) hoard.push(new Array(1000).fill({}));
}

async function run(job: SegmentJob): Promise<void> {
  if (job.late) await once(parentPort!, 'message');
  if (job.withoutModule) registerHolder({ forJanitor: false });
  for (let round = 0; round < (job.rounds ?? 0); round++) {
    const segment = Segment.attach(job.handle);
    new Holder(segment);
    segment.detach();
  }
  const segment = Segment.attach(job.handle);
  if (job.janitor) segment.startJanitor();
  const holder = new Holder(segment);
  if (job.nested) {
    const { nested, ...below } = job;
    const { handle, transferList } =
      nested === 'lifeline' ? segment.lifeline() : { handle: segment.handle, transferList: [] };
    const child = startJob({ ...below, handle }, transferList);
    child.on('error', () => {});
    holder.waitUntil('held', 1);
    if (job.ending === 'terminate') void child.terminate();
    // This thread goes on to be busy: its event loop does not turn.
    holder.waitUntil('recovered', 1);
    return;
  }
  holder.hold();
  if (job.stay) {
    await once(parentPort!, 'message');
    parentPort!.unref();
  }
  end(job.ending);
}

if (!isMainThread) await run(workerData as SegmentJob);
