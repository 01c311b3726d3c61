import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { expect, test, vi } from 'vitest';
import { Segment } from './segment.js';
import { STRESS_SIZES, type StressJob, type StressResult } from './segment-stress.test-worker.js';

const long = process.env['HEDDLE_STRESS'] === 'long';
if (long) vi.setConfig({ testTimeout: 600_000 });

/** More threads than cores make a segment in one piece of raw memory, create the same names, and share its space. */
test('many threads make one segment, one structure of each name, and never share a range (LC-06)', async () => {
  const threads = 6;
  const names = 20;
  for (let repeat = 0; repeat < (long ? 50 : 3); repeat++) {
    const byteLength = Segment.byteLengthFor({ ...STRESS_SIZES, spaceBytes: 24 * 1024 });
    const job: StressJob = {
      buffer: new SharedArrayBuffer(byteLength),
      gate: new Int32Array(new SharedArrayBuffer(4)),
      threads,
      names,
      rounds: long ? 20_000 : 2000,
    };
    const workers = Array.from(
      { length: threads },
      () => new Worker(new URL('./segment-stress.test-worker.js', import.meta.url), { workerData: job }),
    );
    const ended = workers.map((worker) => once(worker, 'exit'));
    const results: StressResult[] = (
      await Promise.all(workers.map((worker) => once(worker, 'message')))
    ).flat();
    await Promise.all(ended);

    expect(results.flatMap(({ faults }) => faults)).toEqual([]);
    expect(new Set(results.map(({ id }) => id)).size).toBe(1);
    expect(new Set(results.map(({ token }) => token)).size).toBe(threads);
    expect(results.flatMap(({ created }) => created).toSorted()).toEqual(
      Array.from({ length: names }, (_, i) => `name ${i}`).toSorted(),
    );
    for (const { offsets } of results) expect(offsets).toEqual(results[0]!.offsets);

    const segment = Segment.create({ buffer: job.buffer });
    expect(segment.directory.list()).toHaveLength(names);
    const structures = segment.directory.list().reduce((sum, { range }) => sum + range.byteLength, 0);
    expect(segment.space.usage().used).toBe(structures);
    segment.detach();
  }
});
