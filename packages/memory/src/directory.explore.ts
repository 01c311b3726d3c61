import { defineModel, type End, type SimulatedThread } from '@heddle/explore';
import { Directory, type StructureInfo } from './directory.js';
import { isTaken, structureLayout } from './directory.layout.js';
import type { Platform } from './platform.js';
import { Space } from './space.js';
import { ENTRY_WORDS, spaceLayout, UNIT_BYTES } from './space.layout.js';

/** Slots, range table, space: a line, three lines, and so many units. */
const SLOTS = 4;
const TABLE_AT = 32;
const RANGES = 8;
const BASE = (TABLE_AT + Space.wordCountFor(RANGES)) * 4;
const UNITS = 6;
const UNIT_WORDS = UNIT_BYTES / 4;

const mutex = { kind: 'm', version: 1 };
const FILLED = 42;

function over(words: Int32Array, platform?: Platform) {
  const table = words.subarray(TABLE_AT, BASE / 4);
  const space = new Space(table, BASE, UNITS * UNIT_BYTES, platform);
  return { space, directory: new Directory(words.subarray(0, SLOTS), words, space, platform) };
}

/** Ids of threads are their places, from 1. */
const idOf = (index: number) => index + 1;

const openOrCreate = (name: string) => (thread: SimulatedThread) => {
  const { words, platform, atomics } = thread;
  const { info, created } = over(words, platform).directory.openOrCreate(
    {
      name,
      layout: mutex,
      byteLength: 4,
      init: ({ byteOffset }) => void atomics.store(words, byteOffset / 4, FILLED),
    },
    idOf(thread.index),
  );
  if (atomics.load(words, info.byteOffset / 4) !== FILLED) throw new Error('the body is not filled in');
  return { info, created };
};

/** Finds a structure of 4 bytes, which may be gone at any moment, by its name. */
const find =
  (name: string) =>
  ({ words, platform }: SimulatedThread) => {
    const info = over(words, platform).directory.find(name);
    if (info && info.byteLength !== 4) throw new Error(`"${name}" was found with the size of another`);
  };

const remove = (name: string) => (thread: SimulatedThread) => {
  const { directory } = over(thread.words, thread.platform);
  const info = directory.find(name);
  return { removed: info !== undefined && directory.remove(info, idOf(thread.index)) };
};

/** What recovery does for the directory: the dead thread's steps that are left, or undone. */
const recover = ({ words, platform }: SimulatedThread, dead: number) => {
  over(words, platform).directory.settle(idOf(dead));
};

/** Every range is free, or belongs to a structure that can be found. */
function conserve({ words }: End): string | undefined {
  const { space, directory } = over(words);
  const all = directory.list();
  const used = all.reduce((sum, { range }) => sum + range.byteLength, 0);
  if (used !== space.usage().used) return `${space.usage().used} bytes are used, ${used} by structures`;
  if (all.some(({ range }) => !space.isLive(range))) return 'a structure lies in a range that is not live';
  const taken = words.subarray(0, SLOTS).filter(isTaken).length;
  if (taken !== all.length) return `${taken} slots are taken, by ${all.length} structures`;
  if (new Set(all.map(({ name }) => name)).size !== all.length) return 'a name is there twice';
  return undefined;
}

/** No name counts twice, at any moment. */
function once(words: Int32Array): string | undefined {
  const names = over(words)
    .directory.list()
    .map(({ name }) => name);
  return new Set(names).size === names.length ? undefined : `there are ${names}`;
}

/** Those who live agree, and at most one of all made it. */
function agree({ results, dead }: End): string | undefined {
  const living = results.filter((_, i) => !dead[i]) as { info: StructureInfo; created: boolean }[];
  if (new Set(living.map(({ info }) => info.byteOffset)).size > 1) return 'they have different structures';
  const creators = living.filter(({ created }) => created).length;
  if (creators > 1) return `${creators} threads created it`;
  if (creators === 0 && !dead.some(Boolean)) return 'nobody created it';
  return undefined;
}

const place = {
  words: BASE / 4 + UNITS * UNIT_WORDS,
  layout: [
    { layout: spaceLayout, at: TABLE_AT, label: 'space' },
    ...Array.from({ length: UNITS / 2 }, (_, i) => ({
      layout: structureLayout,
      at: BASE / 4 + 2 * i * UNIT_WORDS,
      label: `structure${i}`,
    })),
  ],
  names: {
    slots: [0, SLOTS] as const,
    ...Object.fromEntries(
      Array.from({ length: RANGES }, (_, i) => [
        `entry${i}`,
        [TABLE_AT + spaceLayout.wordCount + i * ENTRY_WORDS, ENTRY_WORDS] as const,
      ]),
    ),
  },
  conserve,
};

/** A segment with a structure of that name. */
const withStructure = (name: string) => (words: Int32Array) => {
  const { directory } = over(words);
  const init = ({ byteOffset }: StructureInfo) => {
    words[byteOffset / 4] = FILLED;
  };
  directory.create({ name, layout: mutex, byteLength: 4, init }, 99);
};

/** Removes what was there at first, however late. */
const removeFirst = ({ words, platform, index }: SimulatedThread) => {
  const first = { slot: 2, range: { index: 0, generation: 0, byteOffset: BASE, byteLength: 2 * UNIT_BYTES } };
  return { removed: over(words, platform).directory.remove(first as StructureInfo, idOf(index)) };
};

