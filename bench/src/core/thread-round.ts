import { Bench } from 'tinybench';
import type { BatchSize } from './batch-size.js';
import { nowNs } from './clock.js';
import type { StartLine } from './start-line.js';
import { median } from './statistics.js';
import type { AsyncDrivingWorkload, DrivingWorkload, ServingWorkload, StopSignal } from './workload.js';

/** The times of a thread's part of a round. */
export interface Times {
  readonly operations: number;
  readonly elapsedNs: number;
  readonly meanNs: number;
  readonly medianNs: number;
  readonly slowestNs: number;
  readonly batchNs: number;
  readonly timerSaturated: boolean;
  readonly sink: number;
}

type Driver = DrivingWorkload | AsyncDrivingWorkload;

/** Attempts at finding the batch size ahead of a round; each doubles or halves it. */
const SIZING_ATTEMPTS = 32;

/** The last so many batches of a round give its median. */
const LOGGED_BATCHES = 2 ** 15;

/**
 * A round of a variant that has one thread: tinybench times batch after batch.
 *
 * The figure is the median batch, so a time slice that went to somebody else does not move it.
 */
export async function roundAlone(workload: Driver, size: BatchSize, timeMs: number): Promise<Times> {
  const synchronous = 'batch' in workload;
  const startNs = nowNs();
  let sink = 0;
  let sizingOperations = 0;
  let fitting = 0;
  // Twice in a row, since a first call that is still cold lasts long enough at any size.
  for (let attempt = 0; attempt < SIZING_ATTEMPTS && fitting < 2; attempt++) {
    const before = nowNs();
    sizingOperations += size.operations;
    sink ^= synchronous ? workload.batch(size.operations) : await workload.batchAsync(size.operations);
    fitting = size.adjust(nowNs() - before) ? fitting + 1 : 0;
  }
  const operations = size.operations;
  const bench = new Bench({
    time: timeMs,
    iterations: 4,
    warmup: false,
    throws: true,
    timestampProvider: 'hrtimeNow',
  });
  // A batch returns nothing to tinybench, which would look into the result for durations.
  if (synchronous) {
    const runBatch = () => {
      sink ^= workload.batch(operations);
    };
    bench.add('batch', runBatch, { async: false });
  } else {
    const runBatch = async () => {
      sink ^= await workload.batchAsync(operations);
    };
    bench.add('batch', runBatch, { async: true });
  }
  let timerSaturated = false;
  bench.addEventListener('warning', () => {
    timerSaturated = true;
  });
  if (synchronous) bench.runSync();
  else await bench.run();
  const result = bench.tasks[0]!.result;
  if (!('latency' in result)) throw new Error(`tinybench gave no figures: ${result.state}`);
  const { latency } = result;
  return {
    operations: sizingOperations + operations * latency.samplesCount,
    elapsedNs: nowNs() - startNs,
    meanNs: (latency.mean * 1e6) / operations,
    medianNs: (latency.p50 * 1e6) / operations,
    slowestNs: (latency.max * 1e6) / operations,
    batchNs: latency.p50 * 1e6,
    timerSaturated,
    sink,
  };
}

/** A driver's part of a round with partners: from the common start until the time is over. */
export async function roundDriving(
  workload: Driver,
  size: BatchSize,
  timeMs: number,
  line: StartLine,
  threads: number,
): Promise<Times> {
  let sink = 0;
  let operations = 0;
  let batches = 0;
  let slowestNs = 0;
  const batchLog = new Float64Array(LOGGED_BATCHES);
  const startNs = line.arrive(threads);
  const deadlineNs = startNs + timeMs * 1e6;
  let beforeNs = startNs;
  // Two loops, so that synchronous batches meet no `await` between them.
  if ('batch' in workload) {
    do {
      const batch = size.operations;
      sink ^= workload.batch(batch);
      beforeNs = account(batch);
    } while (beforeNs < deadlineNs);
  } else {
    do {
      const batch = size.operations;
      sink ^= await workload.batchAsync(batch);
      beforeNs = account(batch);
    } while (beforeNs < deadlineNs);
  }
  line.finish();
  workload.end?.();
  const elapsedNs = beforeNs - startNs;
  return {
    operations,
    elapsedNs,
    meanNs: elapsedNs / operations,
    medianNs: median(batchLog.subarray(0, batches)),
    slowestNs,
    batchNs: elapsedNs / batches,
    timerSaturated: false,
    sink,
  };

  function account(batch: number): number {
    const afterNs = nowNs();
    const tookNs = afterNs - beforeNs;
    const tookNsEach = tookNs / batch;
    operations += batch;
    batchLog[batches++ % LOGGED_BATCHES] = tookNsEach;
    if (tookNsEach > slowestNs) slowestNs = tookNsEach;
    size.adjust(tookNs);
    return afterNs;
  }
}

/** The part of a thread that answers to drivers. */
export async function roundServing(
  workload: ServingWorkload,
  stop: StopSignal,
  line: StartLine,
  threads: number,
): Promise<Times> {
  const startNs = line.arrive(threads);
  const served = workload.serve(stop);
  const operations = typeof served === 'number' ? served : await served;
  workload.end?.();
  const elapsedNs = nowNs() - startNs;
  return {
    operations,
    elapsedNs,
    meanNs: operations > 0 ? elapsedNs / operations : 0,
    medianNs: 0,
    slowestNs: 0,
    batchNs: 0,
    timerSaturated: false,
    sink: operations,
  };
}
