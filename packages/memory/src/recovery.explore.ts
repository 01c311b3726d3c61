import { defineModel, type End, type SimulatedThread } from '@heddle/explore';
import type { Directory } from './directory.js';
import { Recovery } from './recovery.js';
import { ThreadTable } from './thread-table.js';
import { threadRowLayout } from './thread-table.layout.js';

/**
 * A row for each of two who recover, then one for two threads to fight for, and a word that one thread can hold. Who
 * recovers has the lower rows: they may be used again while what their threads began is not finished.
 */
const ROWS = 3;
const TABLE_WORDS = ROWS * threadRowLayout.wordCount;
const HELD = TABLE_WORDS;
/** Number of the thread that began the recovery of each death. */
const BEGUN = TABLE_WORDS + 1;

const numberOf = (index: number) => 100 + index;
const tableOver = ({ words, platform }: SimulatedThread) =>
  new ThreadTable(words.subarray(0, TABLE_WORDS), platform);

/** Attaches, and takes the word where it is free. */
const hold = (thread: SimulatedThread): { token: number; holds: boolean } => {
  const table = tableOver(thread);
  const id = table.claim(numberOf(thread.index), 0);
  if (id === 0) return { token: 0, holds: false };
  const token = table.tokenOf(id);
  return { token, holds: thread.atomics.compareExchange(thread.words, HELD, 0, token) === 0 };
};

/** Takes the word, then leaves with it. */
const holdAndLeave = (thread: SimulatedThread): { token: number; holds: boolean } => {
  const { token } = hold(thread);
  if (token !== 0) recoveryOver(thread).leave(token, numberOf(thread.index));
  return { token: 0, holds: false };
};

/** The directory has one structure: the word. */
function recoveryOver(thread: SimulatedThread): Recovery {
  const directory = {
    capacity: 1,
    at: () => ({ kind: 'word' }),
    withdraw() {},
    settle() {},
  } as unknown as Directory;
  const table = tableOver(thread);
  return new Recovery(table, directory, () => (_, dead) => {
    thread.atomics.compareExchange(thread.words, HELD, dead.token, 0);
  });
}

/** Hears of a death, and of the death of the one who recovered before it, and recovers. */
const recover = (thread: SimulatedThread, dead: number) => {
  const table = tableOver(thread);
  const id = table.find(numberOf(thread.index));
  const before = thread.atomics.exchange(thread.words, BEGUN + dead, numberOf(thread.index));
  table.markDead(numberOf(dead));
  table.markDead(before);
  recoveryOver(thread).run(table.tokenOf(id));
};

function conserve({ words, results, dead }: End): string | undefined {
  const table = new ThreadTable(words.subarray(0, TABLE_WORDS));
  if (table.dead().length > 0) return `rows ${table.dead()} are dead, and nobody recovers them`;
  const held = words[HELD]!;
  if (held !== 0 && !table.isAlive(held)) return 'the word belongs to a thread that is gone';
  for (const [index, result] of results.entries()) {
    const { token, holds } = (result ?? {}) as { token?: number; holds?: boolean };
    if (!dead[index] && holds && held !== token) return `thread ${index} lives, and what it held was taken`;
  }
  return undefined;
}

function init(words: Int32Array<SharedArrayBuffer>): void {
  const table = new ThreadTable(words.subarray(0, TABLE_WORDS));
  for (const index of [2, 3]) table.claim(numberOf(index), 0);
}

const place = {
  words: TABLE_WORDS + 3,
  layout: Array.from({ length: ROWS }, (_, row) => ({
    layout: threadRowLayout,
    at: row * threadRowLayout.wordCount,
    label: `row${row + 1}`,
  })),
  names: { held: HELD, begun: [BEGUN, 2] as const },
  init,
  conserve,
  recover,
};

export default [
  defineModel({
    ...place,
    name: 'recovery: who holds something dies, another gets its row and holds the same, either recoverer dies',
    threads: { first: hold, second: hold },
    kills: 2,
  }),
  defineModel({
    ...place,
    name: 'recovery: who holds something leaves and dies on the way, another gets its row and holds the same',
    threads: { leaver: holdAndLeave, second: hold },
    kills: 2,
  }),
];