export default [
  defineModel({
    ...place,
    name: 'directory: two threads create one name',
    threads: [openOrCreate('a'), openOrCreate('a')],
    check: agree,
  }),
  defineModel({
    ...place,
    name: 'directory: two threads create one name, either dies at any step',
    threads: [openOrCreate('a'), openOrCreate('a')],
    kills: 1,
    search: { preemptions: 1 },
    deep: { kills: 2, search: { preemptions: Number.POSITIVE_INFINITY } },
    recover,
    check: agree,
  }),
  defineModel({
    ...place,
    name: 'directory: three threads create one name, one dies',
    threads: [openOrCreate('a'), openOrCreate('a'), openOrCreate('a')],
    kills: 1,
    recover,
    check: agree,
    search: { strategy: 'pct', schedules: 1000 },
    deep: { search: { strategy: 'exhaustive', preemptions: 1 } },
  }),
  defineModel({
    ...place,
    name: 'directory: a structure is removed by two threads, either dies at any step',
    threads: [remove('a'), remove('a')],
    init: withStructure('a'),
    kills: 2,
    recover,
    check({ results, dead }) {
      const removers = results.filter(
        (result) => (result as { removed: boolean } | undefined)?.removed,
      ).length;
      if (removers > 1) return 'both removed it';
      return removers === 0 && !dead.some(Boolean) ? 'nobody removed it' : undefined;
    },
  }),
  defineModel({
    ...place,
    name: 'directory: a name is removed as soon as it is created, either dies at any step',
    threads: { create: openOrCreateOnly('a'), remove: remove('a') },
    kills: 1,
    recover,
  }),
  defineModel({
    ...place,
    name: 'directory: a name is removed by who found it while it was created, either dies at any step',
    threads: {
      create: openOrCreateOnly('a'),
      other: (thread) => {
        openOrCreateOnly('a')(thread);
        remove('a')(thread);
      },
    },
    kills: 1,
    recover,
    races: false,
    search: { preemptions: 1 },
    deep: { search: { preemptions: 3 } },
  }),
  defineModel({
    ...place,
    name: 'directory: two threads create one name while a third removes what is there, one dies',
    threads: [openOrCreateOnly('a'), openOrCreateOnly('a'), remove('a')],
    init: withStructure('a'),
    kills: 1,
    recover,
    always: once,
    races: false,
    search: { preemptions: 1 },
    deep: { search: { preemptions: 2 } },
  }),
  defineModel({
    ...place,
    name: 'directory: the same, with two who remove before they create',
    threads: [removeAndCreate('a'), removeAndCreate('a'), openOrCreateOnly('a')],
    init: withStructure('a'),
    kills: 1,
    recover,
    always: once,
    races: false,
    search: { strategy: 'pct', schedules: 2000 },
    deep: { search: { strategy: 'exhaustive', preemptions: 1 } },
  }),
  defineModel({
    ...place,
    name: 'directory: a name is created at two places, where slots before become free, one dies',
    threads: [openOrCreateOnly('a'), removeAndCreate('c', 'a'), removeAndCreate('a', 'c')],
    init: withStructure('c'),
    kills: 1,
    recover,
    always: once,
    races: false,
    search: { strategy: 'pct', schedules: 2000 },
    deep: { search: { strategy: 'exhaustive', preemptions: 1 } },
  }),
  // The names "a" and "c" have the same probe sequence.
  defineModel({
    ...place,
    name: 'directory: two threads create one name, and a slot before theirs becomes free',
    threads: [openOrCreate('a'), openOrCreate('a'), remove('c')],
    init: withStructure('c'),
    races: false,
    search: { preemptions: 2 },
    deep: { search: { preemptions: 4 } },
    check: ({ results, ...end }) => agree({ ...end, results: results.slice(0, 2) }),
  }),
  defineModel({
    ...place,
    name: 'directory: the same, and a death at every step',
    threads: [openOrCreate('a'), openOrCreate('a'), remove('c')],
    init: withStructure('c'),
    kills: 1,
    recover,
    races: false,
    search: { preemptions: 1 },
    killable: [0],
    deep: { killable: [0, 1, 2], search: { preemptions: 3 } },
    check: ({ results, ...end }) => agree({ ...end, results: results.slice(0, 2) }),
  }),
  defineModel({
    ...place,
    name: 'directory: a name is removed and created again, and a late removal of the first one comes',
    threads: {
      again: (thread) => {
        remove('a')(thread);
        openOrCreateOnly('a')(thread);
      },
      late: removeFirst,
    },
    init: withStructure('a'),
    races: false,
    check: ({ words }) =>
      over(words).directory.list().length === 1 ? undefined : 'The second one was removed',
  }),
  defineModel({
    ...place,
    name: 'directory: a structure is removed and its memory given to another while a third looks for it',
    threads: { remove: remove('a'), create: openOrCreateOnly('b', 8), find: find('a') },
    init: withStructure('a'),
    // Who looks for a removed structure reads its memory, and looks at the slot again before it believes that.
    races: false,
    search: { preemptions: 3 },
  }),
];

function removeAndCreate(removed: string, created = removed) {
  return (thread: SimulatedThread) => {
    remove(removed)(thread);
    openOrCreateOnly(created)(thread);
  };
}

/** Creates, and does not look at what it has: somebody may remove it. */
function openOrCreateOnly(name: string, byteLength = 4) {
  return ({ words, platform, index }: SimulatedThread) => {
    over(words, platform).directory.openOrCreate({ name, layout: mutex, byteLength }, idOf(index));
  };
}
