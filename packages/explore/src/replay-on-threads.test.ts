import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { explore } from './explore.js';
import { loadModels } from './load-models.js';
import type { Model } from './model.js';
import { replayOnThreads } from './replay-on-threads.js';

const fileOf = (name: string): string =>
  fileURLToPath(new URL(`./models/${name}.explore.js`, import.meta.url));

async function modelOf(file: string, name: string): Promise<Model> {
  return (await loadModels(file)).find(({ model }) => model.name === name)!.model;
}

describe('a schedule replayed by real workers in lock step', () => {
  it.each([
    ['free-lists', 'shared pop without a tag (ABA)', 0],
    ['mutexes', '2-state mutex, 3 threads', 0],
    ['mutexes', 'mutex whose woken waiter forgets the others, 3 threads', 0],
    ['barriers', 'barrier with one wait and no loop, stray wakes', 0],
    ['rings', 'SPSC ring whose plain tail is declared a hint: its payload races', 0],
    ['semaphores', 'semaphore that counts a timed-out waiter', 0],
    ['caches', 'cache hit that checks and then uses', 0],
    ['free-lists', 'owner written after the pop: leak on a kill', 1],
    ['robust-lock', 'robust lock that wakes only if the owner died', 1],
    ['remote-free', 'list taken whole, taker dies before relabelling it', 1],
    ['unmodified', '@thi.ng/malloc, two threads on one pool get the same block', 0],
  ])('%s: %s', async (name, modelName, kills) => {
    const file = fileOf(name);
    const { failure } = explore(await modelOf(file, modelName));
    const replay = await replayOnThreads({ file, model: modelName, replay: failure!.replay });
    expect(replay.differences).toEqual([]);
    expect(replay).toMatchObject({ agrees: true, steps: failure!.length, kills });
  });

  it('says which model it does not find', async () => {
    await expect(replayOnThreads({ file: fileOf('rings'), model: 'none', replay: '0' })).rejects.toThrow(
      '"none"',
    );
  });
});
