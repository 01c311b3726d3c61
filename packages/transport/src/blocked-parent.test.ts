import { expect, it, onTestFinished } from 'vitest';
import { DIE, KNOWS, SURVIVORS, UNREAD } from './blocked-parent.test-worker.js';
import { Context } from './context.js';
import { Crew } from './crew.test-worker.js';
import { ENDINGS, PHASES, TELL } from './mate.test-worker.js';

function gather(threads: number) {
  const context = Context.create({ laneBytes: 256, slots: 8, slotBytes: 1024, maxLanes: 16 });
  onTestFinished(() => context[Symbol.dispose]());
  const crew = new Crew(context, new URL('./blocked-parent.test-worker.js', import.meta.url), threads);
  const inPhase = (phase: (typeof PHASES)[number], row: number) =>
    crew.get(TELL.phase, row) === PHASES.indexOf(phase);
  /** Starts those who send to the child until there is no more room, and waits until they are there. */
  const survivors = async (child: number, from: number) => {
    const rows = SURVIVORS.map((role, i) => crew.start(role, { child }, from + i).row);
    await crew.until('the survivors have filled their lanes', () =>
      rows.every((row) => inPhase('sending', row)),
    );
    return rows;
  };
  const assertTold = (rows: readonly number[]) => {
    for (const row of rows) {
      expect(crew.get(TELL.sent, row), crew.picture()).toBeGreaterThan(0);
      expect(crew.get(UNREAD, row), crew.picture()).toBe(crew.get(TELL.sent, row));
    }
  };
  return { context, crew, inPhase, survivors, assertTold };
}

const allKnow = (crew: Crew, rows: readonly number[]) => () =>
  rows.every((row) => crew.get(KNOWS, row) === 1);

it.each([
  ...ENDINGS.map((ending) => [ending, 'asleep'] as const),
  ['terminate', 'busy'],
  ['throw', 'busy'],
] as const)(
  'a child dies by %s while its parent is %s: whoever sends to it is told by the janitor',
  async (ending, how) => {
    const { context, crew, survivors, assertTold, inPhase } = gather(5);
    const child = crew.start('child', { ending });
    await crew.until('the child is there', () => inPhase('receiving', 1));
    const rows = await survivors(child.row, 2);
    if (ending === 'terminate') void child.worker.terminate();
    else crew.set(DIE, 1, child.row);
    // No turn of the event loop of this thread, which is the parent of all, until they know.
    crew.blockUntil('every survivor knows', allKnow(crew, rows), how);
    await crew.untilAllEnded();
    assertTold(rows);
    await crew.until('everything is back', () => context.usage().lanes === 0);
    crew.assertConserved();
  },
);

it('a thread below one that blocks dies, then that one with another one below it (LC-01)', async () => {
  const { context, crew, survivors, assertTold, inPhase } = gather(7);
  const parent = crew.start('parent', { child: 2, below: [2, 3], ending: 'process.exit' });
  await crew.until('the family is there', () => [1, 2, 3].every((row) => inPhase('receiving', row)));
  const rows = await survivors(2, 4);
  crew.set(DIE, 1, 2);
  await crew.until('every survivor knows', allKnow(crew, rows));
  assertTold(rows);
  await crew.until('the survivors have ended', () =>
    crew.members.every((m) => m === parent || m.ended === 0),
  );
  expect(context.usage()).toEqual({ workers: 1, lanes: 0, slots: 0 });
  await parent.worker.terminate();
  await crew.until('everything is back', () => context.usage().workers === 0);
  crew.assertConserved();
});
