import { defineModel, type SimulatedThread } from '@heddle/explore';
import { HeddleError, runBlocking } from '@heddle/memory';
import { NONE } from './descriptor.js';
import { GetSteps } from './get-steps.js';
import { mpoolLayout } from './mpool.layout.js';
import type { Policy } from './policy.js';
import { PoolWords } from './pool-words.js';

/** A wait for an element of a pool of which all are out, whose point something else decides. */

const POINTLESS = mpoolLayout.wordCount;

const SHAPE = {
  shards: 1,
  seats: 0,
  magazine: 0,
  laneSlots: 0,
  slotCapacity: 1,
  maxChunks: 1,
  lockWords: 0,
  noteWords: 0,
  counterRows: 0,
};

const ALL_OUT: Policy = {
  take: () => NONE,
  give: () => false,
  hasPut: () => false,
  assertMayUse: () => {},
  flush: () => {},
  empty: () => {},
};

const poolOf = ({ words, platform, index }: SimulatedThread) =>
  new PoolWords(words, SHAPE, { id: index + 1, token: index + 1 }, () => true, platform);

/** Waits until there is no point in it. */
const getting = (thread: SimulatedThread): string => {
  const check = () => {
    if (thread.atomics.load(thread.words, POINTLESS) === 1) {
      throw new HeddleError('ERR_HEDDLE_CLOSED', 'no point');
    }
  };
  try {
    runBlocking(new GetSteps(poolOf(thread), ALL_OUT, check), thread.words, thread.platform);
    return 'got one';
  } catch (error) {
    if (error instanceof HeddleError) return error.message;
    throw error;
  }
};

export default [
  defineModel({
    name: 'get: two waits that lose their point, against stray wakes: both end',
    words: POINTLESS + 1,
    layout: [{ layout: mpoolLayout, at: 0 }],
    names: { pointless: POINTLESS },
    threads: [
      getting,
      getting,
      (thread) => {
        thread.atomics.store(thread.words, POINTLESS, 1);
        poolOf(thread).wakeSleepers();
      },
    ],
    strayWakes: 1,
    check: ({ results }) =>
      results[0] === 'no point' && results[1] === 'no point' ? undefined : `${results[0]}, ${results[1]}`,
  }),
];
