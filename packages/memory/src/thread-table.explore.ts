import { defineModel, type End, type SimulatedThread } from '@heddle/explore';
import type { Directory } from './directory.js';
import { Recovery, type RecoveryStep } from './recovery.js';
import { ThreadTable } from './thread-table.js';
import { threadRowLayout } from './thread-table.layout.js';

const ROW_WORDS = threadRowLayout.wordCount;

/** The number of a simulated thread. Those that recover are attached from the start. */
const numberOf = (index: number) => 100 + index;

const rows = (count: number) =>
  Array.from({ length: count }, (_, row) => ({
    layout: threadRowLayout,
    at: row * ROW_WORDS,
    label: `row${row + 1}`,
  }));

/** A directory with one structure, whose recovery is `step`. */
function recoveryOf(table: ThreadTable, step: RecoveryStep): Recovery {
  const directory = {
    capacity: 1,
    at: () => ({ kind: 'any' }),
    withdraw() {},
    settle() {},
  } as unknown as Directory;
  return new Recovery(table, directory, () => step);
}

/** Claims a row, and is alive in it until it ends. */
function attach(thread: SimulatedThread): number {
  const table = new ThreadTable(thread.words, thread.platform);
  const id = table.claim(numberOf(thread.index), 0);
  if (id === 0) return 0;
  const token = table.tokenOf(id);
  if (!table.isAlive(token)) throw new Error(`thread ${thread.index} lives, its token does not`);
  return token;
}

/** Claims a row, and gives it back. */
function attachAndLeave(thread: SimulatedThread): number {
  const table = new ThreadTable(thread.words, thread.platform);
  const id = table.claim(numberOf(thread.index), 0);
  if (id === 0) return 0;
  recoveryOf(table, () => {}).leave(table.tokenOf(id), numberOf(thread.index));
  return 0;
}

/**
 * What a detector does that hears of a death: it has a row of its own, from the start. A recovery that died is started
 * again for the same death, and hears of the death of the one before it as well.
 */
const recoverOf = (detector: number, rowCount: number) => (thread: SimulatedThread, dead: number) => {
  const table = new ThreadTable(thread.words.subarray(0, rowCount * ROW_WORDS), thread.platform);
  const number = numberOf(thread.index);
  const id = table.find(number);
  if (id === 0) throw new Error(`the row of recoverer ${thread.index} was taken from it while it lives`);
  const role = rowCount * ROW_WORDS + detector * 2 + dead;
  const before = thread.atomics.exchange(thread.words, role, number);
  table.markDead(numberOf(dead));
  if (before !== 0) table.markDead(before);
  const step: RecoveryStep = (_, { token }) => {
    if (table.isAlive(token)) throw new Error('a living thread is being recovered');
  };
  recoveryOf(table, step).run(table.tokenOf(id));
};

/** Gives those that may recover their rows, after `free` rows for the others. */
function init(threads: number, free: number, recoverers: number) {
  return (words: Int32Array<SharedArrayBuffer>) => {
    const table = new ThreadTable(words.subarray(0, (free + recoverers) * ROW_WORDS));
    for (let row = 0; row < free; row++) table.claim(1 + row, 0);
    for (let i = 0; i < recoverers; i++) table.claim(numberOf(threads + i), 0);
    for (let row = 0; row < free; row++) table.finishLeaving(row + 1, 1 + row);
  };
}

/** In the end nothing of the dead is left, and everybody else is where it was. */
const conserveRows =
  (rowCount: number) =>
  ({ words, results, dead }: End): string | undefined => {
    const table = new ThreadTable(words.subarray(0, rowCount * ROW_WORDS));
    const unrecovered = table.dead();
    if (unrecovered.length > 0) return `rows ${unrecovered} are dead and nobody recovers them`;
    for (const [index, token] of results.entries()) {
      const id = table.find(numberOf(index));
      if (dead[index] && id !== 0) return `thread ${index} is dead, and has row ${id}`;
      if (!dead[index] && token !== 0 && token !== undefined && !table.isAlive(token as number)) {
        return `thread ${index} lives, its row was freed`;
      }
    }
    return undefined;
  };

/** The words of so many rows, and who has begun which recovery. */
const place = (rowCount: number) => ({ words: rowCount * ROW_WORDS + 4, layout: rows(rowCount) });

export default [
  defineModel({
    name: 'thread table: claims by three threads, one row too few',
    words: 2 * ROW_WORDS,
    layout: rows(2),
    threads: [attach, attach, attach],
    check({ words, results }) {
      const tokens = results.filter((token) => token !== 0);
      if (new Set(tokens).size !== tokens.length) return 'two threads have one row';
      return tokens.length === 2 && new ThreadTable(words).info(2) ? undefined : 'a row was not given out';
    },
  }),
  defineModel({
    name: 'thread table: a thread dies at any step, two detectors recover it, another takes its row',
    ...place(3),
    threads: { victim: attach, next: attach },
    killable: ['victim'],
    kills: 1,
    recover: [recoverOf(0, 3), recoverOf(1, 3)],
    init: init(2, 1, 2),
    conserve: conserveRows(3),
  }),
  defineModel({
    name: 'thread table: two threads in one row die, or one of them and who recovers it',
    ...place(3),
    threads: { first: attach, second: attach },
    killable: ['first', 'second'],
    kills: 2,
    // One detector: with two, more states than can be visited.
    recover: recoverOf(0, 3),
    init: init(2, 1, 2),
    conserve: conserveRows(3),
  }),
  defineModel({
    name: 'thread table: a thread dies while it leaves, another takes its row',
    ...place(3),
    threads: { leaver: attachAndLeave, next: attach },
    killable: ['leaver'],
    kills: 1,
    recover: [recoverOf(0, 3), recoverOf(1, 3)],
    init: init(2, 1, 2),
    conserve: conserveRows(3),
  }),
];
