import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { Completion } from './completion.js';
import { Context } from './context.js';
import { Crew } from './crew.test-worker.js';
import { LET_GO, REFUSED } from './holding.test-worker.js';
import { DATA, PHASES, TELL } from './mate.test-worker.js';

const LONG = process.env['HEDDLE_STRESS'] === 'long';
if (LONG) vi.setConfig({ testTimeout: 3_600_000 });

const SLOTS = 32;
const KEPT = 4;

describe('a receiver that never lets go (TR-13)', () => {
  /** A hoarder in row 1 with every slot, and two senders in rows 2 and 3 that find no room. */
  async function stuck(receiving: 'waiting' | 'event-loop', count: number) {
    const context = Context.create({ laneBytes: 1024, inlineBytes: 64, slotBytes: 4096, slots: SLOTS });
    onTestFinished(() => context[Symbol.dispose]());
    const crew = new Crew(context, new URL('./holding.test-worker.js', import.meta.url), 5);
    crew.start('hoard', { receiving, count: 2 * count });
    for (let i = 0; i < 2; i++) crew.start('feed', { to: 1, count, bytes: 3000 });
    const held = () => crew.get(TELL.received, 1);
    const sent = () => crew.get(TELL.sent, 2) + crew.get(TELL.sent, 3);
    await crew.until(
      'all slots are kept and both senders are refused again',
      () => held() >= SLOTS && held() === sent() && crew.get(REFUSED, 2) > 1 && crew.get(REFUSED, 3) > 1,
    );
    const refused = crew.get(REFUSED, 2) + crew.get(REFUSED, 3);
    await crew.until('they try on', () => crew.get(REFUSED, 2) + crew.get(REFUSED, 3) > refused + 4);
    return { context, crew, held, sent };
  }

  it.each(['waiting', 'event-loop'] as const)(
    '%s: senders are refused, others go on, the report names it, and afterwards everything arrives',
    async (receiving) => {
      const count = LONG ? 20_000 : 300;
      const { context, crew, held, sent } = await stuck(receiving, count);
      // What it has is all that it can get: memory is bounded.
      const { slots } = context.usage();
      expect(held()).toBe(slots);
      expect(sent()).toBe(slots);
      const holder = `held by thread ${crew.get(TELL.threadId, 1)}`;
      const lines = context.report().split('\n');
      const listed = lines.filter((line) => line.includes('outstanding: descriptor'));
      expect(listed.length).toBeGreaterThan(0);
      for (const line of listed) expect(line).toContain(holder);
      // Two others, whose messages need no slot.
      crew.start('drain', { receiving: 'waiting', count }, 4);
      const other = crew.start('feed', { to: 4, count, bytes: 40 }, 5);
      await crew.until('the others are done', () => other.ended === 0);
      expect(crew.get(TELL.received, 4)).toBe(count);
      expect(context.usage().slots).toBe(slots);
      crew.set(LET_GO, 1, 1);
      await crew.untilAllEnded();
      expect(crew.get(TELL.received, 1)).toBe(2 * count);
      crew.assertConserved();
    },
  );

  it('dies: its senders are told, and every slot is back', async () => {
    const { context, crew } = await stuck('waiting', 1_000_000);
    await crew.members[0]!.worker.terminate();
    await crew.untilAllEnded();
    await crew.until('it is dealt with', () => context.usage().lanes === 0);
    crew.assertConserved();
  });
});

describe('a forced close while another thread keeps data', () => {
  it.each(['released', 'dead'] as const)(
    'returns at once; what is kept is out of everybody’s reach until it is %s',
    async (until) => {
      const context = Context.create({ laneBytes: 1024, inlineBytes: 64, slotBytes: 4096, slots: SLOTS });
      onTestFinished(() => context[Symbol.dispose]());
      const crew = new Crew(context, new URL('./holding.test-worker.js', import.meta.url), 1);
      const keeper = crew.start('hoard', { receiving: 'waiting', count: KEPT + 1 });
      await crew.until('it receives', () => crew.get(TELL.phase, 1) === PHASES.indexOf('receiving'));
      const address = crew.addressOf(1);
      const worker = context.createWorker();
      const ends: (string | undefined)[] = [];
      const completion = new Completion((error) => ends.push(error?.code));
      const endpoint = worker.connect(address);
      for (let i = 0; i < KEPT; i++)
        endpoint.send(DATA, new Uint8Array(3000).fill(7), undefined, { completion });
      await crew.until('everything is kept', () => crew.get(TELL.received, 1) === KEPT);

      worker[Symbol.dispose]();
      expect(ends).toEqual(Array.from({ length: KEPT }, () => 'ERR_HEDDLE_CLOSED'));
      const kept = context.kept();
      expect(kept).toHaveLength(KEPT);
      expect(kept.every(({ threadId }) => threadId === crew.get(TELL.threadId, 1))).toBe(true);
      const other = context.createWorker();
      const way = other.connect(address);
      // Everything that there is besides is written over: what is kept stays as it is, and the keeper checks that.
      const loans = Array.from({ length: 2 * SLOTS }, () => way.loan(3000)).filter(
        (loan) => loan !== undefined,
      );
      for (const loan of loans) loan.data.fill(9);
      expect(context.usage().slots).toBe(KEPT + loans.length);
      for (const loan of loans) loan.cancel();

      if (until === 'dead') {
        await keeper.worker.terminate();
        await crew.until('its end was seen', () => way.closed);
      } else {
        crew.set(LET_GO, 1, 1);
        way.send(DATA, new Uint8Array(1));
      }
      await crew.untilAllEnded();
      other.close();
      await crew.until('all is back', () => context.usage().slots === 0);
      expect(context.kept()).toEqual([]);
      expect(ends).toHaveLength(KEPT);
    },
  );
});
