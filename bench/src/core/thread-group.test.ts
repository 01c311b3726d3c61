import { describe, expect, it, onTestFinished } from 'vitest';
import { detectPinning, type Pinning } from './pinning.js';
import type { Comparison, Prepared, ThreadSpec } from './suite.js';
import { ThreadGroup } from './thread-group.js';

const module = new URL('./thread-group.test-worker.js', import.meta.url);
const unpinned: Pinning = { available: false, detail: 'a test', cores: [] };

async function open(threads: readonly ThreadSpec[], prepare?: () => Prepared, pinning = unpinned) {
  const comparison: Comparison = {
    name: 'test',
    title: '',
    metric: 'time',
    operation: 'call',
    baseline: 'v',
    module,
    variants: [],
  };
  const variant = { name: 'v', threads, prepare: prepare ?? (() => ({ shared: new SharedArrayBuffer(64) })) };
  const group = await ThreadGroup.open(comparison, variant, pinning);
  onTestFinished(() => group.close());
  return group;
}

describe('ThreadGroup', () => {
  it('measures a single thread', async () => {
    const group = await open([{ workload: 'counting' }]);
    const result = await group.round(5);
    expect(result).toMatchObject({ driving: [true], timerSaturated: expect.any(Boolean) });
    expect(result.nsPerOperation).toBeGreaterThan(0);
    expect(result.slowestNs).toBeGreaterThanOrEqual(result.nsPerOperation);
    expect(result.figures['longest']).toBeGreaterThan(1);
    expect(result.figures['longest']).toBeLessThanOrEqual(1000);
  });

  it('counts exactly what each of several threads did, over several rounds', async () => {
    const shared = new SharedArrayBuffer(64);
    const group = await open([{ workload: 'counting', count: 3 }], () => ({ shared }));
    const first = await group.round(5);
    const second = await group.round(5);
    const words = new Int32Array(shared);
    for (const index of [0, 1, 2]) expect(first.work[index]! + second.work[index]!).toBe(words[index]);
    expect(second.figures['index']).toBe(2);
  });

  it.each([1, 2])('measures %i threads whose operations are awaited', async (count) => {
    const shared = new SharedArrayBuffer(64);
    const group = await open([{ workload: 'awaiting', count }], () => ({ shared }));
    const { work } = await group.round(5);
    expect(work).toEqual([...new Int32Array(shared).subarray(0, count)]);
    expect(work.every((operations) => operations > 0)).toBe(true);
  });

  it('tells serving threads to stop, those that poll and those that live in their event loop', async () => {
    const group = await open([
      { workload: 'counting', count: 2 },
      { workload: 'polling' },
      { workload: 'listening' },
    ]);
    for (let round = 0; round < 3; round++) {
      const { driving, work } = await group.round(2);
      expect(driving).toEqual([true, true, false, false]);
      expect(work[2]).toBeGreaterThan(0);
      expect(work[3]).toBe(1);
    }
  });

  it('gives each thread what was prepared for it, and its parameters', async () => {
    const prepare = () => ({ own: [{ value: 'mine' }] });
    await expect(open([{ workload: 'echoing', parameters: { size: 3 } }], prepare)).rejects.toThrow(
      /thread 0 \(echoing\) of test\/v failed: .*own mine, parameters \{"size":3\}/,
    );
  });

  it('measures pinned threads as well, where threads can be pinned', async () => {
    const group = await open([{ workload: 'counting' }], undefined, await detectPinning(true));
    expect((await group.round(2)).work[0]).toBeGreaterThan(0);
  });

  it('has threads in the background serve beside those that work, pinned or not', async () => {
    const threads = [{ workload: 'counting' }, { workload: 'polling', count: 2, background: true as const }];
    for (const pinning of [unpinned, await detectPinning(true)]) {
      const group = await open(threads, undefined, pinning);
      const { driving, work } = await group.round(2);
      expect(driving).toEqual([true, false, false]);
      expect(Math.min(...work)).toBeGreaterThan(0);
    }
  });

  it('releases once what was prepared, when its threads have ended', async () => {
    let released = 0;
    const prepare = () => ({ shared: new SharedArrayBuffer(64), release: () => void released++ });
    const group = await open([{ workload: 'counting' }], prepare);
    await group.round(1);
    expect(released).toBe(0);
    await group.close();
    await group.close();
    expect(released).toBe(1);
  });

  it('gives no batch fewer operations than a workload can do', async () => {
    const group = await open([{ workload: 'paired' }]);
    const { work } = await group.round(2);
    expect(work[0]! % 2).toBe(0);
  });

  it('names the workloads that there are when one is not', async () => {
    await expect(open([{ workload: 'absent' }])).rejects.toThrow(/exports no workload "absent".*counting/);
  });

  it('refuses a variant in which nobody drives', async () => {
    await expect(open([{ workload: 'polling' }])).rejects.toThrow(/No workload of test\/v drives/);
  });

  it('says which thread ended when one exits in the middle of a round', async () => {
    const group = await open([{ workload: 'counting' }, { workload: 'exiting' }]);
    await expect(group.round(5)).rejects.toThrow('thread 1 (exiting) of test/v ended with exit code 7');
  });

  it('says which thread threw, and fails every later round', async () => {
    const group = await open([{ workload: 'throwing' }]);
    await group.round(2);
    await expect(group.round(2)).rejects.toThrow(/thread 0 \(throwing\) of test\/v failed: .*round 2 broke/);
    await expect(group.round(2)).rejects.toThrow(/round 2 broke/);
  });
});
