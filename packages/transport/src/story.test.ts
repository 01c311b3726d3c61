// What this project was begun for: the client of a stream of record batches keeps each, and gives it to other threads,
// which release it when they are done, days and terabytes long. In the library that it came from, the release on
// another thread pushed to a free list that the client's thread was popping from, and the thread mode did not say so.

import { once } from 'node:events';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { Context } from './context.js';
import { Crew } from './crew.test-worker.js';
import type { Lease } from './lease.js';
import { ALL, DATA, PHASES, TELL } from './mate.test-worker.js';
import { OVERLAPS, STORY } from './story.test-worker.js';

const LONG = process.env['HEDDLE_STRESS'] === 'long';
if (LONG) vi.setConfig({ testTimeout: 3_600_000 });

/** Bytes that each lane has carried before: positions change their sign, or wrap, some hundred messages later. */
const CARRIED = [
  ...(LONG ? [['nothing', 0] as const] : []),
  ['4 GiB, where positions become negative', 2 ** 32 - 2000],
  ['1 TiB, where they wrap', 2 ** 40 - 2000],
] as const;

function gather() {
  const context = Context.create({ laneBytes: 2048, slotBytes: 65_536, slots: 16, maxLanes: 32 });
  onTestFinished(() => context[Symbol.dispose]());
  return { context, crew: new Crew(context, new URL('./story.test-worker.js', import.meta.url), 5) };
}

const MODES = [
  ['single', 'one thread receives', { threads: 1 }],
  ['multi', 'two threads receive', { threads: 2 }],
  ['serialized', 'two threads take turns', { threads: 2, turns: true }],
  ['serialized', 'two threads overlap, and are told', { threads: 2, turns: false }],
] as const;

describe.each(MODES)('a client in thread mode %s: %s', (threadMode, _, { threads, ...how }) => {
  it.each(CARRIED)(
    'after %s: each batch is kept, handed over, read and released once (PL-05, TR-01)',
    async (_, carried) => {
      const { context, crew } = gather();
      const count = LONG ? 40_000 : 150;
      const seen = new Int32Array(new SharedArrayBuffer(count * 4));
      const rows = { client: 1, members: threads > 1 ? [2] : [], consumers: [3, 4], readers: threads + 2 };
      const data = {
        ...rows,
        ...how,
        threadMode,
        count,
        carried,
        least: 4096,
        most: 60_000,
        seen: seen.buffer,
      };
      for (let row = 1; row <= threads; row++) crew.start('client', data, row);
      for (const row of rows.consumers) crew.start('consumer', data, row);
      crew.start('server', data, 5);
      await crew.untilAllEnded();
      expect(crew.get(STORY.handed)).toBe(count);
      expect(crew.get(STORY.consumed)).toBe(count);
      expect(
        seen.every((times) => times === 1),
        crew.picture(),
      ).toBe(true);
      const overlaps = crew.get(OVERLAPS, 1) + crew.get(OVERLAPS, 2);
      if (threadMode === 'serialized' && !('turns' in how && how.turns)) expect(overlaps).toBeGreaterThan(0);
      else expect(overlaps).toBe(0);
      // Got by the server, put by the consumers, and never twice.
      expect(context.audit()).toMatchObject({ got: count, put: count, putAcrossThreads: count, refused: 0 });
      crew.assertConserved();
    },
  );
});

it('single: another thread may neither receive nor release what was not handed over, and is told so', async () => {
  const { context, crew } = gather();
  const worker = context.createWorker({ threadMode: 'single' });
  const endpoint = worker.connect(worker.address);
  let lease: Lease | undefined;
  worker.on(DATA, (message) => {
    lease = message.keep();
  });
  endpoint.send(DATA, new Uint8Array(10_000).fill(7));
  worker.progress();
  const handle = lease!.handOver();
  // Back here: the other one has the number of what this thread holds.
  const held = context.lease(handle);
  const { worker: thread } = crew.start('trespasser', { address: worker.address, lease: handle });
  const answer = once(thread, 'message');
  await crew.until('it was refused', () => crew.get(TELL.phase, 1) >= PHASES.indexOf('receiving'));
  expect(held.data.every((byte) => byte === 7)).toBe(true);
  held.handOver();
  crew.set(ALL.stop, 1);
  expect(await answer).toEqual([
    {
      open: 'ERR_HEDDLE_WRONG_THREAD',
      takeHeld: 'ERR_HEDDLE_NOT_HOLDER',
      release: 'done',
      again: 'ERR_HEDDLE_STALE_DESCRIPTOR',
    },
  ]);
  expect(() => held.release()).toThrow(expect.objectContaining({ code: 'ERR_HEDDLE_STALE_DESCRIPTOR' }));
  await crew.untilAllEnded();
  endpoint.close();
  worker.close();
  crew.assertConserved();
});
