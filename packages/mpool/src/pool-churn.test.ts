import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { type HeddleError, Segment } from '@heddle/memory';
import { expect, it } from 'vitest';
import { Mpool } from './mpool.js';
import type { Churn } from './pool-churn.test-worker.js';

const long = process.env['HEDDLE_STRESS'] === 'long';
const names = ['a', 'b', 'c'];
const rounds = long ? 5000 : 1000;

/** Ends what is left of a pool. */
function end(segment: Segment, name: string): void {
  try {
    Mpool.open(segment, name, { init() {} }).close();
  } catch (error) {
    const { code } = error as HeddleError;
    if (code !== 'ERR_HEDDLE_NAME_UNKNOWN' && code !== 'ERR_HEDDLE_CLOSED') throw error;
  }
}

it('pools are made, opened, used and closed by all threads at once, some of which die, and nothing is left', async () => {
  const segment = Segment.create({ byteLength: 2 ** 22, maxStructures: 8, maxRanges: 64 });
  for (const name of names) Mpool.create(segment, { name, elemSize: 64 }).close();
  const { used } = segment.space.usage();
  for (let turn = 0; turn < (long ? 4 : 2); turn++) {
    const workers = Array.from({ length: 5 }, (_, i) => {
      const victim = i < 2;
      const workerData: Churn = {
        segment: segment.handle,
        names,
        rounds: victim ? 1e9 : rounds,
        seed: 97 * turn + 13 * i,
      };
      const worker = new Worker(new URL('./pool-churn.test-worker.js', import.meta.url), { workerData });
      segment.watch(worker);
      return worker;
    });
    const exits = workers.map((worker) => once(worker, 'exit'));
    await Promise.all(workers.map((worker) => once(worker, 'online')));
    const [first, second, ...others] = workers;
    const done = others.map((worker) => once(worker, 'message'));
    for (const worker of workers) worker.postMessage('go');
    await done[0];
    await first!.terminate();
    for (const [met] of await Promise.all(done)) expect(met).toBeLessThan(rounds);
    await second!.terminate();
    await Promise.all(exits);
    expect(segment.threads().filter(({ phase }) => phase === 'dead')).toEqual([]);
    for (const name of names) end(segment, name);
    expect(segment.directory.list().map(({ name }) => name)).toEqual(['mpool gate']);
    expect(segment.space.usage().used).toBe(used);
  }
  segment.detach();
});
