import { describe, expect, it } from 'vitest';
import { explore } from './explore.js';
import type { Model } from './model.js';
import { RandomNumbers } from './random-numbers.js';
import type { SimulatedThread } from './simulated-thread.js';

/*
 * Random small programs, explored twice: by the explorer, with everything that it does to look at fewer states, and
 * by a plain enumeration of all interleavings that is too simple to be wrong. Both have to find the same ends.
 */

type Instruction =
  | { readonly kind: 'load' | 'read' | 'notify'; readonly word: number }
  | { readonly kind: 'store' | 'add' | 'exchange' | 'write'; readonly word: number; readonly value: number }
  | { readonly kind: 'cas'; readonly word: number; readonly expected: number; readonly value: number }
  | { readonly kind: 'wait' | 'timedWait'; readonly word: number; readonly expected: number };

type Program = readonly (readonly Instruction[])[];

const WORDS = 3;

function randomProgram(random: RandomNumbers, plain: boolean): Program {
  const kinds = [
    'load',
    'store',
    'add',
    'exchange',
    'cas',
    'wait',
    'timedWait',
    'notify',
    ...(plain ? ['read', 'write'] : []),
  ];
  const threads = 2 + random.below(2);
  const length = threads === 2 ? 4 : 3;
  return Array.from({ length: threads }, () =>
    Array.from({ length: 1 + random.below(length) }, () => ({
      kind: kinds[random.below(kinds.length)],
      word: random.below(WORDS),
      value: 1 + random.below(2),
      expected: random.below(2),
    })),
  ) as unknown as Program;
}

/** Runs the instructions of one thread on the simulated words; the values read are its result. */
const threadOf =
  (instructions: readonly Instruction[]) =>
  (thread: SimulatedThread): unknown[] =>
    instructions.map((one) => execute(thread, one));

function execute({ words, atomics }: SimulatedThread, one: Instruction): unknown {
  switch (one.kind) {
    case 'load':
      return atomics.load(words, one.word);
    case 'read':
      return words[one.word];
    case 'write':
      words[one.word] = one.value;
      return null;
    case 'store':
      return atomics.store(words, one.word, one.value);
    case 'add':
      return atomics.add(words, one.word, one.value);
    case 'exchange':
      return atomics.exchange(words, one.word, one.value);
    case 'cas':
      return atomics.compareExchange(words, one.word, one.expected, one.value);
    case 'wait':
      return atomics.wait(words, one.word, one.expected);
    case 'timedWait':
      return atomics.wait(words, one.word, one.expected, 10);
    case 'notify':
      return atomics.notify(words, one.word, 1);
  }
}

interface Naive {
  readonly words: readonly number[];
  /** Per thread: instructions done, answers, whether it sleeps. */
  readonly threads: readonly { at: number; results: unknown[] | null; asleep: boolean; strays: number }[];
  /** Sleeping threads in the order of arrival. */
  readonly queue: readonly { thread: number; word: number }[];
  /** Accesses so far, with vector clocks, for races. */
  readonly clocks: readonly (readonly number[])[];
  readonly released: readonly (readonly number[])[];
  readonly accesses: readonly Access[];
}

interface Access {
  readonly thread: number;
  readonly word: number;
  readonly plain: boolean;
  readonly writes: boolean;
  readonly time: number;
}

const join = (one: readonly number[], other: readonly number[]) => one.map((t, i) => Math.max(t, other[i]!));

/** All ends of a program, as strings, and whether any schedule has a data race. */
function enumerate(
  program: Program,
  { kills = 0, strayWakes = 0 } = {},
): { ends: Set<string>; races: boolean } {
  const ends = new Set<string>();
  let races = false;
  const none = program.map(() => 0);
  const visit = (state: Naive, deaths: number): void => {
    let moved = false;
    state.threads.forEach((thread, index) => {
      const instruction = program[index]![thread.at];
      if (instruction === undefined) return;
      if (deaths > 0) {
        const dead = { at: program[index]!.length, results: null, asleep: false, strays: 0 };
        visit(awake(state, index, dead), deaths - 1);
      }
      if (thread.asleep) {
        const { at, strays, results } = thread;
        const ended = { at: at + 1, asleep: false };
        if (strays > 0)
          visit(awake(state, index, { ...ended, strays: strays - 1, results: [...results!, 'ok'] }), deaths);
        if (instruction.kind !== 'timedWait') return;
        moved = true;
        visit(awake(state, index, { ...ended, strays, results: [...results!, 'timed-out'] }), deaths);
        return;
      }
      moved = true;
      const next = advance(state, index, instruction);
      if (next === 'race') races = true;
      else visit(next, deaths);
    });
    if (!moved)
      ends.add(
        endOf(
          state.words,
          state.threads.map((t) => (t.asleep ? 'asleep' : t.results)),
        ),
      );
  };
  visit(
    {
      words: new Array(WORDS).fill(0),
      threads: program.map(() => ({ at: 0, results: [], asleep: false, strays: strayWakes })),
      queue: [],
      clocks: program.map((_, index) => none.map((_zero, other) => (other === index ? 1 : 0))),
      released: new Array(WORDS).fill(none),
      accesses: [],
    },
    kills,
  );
  return { ends, races };
}

