import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { Context } from './context.js';
import type { ContextOptions } from './context-options.js';
import { Crew } from './crew.test-worker.js';
import { ALL, RECEIVING, TELL } from './mate.test-worker.js';
import { SENDING } from './stress.test-worker.js';

const LONG = process.env['HEDDLE_STRESS'] === 'long';
// The long setting takes minutes.
if (LONG) vi.setConfig({ testTimeout: 3_600_000 });

function gather(threads: number, options: ContextOptions = {}) {
  const context = Context.create({ laneBytes: 512, inlineBytes: 64, slotBytes: 8192, slots: 64, ...options });
  onTestFinished(() => context[Symbol.dispose]());
  return { context, crew: new Crew(context, new URL('./stress.test-worker.js', import.meta.url), threads) };
}

describe('all to all', () => {
  it('8 threads that receive in every way: each message once, whole, in order; memory conserved', async () => {
    const peers = 8;
    // The long setting makes it a million.
    const count = LONG ? 1_000_000 / peers ** 2 : 100;
    const { crew } = gather(peers);
    for (let i = 0; i < peers; i++) {
      const receiving = RECEIVING[i % RECEIVING.length]!;
      crew.start('peer', { peers, degree: peers, count, maxBytes: 8192, keeps: 4, receiving });
    }
    await crew.untilAllEnded();
    expect(crew.sum(TELL.sent)).toBe(peers ** 2 * count);
    expect(crew.sum(TELL.received)).toBe(peers ** 2 * count);
    crew.assertConserved();
  });

  it('64 threads, far more than cores, none of which is left behind', async () => {
    const peers = 64;
    const degree = LONG ? peers : 4;
    const count = LONG ? 200 : 10;
    // With this thread and the janitor there are 66: in the context's own segment there is room for them.
    const { crew } = gather(peers, { largeSlots: [], laneBytes: 256, maxLanes: peers * degree, slots: 256 });
    for (let i = 0; i < peers; i++) {
      // Sixty-four that poll on two cores would say more of the operating system than of us.
      const receiving = RECEIVING[i % 16 === 0 ? 0 : 1 + (i % 3)]!;
      crew.start('peer', { peers, degree, count, maxBytes: 2048, keeps: 2, receiving });
    }
    await crew.untilAllEnded();
    expect(crew.sum(TELL.received)).toBe(peers * degree * count);
    crew.assertConserved();
  });
});

describe('threads that come and go', () => {
  it.each(RECEIVING)(
    'use the lanes of others that leave at the same time; receiver %s',
    async (receiving) => {
      const threads = 8;
      const { crew } = gather(threads + 1, { laneBytes: 256, slots: 16, maxLanes: threads / 2 });
      const count = LONG ? 20_000 : 100;
      crew.start('take', { receiving, count: threads * count, maxBytes: 2048, keeps: 1 });
      for (let i = 0; i < threads; i++) crew.start('comeAndGo', { to: 1, count, each: 2, maxBytes: 2048 });
      await crew.untilAllEnded();
      expect(crew.get(TELL.received, 1)).toBe(threads * count);
      crew.assertConserved();
    },
  );
});

describe('a lane of 2 records', () => {
  it.each(RECEIVING)(
    'for each of 4 senders, and stray wakes, receiver %s (LK-03, TR-12)',
    async (receiving) => {
      // A header of 8 bytes fits, and data in a slot.
      const { crew } = gather(6, { laneBytes: 64, inlineBytes: 8, slots: 8, maxLanes: 16 });
      const count = LONG ? 50_000 : 150;
      const task = { count, maxBytes: 3000, keeps: 2 };
      crew.start('take', { ...task, receiving, count: 4 * count });
      const senders = SENDING.map((sending) => crew.start('push', { ...task, sending, to: 1 }));
      const storm = crew.start('strayWakes');
      await crew.until('every sender has ended', () => senders.every(({ ended }) => ended !== undefined));
      crew.set(ALL.stop, 1);
      await crew.untilAllEnded();
      expect(crew.get(TELL.received, 1)).toBe(4 * count);
      expect(crew.get(TELL.first, storm.row)).toBeGreaterThan(0);
      crew.assertConserved();
    },
  );
});

describe('order', () => {
  it.each(RECEIVING)(
    'holds between forms, between ways to send, and after waiting for room; receiver %s (TR-14)',
    async (receiving) => {
      // Lanes and slots so few that most messages have to wait for one or the other.
      const { crew } = gather(3, { laneBytes: 256, inlineBytes: 64, slots: 4 });
      const count = LONG ? 100_000 : 500;
      const seed = LONG ? Math.floor(Math.random() * 2 ** 31) : 20_260_101;
      crew.notes.push(`seed ${seed}`);
      crew.start('take', { receiving, count: 2 * count, maxBytes: 8192, keeps: 1 });
      for (const each of [0, 1]) crew.start('mixForms', { to: 1, count, maxBytes: 8192, seed: seed + each });
      await crew.untilAllEnded();
      expect(crew.get(TELL.received, 1)).toBe(2 * count);
      crew.assertConserved();
    },
  );
});
