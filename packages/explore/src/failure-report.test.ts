import { describe, expect, it } from 'vitest';
import { type ExploreOptions, explore } from './explore.js';
import type { Model } from './model.js';
import { RandomNumbers } from './random-numbers.js';
import type { SimulatedThread } from './simulated-thread.js';

type Instruction = (thread: SimulatedThread, word: number, value: number) => unknown;

const HINT = 3;
const PRIVATE = 8;

/** All that a schedule can turn on: memory shared and private, sleep, time, chance, late reads, loops. */
const instructions: readonly Instruction[] = [
  ({ words, atomics }, word) => atomics.load(words, word),
  ({ words, atomics }, word, value) => atomics.store(words, word, value),
  ({ words, atomics }, word, value) => atomics.add(words, word, value),
  ({ words, atomics }, word, value) => atomics.compareExchange(words, word, 0, value),
  ({ words, atomics }, word) => atomics.wait(words, word, 0),
  ({ words, atomics }, word) => atomics.wait(words, word, 0, 10),
  ({ words, atomics }, word) => atomics.notify(words, word, 1),
  ({ words, index }, _word, value) => {
    words[PRIVATE + index] = value;
  },
  ({ words, atomics, index }, _word, value) => atomics.add(words, 2 * PRIVATE + index, value),
  ({ words }) => words[HINT],
  (thread, _word, value) => thread.view(Uint8Array)[4 * HINT + value],
  ({ words, atomics }, word, value) => atomics.store(words, HINT, value << (8 * word)),
  ({ platform }) => platform.now(),
  ({ platform }) => platform.random(),
  ({ words, atomics, platform }, word, value) => {
    while (atomics.load(words, word) !== value) platform.pause();
  },
  ({ words, platform }, word, value) => {
    const end = platform.now() + 10;
    while (platform.atomics.load(words, word) !== value && platform.now() < end) {
      platform.atomics.wait(words, word, 0, 5);
    }
  },
  (thread, word) => thread.waitEvent(word, 0, { timeoutMs: 7, abortable: true, leavesEntry: word === 0 }),
];

function randomModel(random: RandomNumbers): Model {
  const pick = <Item>(items: readonly Item[]): Item => items[random.below(items.length)]!;
  const few = Array.from({ length: 4 }, () => pick(instructions));
  const threads = Array.from({ length: 2 + random.below(2) }, () => {
    const body = Array.from({ length: 1 + random.below(3) }, () => {
      const [instruction, word, value] = [pick(few), random.below(3), 1 + random.below(3)];
      return (thread: SimulatedThread) => instruction(thread, word, value);
    });
    return (thread: SimulatedThread) => body.map((instruction) => instruction(thread));
  });
  const modulus = 1 + random.below(30);
  return {
    name: 'random model',
    words: 3 * PRIVATE,
    hints: [HINT],
    threads,
    kills: random.below(3),
    ...(random.below(2) === 0 ? {} : { recover: ({ words, atomics }) => void atomics.store(words, 0, 5) }),
    strayWakes: random.below(2),
    timeouts: random.below(3) > 0,
    clockJumps: pick([[], [3, 20]]),
    randoms: [0, 0.5],
    // Fails at some ends, which have nothing else in common.
    check: ({ words, results, dead }) =>
      hash(JSON.stringify([...words, results, dead])) % modulus === 0 ? 'an unlucky end' : undefined,
    search: { spinSteps: 16, maxStates: 20_000, shortestStates: pick([0, 100, 2000]) },
  };
}

function hash(text: string): number {
  let sum = 7;
  for (let at = 0; at < text.length; at++) sum = (Math.imul(sum, 31) + text.charCodeAt(at)) >>> 0;
  return sum;
}

/** A model with a check that is not steady: it fails at an end by how many ends it has seen. */
function fickle(fails: (end: number) => boolean): Model {
  let ends = 0;
  const two = ({ words, atomics }: SimulatedThread) => {
    if (atomics.add(words, 0, 1) === 0) atomics.add(words, 0, 1);
  };
  return {
    name: 'fickle',
    words: 1,
    threads: [two, two],
    kills: 2,
    check: () => (fails(++ends) ? 'unsteady' : undefined),
    search: { strategy: 'random', seed: 4 },
  };
}

