import { defineModel, type End, type SimulatedThread } from '@heddle/explore';
import { HeddleError } from './errors.js';
import type { Platform } from './platform.js';
import { type Range, Space } from './space.js';
import { ENTRY_WORDS, phaseOf, RANGE_PHASE, spaceLayout, UNIT_BYTES, unitsOf } from './space.layout.js';

const UNITS = 8;
const BASE = 128;
const RANGES = 8;
const WORDS = spaceLayout.wordCount + RANGES * ENTRY_WORDS;
const names = Object.fromEntries(
  Array.from({ length: RANGES }, (_, i) =>
    ['size', 'status', 'start', 'padding'].map((name, word) => [
      `${name}${i}`,
      spaceLayout.wordCount + i * ENTRY_WORDS + word,
    ]),
  ).flat(),
);

/** Ids of threads are their places, from 1. */
const idOf = (index: number) => index + 1;
const spaceOver = (words: Int32Array, platform?: Platform) =>
  new Space(words, BASE, UNITS * UNIT_BYTES, platform);

/** Takes a range, or none where space is out. */
const take =
  (units: number, align?: number) =>
  (thread: SimulatedThread): Range | 'none' => {
    try {
      return spaceOver(thread.words, thread.platform).allocate(units * UNIT_BYTES, idOf(thread.index), align);
    } catch (error) {
      if (error instanceof HeddleError && error.code === 'ERR_HEDDLE_OUT_OF_SPACE') return 'none';
      throw error;
    }
  };

/** Takes a range and gives it back. */
const takeAndFree =
  (units: number) =>
  (thread: SimulatedThread): 'none' => {
    const range = take(units)(thread);
    if (range === 'none') return 'none';
    const space = spaceOver(thread.words, thread.platform);
    if (!space.retire(range, idOf(thread.index))) throw new Error('somebody else retired it');
    space.free(range);
    return 'none';
  };

/** Gives back what a dead thread took: it published nothing. */
function recover(thread: SimulatedThread, dead: number): void {
  const space = spaceOver(thread.words, thread.platform);
  for (const range of space.owned(idOf(dead))) space.discardOf(idOf(dead), range);
}

/** In the end the log has no gap, living ranges do not overlap, and everything else is free. */
function conserve({ words, results, dead }: End): string | undefined {
  const space = spaceOver(words);
  const live = results.filter((range, i) => !dead[i] && range !== 'none') as Range[];
  let end = 0;
  for (let i = 0; i < RANGES; i++) {
    const [size, status, start] = words.subarray(spaceLayout.wordCount + i * ENTRY_WORDS);
    if (size === 0) break;
    if (start !== end) return `range ${i} starts at ${start}, the one before it ends at ${end}`;
    end += unitsOf(size!);
    const held = live.filter(({ index }) => index === i).length;
    if (held > 1) return `range ${i} was given out twice`;
    if ((phaseOf(status!) !== RANGE_PHASE.free) !== (held === 1)) {
      return `range ${i} is in phase ${phaseOf(status!)}, and ${held} living threads have it`;
    }
  }
  if (end > UNITS) return 'the log is longer than the space';
  const used = live.reduce((sum, { byteLength }) => sum + byteLength, 0);
  if (space.usage().used !== used) return `${space.usage().used} bytes are used, ${used} by living threads`;
  return undefined;
}

const place = { words: WORDS, layout: spaceLayout, names, conserve };

/** A segment in which so many units were taken and given back before. */
const withFree =
  (...units: number[]) =>
  (words: Int32Array) => {
    const space = spaceOver(words);
    for (const range of units.map((count) => space.allocate(count * UNIT_BYTES, 99))) space.discard(range);
  };

export default [
  defineModel({
    ...place,
    name: 'space: three threads allocate, and space is out for one of them',
    threads: [take(3), take(3), take(3)],
    check({ results }) {
      const got = results.filter((range) => range !== 'none').length;
      return got === 2 ? undefined : `${got} got a range of 3 in a space of 8`;
    },
  }),
  defineModel({
    ...place,
    name: 'space: two threads allocate, one aligned, either dies at any step',
    threads: { aligned: take(2, 512), plain: take(1) },
    kills: 2,
    recover,
  }),
  defineModel({
    ...place,
    name: 'space: two threads want the one free range, one frees its own again, either dies',
    threads: { keeps: take(8), frees: takeAndFree(8) },
    init: withFree(8),
    kills: 2,
    recover,
  }),
  defineModel({
    ...place,
    name: 'space: three threads take and give back, one dies',
    threads: [takeAndFree(2), takeAndFree(2), take(2)],
    init: withFree(2),
    kills: 1,
    recover,
    search: { preemptions: 2 },
    deep: { search: { preemptions: 4 } },
  }),
];
