import { defineModel, type SimulatedThread } from '@heddle/explore';
import { SeqLock } from './seq-lock.js';
import { copyStride, seqLockLayout } from './seq-lock.layout.js';

/** A payload of two words that are always equal, if a read is whole. */

const LENGTH = 2;
const COPY = seqLockLayout.wordCount;

const make = ({ words, index, platform }: SimulatedThread) =>
  new SeqLock({ words, token: index + 1, platform });

const read = (times: number) => (thread: SimulatedThread) => {
  const lock = make(thread);
  let last = 0;
  for (let i = 0; i < times; i++) {
    const [left, right] = lock.read();
    if (left !== right) throw new Error(`Half a write is to be seen: ${left} and ${right}`);
    if (left! < last) throw new Error(`An older value after a newer one: ${left} after ${last}`);
    last = left!;
  }
};

const write =
  (...values: number[]) =>
  (thread: SimulatedThread) => {
    const lock = make(thread);
    for (const value of values) lock.write([value, value]);
  };

const add = (thread: SimulatedThread) => {
  make(thread).update((values) => {
    values[0]!++;
    values[1]!++;
  });
  return 1;
};

const base = {
  layout: seqLockLayout,
  words: COPY + 2 * copyStride(LENGTH),
  names: { copy0: [COPY, LENGTH] as const, copy1: [COPY + copyStride(LENGTH), LENGTH] as const },
  init: (words: Int32Array) => {
    words[seqLockLayout.offsets.length] = LENGTH;
  },
};

const recover = (thread: SimulatedThread, dead: number) => make(thread).recover(dead + 1);

export const models = [
  defineModel({ ...base, name: 'seqlock: a reader and three writes', threads: [read(1), write(1, 2, 3)] }),
  defineModel({ ...base, name: 'seqlock: a read does not go back', threads: [read(2), write(1, 2)] }),
  defineModel({
    ...base,
    name: 'seqlock: the version wraps past 2^31 during a read',
    threads: [read(1), write(1, 2)],
    init: (words) => {
      base.init(words);
      words[seqLockLayout.offsets.version] = 2 ** 31 - 1;
      words[seqLockLayout.offsets.begun] = 2 ** 31 - 1;
    },
  }),
  defineModel({
    ...base,
    name: 'seqlock: two writers that add, and a reader',
    threads: [add, add, read(1)],
    check: ({ words }) => {
      const [left, right] = new SeqLock({ words, token: 9 }).read();
      return left === 2 && right === 2 ? undefined : `${left} and ${right} after two additions`;
    },
  }),
  defineModel({
    ...base,
    name: 'seqlock: the death of a writer at every step, and another one',
    threads: [add, add, read(1)],
    kills: 1,
    killable: [0],
    recover,
    check: ({ words, dead }) => {
      const [left, right] = new SeqLock({ words, token: 9 }).read();
      if (left !== right) return `Half a write is left: ${left} and ${right}`;
      return left === 2 || (dead[0] && left === 1) ? undefined : `${left} after two additions`;
    },
  }),
];
