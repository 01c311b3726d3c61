import { defineModel, type SimulatedThread } from '@heddle/explore';
import { HeddleError } from '@heddle/memory';
import { Latch, type Patience } from './latch.js';

/** In models nobody gives up, so that a wake that is missing is seen. */
export const FOR_EVER: Patience = { spins: 0, sleepMs: Number.POSITIVE_INFINITY };

const LATCH = 0;
const COUNT = 1;
const STOPPED = 9;

const noRepair = () => {
  throw new Error('There is nothing to repair');
};

/** Counts under the latch; says so where it gives up. */
const countOnce = ({ words, platform, index }: SimulatedThread): string => {
  const latch = new Latch(words, LATCH, index + 1, () => true, platform, { spins: 0, sleepMs: 1 });
  try {
    latch.acquire(noRepair);
  } catch (error) {
    if (error instanceof HeddleError && error.code === 'ERR_HEDDLE_STALLED') return 'stalled';
    throw error;
  }
  words[COUNT] = words[COUNT]! + 1;
  latch.release();
  return 'counted';
};

const latch = { words: 2, names: { latch: LATCH, count: COUNT }, threads: [countOnce, countOnce] };

export default [
  defineModel({
    ...latch,
    name: 'latch: two threads, and waits that time out',
    check: ({ words, results }) => {
      const counted = results.filter((result) => result === 'counted').length;
      return words[COUNT] === counted && words[LATCH] === 0
        ? undefined
        : `${words[COUNT]} counted, ${results}, latch ${words[LATCH]}`;
    },
  }),
  defineModel({
    ...latch,
    name: 'latch: two threads give up where its holder does not move',
    init: (words) => {
      words[LATCH] = STOPPED;
    },
    check: ({ results }) => (results.every((result) => result === 'stalled') ? undefined : `${results}`),
  }),
];