describe('a failure that is found', () => {
  it.each<[string, ExploreOptions]>([
    ['an exhaustive search', {}],
    ['a search with no preemption', { preemptions: 0 }],
    ['a search with a few preemptions', { preemptions: 2 }],
    ['random schedules', { strategy: 'random', schedules: 50 }],
    ['random priorities within a bound', { strategy: 'pct', schedules: 50, preemptions: 1 }],
  ])('by %s is reported, and its string replays it from nothing', (_what, options) => {
    const random = new RandomNumbers(3);
    const kinds = new Set<string>();
    for (let round = 0; round < 200; round++) {
      const model = randomModel(random);
      const { failure } = explore(model, options);
      if (failure === null) continue;
      kinds.add(failure.kind);
      expect(explore(model, { replay: failure.replay }).failure, `round ${round}`).toMatchObject({
        kind: failure.kind,
        reason: failure.reason,
        columns: failure.columns,
      });
    }
    expect([...kinds]).toEqual(expect.arrayContaining(['check', 'deadlock', 'lost-wake']));
  });

  it('by a late read of one byte is replayed, though nothing has written that byte yet', () => {
    const model: Model = {
      name: 'byte',
      words: 2,
      hints: [0],
      threads: [
        (thread) => {
          if (thread.view(Uint8Array)[1] === 5 && thread.atomics.load(thread.words, 1) === 0)
            throw new Error();
        },
        ({ words, atomics }) => {
          atomics.store(words, 1, 1);
          atomics.store(words, 0, 0x500);
        },
      ],
    };
    const { failure } = explore(model);
    expect(failure).toMatchObject({ kind: 'exception', replay: expect.stringContaining('0~5') });
    expect(explore(model, { replay: failure!.replay }).failure).toMatchObject({ columns: failure!.columns });
  });

  it('in a loop is replayed, though a fresh search does not know yet that the loop may end', () => {
    const model: Model = {
      name: 'loop',
      words: 2,
      hints: [0],
      threads: [
        ({ words, atomics, platform }) => {
          let early = 0;
          while (words[0] !== 1) {
            if (atomics.load(words, 1) === 0) early++;
            platform.pause();
          }
          return early;
        },
        ({ words, atomics }) => {
          atomics.store(words, 1, 1);
          atomics.store(words, 0, 1);
        },
      ],
      check: ({ results }) => ((results[0] as number) < 2 ? undefined : 'went round twice'),
      search: { strategy: 'random', spinSteps: 16, shortestStates: 0 },
    };
    const { failure } = explore(model);
    expect(failure?.kind).toBe('check');
    expect(explore(model, { replay: failure!.replay }).failure).toMatchObject({ columns: failure!.columns });
  });

  it('is shown by the schedule first found where the shortened one does not fail when it is followed', () => {
    const always = explore(fickle(() => true)).failure!;
    expect(always).toMatchObject({ shortest: true });
    const once = explore(fickle((end) => end !== 3)).failure!;
    expect(once).toMatchObject({ kind: 'check', reason: 'unsteady', shortest: false });
    expect(once.length).toBeGreaterThan(always.length);
  });

  it('is not shortened where it is a livelock: that is as long as the bound on the steps of a thread', () => {
    const endless = ({ words, atomics }: SimulatedThread) => {
      for (;;) atomics.add(words, 0, 1);
    };
    const search = { maxThreadSteps: 50 };
    const { failure } = explore({ words: 1, threads: [endless, endless], search });
    expect(failure).toMatchObject({ kind: 'livelock', shortest: false });
  });

  it('is reported, too, where no schedule shows it again', () => {
    expect(explore(fickle((end) => end === 1)).failure).toMatchObject({
      kind: 'check',
      reason: 'unsteady; its schedule, followed step by step, does not show that again',
      shortest: false,
    });
  });
});
