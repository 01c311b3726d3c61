import { expect, it, onTestFinished, vi } from 'vitest';
import { Context } from './context.js';
import { Crew } from './crew.test-worker.js';
import type { EndpointReport } from './endpoint.js';
import type { Loan } from './loan.js';
import { ALL, DATA, ENDINGS, PHASES, RECEIVING, TELL } from './mate.test-worker.js';
import { headerOf, Numbered, randomFrom } from './numbered.test-worker.js';

const LONG = process.env['HEDDLE_STRESS'] === 'long';
if (LONG) vi.setConfig({ testTimeout: 3_600_000 });

const SLOTS = 16;
const MAX_BYTES = 3000;
/** Messages to one receiver at most. */
const MOST = 300;

it('threads that die at any moment and start again: at most once, in order, nothing lost that need not be, nothing leaks (PL-08, PL-10)', async () => {
  const rounds = LONG ? 200 : 15;
  const seed = LONG ? Math.floor(Math.random() * 2 ** 31) : 77;
  const random = randomFrom(seed);
  const pick = <T>(of: readonly T[]): T => of[Math.floor(random() * of.length)]!;
  const context = Context.create({
    laneBytes: 512,
    inlineBytes: 64,
    slotBytes: MAX_BYTES,
    slots: SLOTS,
    maxLanes: 8,
    maxWorkers: 8,
  });
  onTestFinished(() => context[Symbol.dispose]());
  const worker = context.createWorker({ name: 'survivor' });
  const crew = new Crew(context, new URL('./restarts.test-worker.js', import.meta.url), 4);
  crew.notes.push(`seed ${seed}`);
  const self = worker.connect(worker.address);
  /** Takes every slot there is, and puts them back. */
  const takeAll = () => {
    const loans: Loan[] = [];
    for (let loan = self.loan(1); loan; loan = self.loan(1)) loans.push(loan);
    for (const loan of loans) loan.cancel();
    return loans.length;
  };

  // Two threads that nothing of this concerns. Their messages are small, so that the slots are the others'.
  const steady = { maxBytes: 48 };
  const taker = crew.start('steadyTake', steady, 1);
  const sender = crew.start('steadySend', { ...steady, toRow: 1 }, 2);
  await crew.until('the steady ones are on their way', () => crew.get(TELL.received, 1) > 0);
  const atStart = { workers: 3, lanes: 2, slots: 0 };
  expect(takeAll()).toBeGreaterThanOrEqual(SLOTS);
  expect(context.usage()).toEqual(atStart);
  const space = context.segment.space.usage();
  const threads = context.segment.threads().length;

  const fromPumps = new Numbered(MAX_BYTES);
  let received = 0;
  worker.on(DATA, (message) => {
    fromPumps.check(message, true);
    received++;
  });
  const numbered = new Numbered(MAX_BYTES);
  const seen = new Int32Array(new SharedArrayBuffer(rounds * MOST * 4));
  let toSinks = 0;

  for (let life = 0; life < rounds; life++) {
    const ending = pick(ENDINGS);
    const after = Math.floor(random() ** 2 * 80);
    const task = { life, ending, after, maxBytes: MAX_BYTES };
    const what = `life ${life}, ${ending} after ${after}`;
    crew.notes[1] = what;
    if (random() < 0.5) {
      const before = received + worker.counts.lost;
      const lostBefore = worker.counts.lost;
      const pump = crew.start('pump', { ...task, to: worker.address }, 3);
      const step = () => void worker.progress();
      // Terminated while it starts, connects, or sends.
      if (ending === 'terminate') {
        await crew.until(
          'it sends',
          () => after === 0 || received + worker.counts.lost >= before + after,
          step,
        );
        void pump.worker.terminate();
      }
      await crew.until('its death is dealt with', () => pump.ended !== undefined && isAsAtStart(), step);
      // Of what it published, each message is here or was lost with its slot. It may have died before it counted one.
      const sent = crew.get(TELL.sent, 3);
      const came = received + worker.counts.lost - before;
      expect([sent, sent + 1], crew.picture()).toContain(came);
      expect(worker.counts.lost - lostBefore).toBeLessThanOrEqual(SLOTS);
    } else {
      const reports: EndpointReport[] = [];
      const receiving = pick(RECEIVING);
      const sink = crew.start('sink', { ...task, receiving, seen: seen.buffer }, 3);
      await crew.until('it can be sent to', () => crew.get(TELL.phase, 3) >= PHASES.indexOf('receiving'));
      const endpoint = worker.connect(crew.addressOf(3), { onClosed: (report) => reports.push(report) });
      const first = toSinks;
      const step = () => {
        const bytes = numbered.data(0, toSinks);
        const most = toSinks - first < MOST - 1;
        if (most && endpoint.trySend(DATA, bytes, headerOf(0, toSinks)) === 'sent') toSinks++;
        worker.progress();
      };
      if (ending === 'terminate') {
        await crew.until('it receives', () => crew.get(TELL.received, 3) >= after, step);
        void sink.worker.terminate();
      }
      await crew.until(
        'its death is dealt with',
        () => sink.ended !== undefined && reports.length > 0 && isAsAtStart(),
        step,
      );
      expect(reports).toHaveLength(1);
      expect(endpoint.trySend(DATA)).toBe('closed');
      // At most once each; what was not begun is reported, and what was begun may have been handled.
      const counts = seen.subarray(first, toSinks);
      expect(Math.max(0, ...counts), crew.picture()).toBeLessThanOrEqual(1);
      const handled = counts.reduce((sum, count) => sum + count, 0);
      const { begun, unread } = reports[0]!;
      const sent = toSinks - first;
      expect(handled, crew.picture()).toBeLessThanOrEqual(sent - unread);
      expect(handled, crew.picture()).toBeGreaterThanOrEqual(sent - unread - begun);
      endpoint.close();
    }
    // Every slot is there, and no memory was taken.
    expect(takeAll(), crew.picture()).toBeGreaterThanOrEqual(SLOTS);
    expect(context.usage(), crew.picture()).toEqual(atStart);
    expect(context.segment.space.usage(), what).toEqual(space);
  }

  crew.set(ALL.stop, 1);
  await crew.until('the steady ones have ended', () => taker.ended === 0 && sender.ended === 0);
  expect(crew.get(TELL.received, 1)).toBe(crew.get(TELL.sent, 2));
  self.close();
  worker.progress();
  crew.assertConserved({ workers: 1 });

  function isAsAtStart(): boolean {
    const { workers, lanes } = context.usage();
    const { length } = context.segment.threads();
    return workers === atStart.workers && lanes === atStart.lanes && length === threads;
  }
});
