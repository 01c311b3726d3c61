import { defineModel, type SimulatedThread } from '@heddle/explore';
import { HeddleError } from '@heddle/memory';
import { Entry } from './entry.js';

/** A worker of thread mode serialized: its entry, and a word that only the thread inside may touch. */
const ENTRY = 0;
const GUARDED = 1;

const MEMORY = { words: 2, names: { entry: ENTRY, guarded: GUARDED } } as const;

const entryOf = (thread: SimulatedThread) =>
  new Entry(thread.words, ENTRY, thread.index + 1, thread.platform);

/** Enters twice. Answers what happened: `in`, and `!` where another thread was there since, or the error. */
const entering = (thread: SimulatedThread): string[] => {
  const entry = entryOf(thread);
  const seen: string[] = [];
  for (let i = 0; i < 2; i++) {
    try {
      const changed = entry.enter();
      // A data race here is one thread too many inside.
      thread.words[GUARDED]!++;
      entry.leave();
      seen.push(changed ? 'in!' : 'in');
    } catch (error) {
      if (!(error instanceof HeddleError)) throw error;
      seen.push(error.code);
    }
  }
  return seen;
};

const alive = (dead: number) => (token: number) => token !== dead;

export default [
  defineModel({
    name: 'entry: three threads enter: one at a time, overlap is refused, and a change of threads is noticed',
    ...MEMORY,
    threads: [entering, entering, entering],
    check: ({ results, words }) => {
      const entered = results.flatMap((seen) => (seen as string[]).filter((what) => what.startsWith('in')));
      if (entered.length !== words[GUARDED]) return `${entered.length} entered, ${words[GUARDED]} counted`;
      return results.some((seen) => (seen as string[])[0] === 'in')
        ? 'a first entry noticed no change'
        : undefined;
    },
  }),
  defineModel({
    name: 'entry: the owner dies anywhere: a living thread inherits, or nobody enters any more',
    ...MEMORY,
    threads: { owner: entering, other: entering },
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
