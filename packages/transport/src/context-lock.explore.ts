import { defineModel, type SimulatedThread } from '@heddle/explore';
import { HeddleError } from '@heddle/memory';
import { contextOf, MEMORY, NOTES, prepare } from './context.explore.js';
import type { MtType } from './mt-type.js';
import { contextLayout, workerRowAt, workerRowLayout } from './transport.layout.js';

/** The context's lock: a word that only the thread in a section may touch, under each mtType. */

const LENDER = 0;
const NEXT = 1;

const ofType = (type: MtType) => (words: Int32Array) => {
  prepare(1, 1, 2)(words);
  if (type !== 'worker-async') return;
  words[contextLayout.offsets.lender] = LENDER + 1;
  words[contextLayout.offsets.lenderGeneration] = 1;
  words[workerRowAt(NEXT) + workerRowLayout.offsets.state] = 2;
};

/** Notes that it was in a section. A data race here is one thread too many. */
const sharing =
  (type: MtType) =>
  (thread: SimulatedThread): string => {
    const { memory } = contextOf(thread, [], type);
    try {
      return memory.lock.run((outcome) => {
        thread.words[NOTES]!++;
        return outcome;
      });
    } catch (error) {
      if (error instanceof HeddleError && error.code === 'ERR_HEDDLE_WRONG_THREAD') return 'refused';
      throw error;
    }
  };

/** The worker that lends is closed, and another one lends. */
const relending = (thread: SimulatedThread): string => {
  const { memory } = contextOf(thread, [], 'worker-async');
  memory.row(LENDER).shut(1);
  try {
    return memory.lock.run(() => {
      thread.words[NOTES]!++;
      if (memory.lock.lender >= 0) return 'taken';
      thread.atomics.store(thread.words, workerRowAt(NEXT) + workerRowLayout.offsets.state, 3);
      memory.lock.lend(NEXT, 1);
      return 'lent';
    });
  } catch (error) {
    if (error instanceof HeddleError && error.code === 'ERR_HEDDLE_WRONG_THREAD') return 'refused';
    throw error;
  }
};

const counted = ({ results, words }: { results: readonly unknown[]; words: Int32Array }) => {
  const inside = results.filter((result) => result !== undefined && result !== 'refused').length;
  return words[NOTES] === inside ? undefined : `${inside} were inside, ${words[NOTES]} counted`;
};

export default [
  ...(['spinlock', 'mutex'] as const).map((type) =>
    defineModel({
      name: `context lock: ${type}: one thread at a time, and the next is told of a death inside`,
      ...MEMORY,
      init: ofType(type),
      threads: [sharing(type), sharing(type)],
      kills: 1,
      killable: [0],
      recover: (thread, dead) => contextOf(thread, [], type).memory.lock.recover(dead + 1),
      check: ({ dead, results, words }) =>
        dead[0] === true
          ? words[NOTES]! >= 1 && results[1] !== undefined
            ? undefined
            : 'the other was not inside'
          : counted({ results, words }),
    }),
  ),
  defineModel({
    name: 'context lock: none: one thread has it, the other is refused',
    ...MEMORY,
    init: ofType('none'),
    threads: [sharing('none'), sharing('none')],
    check: ({ results, words }) =>
      results.filter((result) => result === 'refused').length === 1
        ? counted({ results, words })
        : `${results}`,
  }),
  defineModel({
    name: 'context lock: worker-async: the lender is closed while others share: never two locks in force',
    ...MEMORY,
    init: ofType('worker-async'),
    threads: { sharing: sharing('worker-async'), relending },
    check: counted,
  }),
  defineModel({
    name: 'context lock: worker-async: a thread dies inside while the lender is closed',
    ...MEMORY,
    init: ofType('worker-async'),
    threads: { sharing: sharing('worker-async'), relending },
    killable: ['sharing'],
    kills: 1,
    recover: (thread, dead) => contextOf(thread, [], 'worker-async').memory.lock.recover(dead + 1),
    check: ({ dead, results }) =>
      dead[0] === true && results[1] === undefined ? 'the other never came in' : undefined,
  }),
];
