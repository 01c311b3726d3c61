import { defineModel, type SimulatedThread } from '@heddle/explore';
import { HeddleError } from '@heddle/memory';
import { Entry } from './entry.js';

/** A worker of thread mode serialized: its entry, and a word that only the thread inside may touch. */
const ENTRY = 0;
const GUARDED = 1;

const MEMORY = { words: 2, names: { entry: ENTRY, guarded: GUARDED } } as const;

const entryOf = (thread: SimulatedThread, generation = 0) =>
  new Entry(thread.words, ENTRY, thread.index + 1, thread.platform, generation);

const codeOf = (error: unknown): string => {
  if (error instanceof HeddleError) return error.code;
  throw error;
};

/** Enters twice. Answers what happened: `in`, and `!` where another thread was there since, or the error. */
const entering = (thread: SimulatedThread, generation = 0): string[] => {
  const entry = entryOf(thread, generation);
  const seen: string[] = [];
  for (let i = 0; i < 2; i++) {
    try {
      const changed = entry.enter();
      // A data race here is one thread too many inside.
      thread.words[GUARDED]!++;
      entry.leave();
      seen.push(changed ? 'in!' : 'in');
    } catch (error) {
      seen.push(codeOf(error));
    }
  }
  return seen;
};

/** Closes a worker as its owner, if nobody is inside, and makes another one in the same row. */
const succeeding = (thread: SimulatedThread): string[] | undefined => {
  const before = entryOf(thread, 1);
  try {
    before.enter();
  } catch (error) {
    codeOf(error);
    return undefined;
  }
  before.close();
  thread.atomics.store(thread.words, ENTRY, Entry.wordOf(2));
  return entering(thread, 2);
};

const alive = (dead: number) => (token: number) => token !== dead;

export default [
  defineModel({
    name: 'entry: three threads enter: one at a time, overlap is refused, and a change of threads is noticed',
    ...MEMORY,
    threads: [1, 2, 3].map(() => (thread: SimulatedThread) => entering(thread)),
    check: ({ results, words }) => {
      const entered = results.flatMap((seen) => (seen as string[]).filter((what) => what.startsWith('in')));
      if (entered.length !== words[GUARDED]) return `${entered.length} entered, ${words[GUARDED]} counted`;
      return results.some((seen) => (seen as string[])[0] === 'in')
        ? 'a first entry noticed no change'
        : undefined;
    },
  }),
  defineModel({
    name: 'entry: a thread that knows an earlier worker of the row stays out of the next one',
    ...MEMORY,
    init: (words) => {
      words[ENTRY] = Entry.wordOf(1);
    },
    threads: {
      owner: succeeding,
      late: (thread) => {
        const entry = entryOf(thread, 1);
        try {
          entry.enter();
          entry.leave();
          return 'in';
        } catch (error) {
          return codeOf(error);
        }
      },
    },
    check: ({ results, words }) => {
      if (results[0] === undefined) return undefined;
      if ((results[0] as string[]).some((what) => !what.startsWith('in'))) return 'the new worker is taken';
      return words[ENTRY] === (Entry.wordOf(2) | (1 << 1))
        ? undefined
        : 'somebody else was in the new worker';
    },
  }),
  defineModel({
    name: 'entry: the owner dies anywhere: a living thread inherits, or nobody enters any more',
    ...MEMORY,
    threads: {
      owner: (thread) => entering(thread),
      other: (thread) => entering(thread),
    },
    killable: ['owner'],
    kills: 1,
    recover: (thread) => {
      const entry = entryOf(thread);
      entry.recover(1);
      const heir = entry.heirOf(1, alive(1));
      // Whoever closed it has it alone.
      if (heir === 0) thread.words[GUARDED]!++;
      return heir;
    },
    check: ({ dead, results, recoveries, words }) => {
      if (dead[0] !== true || dead[2] === true) return undefined;
      const entered = (results[1] as string[] | undefined)?.filter((what) => what.startsWith('in')) ?? [];
      if (recoveries[0] === 2) return undefined;
      if (words[ENTRY]! >= 0) return 'closed, and open again';
      return entered.length > 2 ? 'entered after the close' : undefined;
    },
  }),
];