/** The state with a thread replaced by one that does not sleep. */
const awake = (state: Naive, index: number, thread: Naive['threads'][number]): Naive => ({
  ...state,
  threads: state.threads.map((other, at) => (at === index ? thread : other)),
  queue: state.queue.filter((entry) => entry.thread !== index),
});

function advance(state: Naive, index: number, one: Instruction): Naive | 'race' {
  const words = [...state.words];
  const threads = state.threads.map((thread) => ({ ...thread }));
  const self = threads[index]!;
  const clocks = state.clocks.map((clock) => [...clock]);
  const released = [...state.released];
  let queue = [...state.queue];
  const old = words[one.word]!;
  let answer: unknown = old;
  let writes = false;
  switch (one.kind) {
    case 'store':
    case 'write':
      writes = true;
      words[one.word] = one.value;
      answer = one.kind === 'write' ? null : one.value;
      break;
    case 'add':
      writes = true;
      words[one.word] = old + one.value;
      break;
    case 'exchange':
      writes = true;
      words[one.word] = one.value;
      break;
    case 'cas':
      writes = old === one.expected;
      if (writes) words[one.word] = one.value;
      break;
    case 'notify': {
      const first = queue.find((entry) => entry.word === one.word);
      answer = first === undefined ? 0 : 1;
      if (first !== undefined) {
        queue = queue.filter((entry) => entry !== first);
        const woken = threads[first.thread]!;
        woken.asleep = false;
        woken.results = [...woken.results!, 'ok'];
        woken.at++;
        clocks[first.thread] = join(clocks[first.thread]!, clocks[index]!);
      }
      break;
    }
    case 'wait':
    case 'timedWait':
      answer = 'not-equal';
      break;
  }
  const accesses = [...state.accesses];
  if (one.kind !== 'notify') {
    const plain = one.kind === 'read' || one.kind === 'write';
    if (!plain && one.kind !== 'store') clocks[index] = join(clocks[index]!, released[one.word]!);
    const time = ++clocks[index]![index]!;
    const mine: Access = { thread: index, word: one.word, plain, writes, time };
    for (const other of accesses) {
      const conflict = other.word === mine.word && (other.writes || writes) && (other.plain || plain);
      if (conflict && other.thread !== index && clocks[index]![other.thread]! < other.time) return 'race';
    }
    accesses.push(mine);
    if (!plain && writes) released[one.word] = [...clocks[index]!];
  }
  if ((one.kind === 'wait' || one.kind === 'timedWait') && old === one.expected) {
    self.asleep = true;
    queue.push({ thread: index, word: one.word });
  } else {
    self.results = [...self.results!, answer];
    self.at++;
  }
  return { words, threads, queue, clocks, released, accesses };
}

const endOf = (words: readonly number[], results: readonly unknown[]): string =>
  JSON.stringify([words, results]);

/** All ends that the explorer finds, those in which a thread is left asleep included. */
function endsOf(program: Program, rest: Partial<Model>): { ends: Set<string>; kind: string | undefined } {
  const ends = new Set<string>();
  const report = explore({
    name: 'random program',
    words: WORDS,
    threads: program.map(threadOf),
    check: ({ words, results }) => {
      ends.add(endOf([...words], results));
      return undefined;
    },
    ...rest,
  });
  return { ends, kind: report.failure?.kind };
}

describe('against a plain enumeration of all interleavings', () => {
  it.each([
    ['', {}],
    [' in which threads are killed', { kills: 1 }],
    [' in which two threads are killed', { kills: 2 }],
    [' with stray wakes', { strayWakes: 1 }],
    [' with stray wakes, in which threads are killed', { strayWakes: 1, kills: 1 }],
  ])(
    'the explorer finds the same ends of random atomic programs%s, and the same deadlocks',
    (_what, surroundings) => {
      const random = new RandomNumbers(7);
      const verdicts = { stuck: 0, ends: 0 };
      for (let round = 0; round < 250; round++) {
        const program = randomProgram(random, false);
        const expected = enumerate(program, surroundings);
        const found = endsOf(program, surroundings);
        if ([...expected.ends].some((end) => end.includes('asleep'))) {
          verdicts.stuck++;
          expect(['deadlock', 'lost-wake'], JSON.stringify(program)).toContain(found.kind);
        } else {
          verdicts.ends++;
          expect(found.kind, JSON.stringify(program)).toBeUndefined();
          expect([...found.ends].sort(), JSON.stringify(program)).toEqual([...expected.ends].sort());
        }
      }
      expect(Math.min(verdicts.stuck, verdicts.ends)).toBeGreaterThan(20);
    },
  );

  it('a data race is found exactly where some interleaving has one', () => {
    const random = new RandomNumbers(11);
    const verdicts = { race: 0, none: 0 };
    for (let round = 0; round < 600; round++) {
      // Waits may end in a deadlock, which would be found in place of the race.
      const program = randomProgram(random, true).map((thread) =>
        thread.filter((one) => one.kind !== 'wait'),
      );
      const expected = enumerate(program);
      const { kind, ends } = endsOf(program, {});
      expect(kind, JSON.stringify(program)).toBe(expected.races ? 'race' : undefined);
      if (!expected.races) expect([...ends].sort()).toEqual([...expected.ends].sort());
      verdicts[expected.races ? 'race' : 'none']++;
    }
    expect(Math.min(verdicts.race, verdicts.none)).toBeGreaterThan(50);
  });
});
