import { defineModel, type End, type Model, type SimulatedThread } from '@heddle/explore';
import { type Platform, WORD_BYTES } from '@heddle/memory';
import type { Lock, LockOutcome } from './lock.js';
import { mcsByteLength, mcsLockLayout } from './mcs-lock.layout.js';
import { mutexLayout } from './mutex.layout.js';
import { RawMcsLock, RawTicketLock } from './raw-line-locks.js';
import { RawMutex } from './raw-mutex.js';
import { RawRecursiveMutex } from './raw-recursive-mutex.js';
import { RawSpinLock } from './raw-spin-lock.js';
import { recursiveMutexLayout } from './recursive-mutex.layout.js';
import { spinLockLayout } from './spin-lock.layout.js';
import type { StateWord } from './state-word.js';
import { ticketLockLayout } from './ticket-lock.layout.js';
import { TurnSpin } from './turn-spin.js';

/**
 * The models that every kind of mutual exclusion has to pass. Threads count in a plain word under the lock, so
 * that a missing happens-before edge is a race as well as a wrong count.
 */

interface Subject {
  readonly kind: string;
  readonly layout: Model['layout'] & { readonly wordCount: number };
  /** As thread `token` uses it; over simulated words, or over the real ones of an end. */
  readonly over: (words: Int32Array, token: number, platform?: Platform) => Lock;
}

/** A spin whose one look is a step of its own, between the mark RESERVED and the sleep. */
class OneLook extends TurnSpin {
  override isDue(): boolean {
    return true;
  }

  override seesChange({ atomics, words }: StateWord, index: number, expected: number): boolean {
    return atomics.load(words, index) !== expected;
  }
}

function create(subject: Subject, { words, index, platform }: SimulatedThread): Lock {
  return subject.over(words, index + 1, platform);
}

const mutex: Subject = {
  kind: 'mutex',
  layout: mutexLayout,
  // No looks before parking: they change nothing but time, and the state space is smaller.
  over: (words, token, platform) => new RawMutex(words, token, platform, 0),
};

const spinLock: Subject = {
  kind: 'spinlock',
  layout: spinLockLayout,
  over: (words, token, platform) => new RawSpinLock(words, token, platform, 0),
};

const recursive: Subject = {
  kind: 'recursive-mutex',
  layout: recursiveMutexLayout,
  over: (words, token, platform) => new RawRecursiveMutex(words, token, platform, 0),
};

/** As few places as a model needs are looked at; what the layout has beyond costs states no time. */
const ticket: Subject = {
  kind: 'ticket',
  layout: ticketLockLayout,
  over: (words, token, platform) => new RawTicketLock(words, token, platform, new TurnSpin(0)),
};

const MCS_NODES = 6;
const mcs: Subject = {
  kind: 'mcs',
  layout: { ...mcsLockLayout, wordCount: mcsByteLength(MCS_NODES) / WORD_BYTES },
  // A check at the end has no node of its own: it only tries.
  over: (words, token, platform) => new RawMcsLock(mcsWords(words), token, platform, new TurnSpin(0)),
};

const mcsWords = (words: Int32Array) => words.subarray(0, mcsByteLength(MCS_NODES) / WORD_BYTES);

const looking: readonly Subject[] = [
  { ...ticket, over: (words, token, platform) => new RawTicketLock(words, token, platform, new OneLook()) },
  {
    ...mcs,
    over: (words, token, platform) => new RawMcsLock(mcsWords(words), token, platform, new OneLook()),
  },
];

const SUBJECTS: readonly Subject[] = [mutex, spinLock, ticket, mcs];

/** Counts deaths that an owner was told of, and sections done. */
function section(subject: Subject, words: Int32Array): void {
  const counter = subject.layout.wordCount;
  words[counter] = words[counter]! + 1;
}

function deaths(subject: Subject, words: Int32Array, lock: Lock, outcome: LockOutcome): void {
  const told = subject.layout.wordCount + 1;
  if (outcome !== 'owner-died') return;
  words[told] = words[told]! + 1;
  lock.markConsistent();
}

function blocking(subject: Subject, rounds = 1) {
  return (thread: SimulatedThread) => {
    const lock = create(subject, thread);
    for (let round = 0; round < rounds; round++) {
      deaths(subject, thread.words, lock, lock.lock());
      section(subject, thread.words);
      lock.unlock();
    }
    return rounds;
  };
}

function timed(subject: Subject) {
  return (thread: SimulatedThread) => {
    const lock = create(subject, thread);
    try {
      deaths(subject, thread.words, lock, lock.lock(5));
    } catch (error) {
      if ((error as { code?: string }).code !== 'ERR_HEDDLE_TIMED_OUT') throw error;
      return 0;
    }
    section(subject, thread.words);
    lock.unlock();
    return 1;
  };
}

function trying(subject: Subject) {
  return (thread: SimulatedThread) => {
    const lock = create(subject, thread);
    const outcome = lock.tryLock();
    if (outcome === null) return 0;
    deaths(subject, thread.words, lock, outcome);
    section(subject, thread.words);
    lock.unlock();
    return 1;
  };
}

/** Takes the lock, and gives it back without a word when its owner died. */
function careless(subject: Subject) {
  return (thread: SimulatedThread) => {
    const lock = create(subject, thread);
    try {
      lock.lock();
    } catch (error) {
      if ((error as { code?: string }).code !== 'ERR_HEDDLE_POISONED') throw error;
      return 'poisoned';
    }
    lock.unlock();
    return 'acquired';
  };
}

/** A task that may be given up: its steps, driven as the shell of promises drives them. */
function task(subject: Subject, options: { timeoutMs?: number; abortable?: boolean } = {}) {
  return (thread: SimulatedThread) => {
    const lock = create(subject, thread);
    const steps = lock.taskSteps();
    const outcome = thread.drive(
      {
        begin: () => steps.begin(),
        onWake: () => steps.onWake(),
        onTimeout: () => steps.onTimeout(),
        onAbort: () => {
          steps.onAbort();
          return { done: true, value: null } as const;
        },
      },
      // The shell takes the entry off the engine's list by notifying everyone on the word.
      { ...options, leavesEntry: false },
    );
    if (outcome === null) return 0;
    deaths(subject, thread.words, lock, outcome);
    section(subject, thread.words);
    lock.unlockTask();
    return 1;
  };
}

function baseOf(subject: Subject) {
  const { layout } = subject;
  const names = { counter: layout.wordCount, told: layout.wordCount + 1 };
  return {
    words: layout.wordCount + 2,
    layout,
    names,
    strayWakes: 1,
    check: ({ words: end, results, dead }: End) => {
      const sections = results.reduce<number>((sum, result) => sum + Number(result ?? 0), 0);
      const deathCount = dead.filter(Boolean).length;
      const counted = end[names.counter]!;
      if (counted < sections || (deathCount === 0 && counted > sections)) {
        return `${counted} sections counted of ${sections}`;
      }
      const outcome = subject.over(end, 100).tryLock();
      if (outcome === null) return 'The lock is held at the end';
      const told = end[names.told]! + (outcome === 'owner-died' ? 1 : 0);
      return told > deathCount ? `${told} owners told of ${deathCount} deaths` : undefined;
    },
  } as const;
}

/** What a thread does that recovers thread `dead`. */
function recovery(subject: Subject) {
  return (thread: SimulatedThread, dead: number) => create(subject, thread).recover(dead + 1);
}

/** Most preemptions in the quick size of a model, by kind. */
type Bounds = Partial<Record<'mutex' | 'spinlock' | 'ticket' | 'mcs', number>>;
/** The lines of the first-come locks make the most states. */
const LINES: Bounds = { ticket: 2, mcs: 2 };

function modelsOf(subject: Subject): Model[] {
  const { kind } = subject;
  const base = baseOf(subject);
  const recover = recovery(subject);
  // The quick size is complete but where it is given a bound: there the states are too many for some seconds.
  const sized = (bounds: Bounds, deep: Model['deep'] = {}): Pick<Model, 'search' | 'deep'> => {
    const preemptions = bounds[kind as keyof Bounds];
    const all = { ...deep, search: { maxStates: 200_000_000, ...deep.search } };
    return preemptions === undefined ? { deep } : { search: { preemptions }, deep: all };
  };
  return [
    defineModel({
      ...base,
      name: `${kind}: three threads (LK-05)`,
      threads: [blocking(subject), blocking(subject), blocking(subject)],
      ...sized(LINES),
    }),
    defineModel({
      ...base,
      name: `${kind}: two threads, every schedule`,
      threads: [blocking(subject), blocking(subject)],
    }),
    defineModel({
      ...base,
      name: `${kind}: a death at every step of two threads, every schedule`,
      threads: [blocking(subject), blocking(subject)],
      strayWakes: 0,
      kills: 1,
      recover,
    }),
    defineModel({
      ...base,
      name: `${kind}: a thread and one that runs out of time, every schedule`,
      threads: [blocking(subject), timed(subject)],
      strayWakes: 0,
    }),
    defineModel({
      ...base,
      name: `${kind}: two threads, twice each, a clock that jumps`,
      threads: [blocking(subject, 2), blocking(subject, 2)],
      clockJumps: [2],
      strayWakes: 0,
      ...sized({ ticket: 2 }, { strayWakes: 1, maxClockJumps: 2 }),
    }),
    defineModel({
      ...base,
      name: `${kind}: a timed one among three`,
      threads: [blocking(subject), timed(subject), blocking(subject)],
      ...sized(LINES),
    }),
    defineModel({
      ...base,
      name: `${kind}: two timed ones`,
      threads: [blocking(subject), timed(subject), timed(subject)],
      strayWakes: 0,
      ...sized(LINES, { clockJumps: [2] }),
    }),
    defineModel({
      ...base,
      name: `${kind}: a try among three`,
      threads: [blocking(subject), trying(subject), blocking(subject)],
      ...sized({ ticket: 2 }),
    }),
    defineModel({
      ...base,
      name: `${kind}: a task and two threads`,
      threads: [blocking(subject), task(subject), blocking(subject)],
      strayWakes: 0,
      clockJumps: [2],
      ...sized(LINES),
    }),
    defineModel({
      ...base,
      name: `${kind}: tasks that are given up and a thread`,
      threads: [blocking(subject), task(subject, { timeoutMs: 5 }), task(subject, { abortable: true })],
      strayWakes: 0,
      ...sized(LINES),
    }),
    defineModel({
      ...base,
      name: `${kind}: a death at every step of three threads`,
      threads: [blocking(subject), blocking(subject), blocking(subject)],
      strayWakes: 0,
      kills: 1,
      // The threads are alike, so the death of one stands for all.
      killable: [0],
      recover,
      ...sized({ mutex: 4, ...LINES }, { killable: [0, 1, 2] }),
    }),
    defineModel({
      ...base,
      name: `${kind}: a death at every step, and nobody who makes the data good`,
      threads: [blocking(subject), careless(subject), careless(subject)],
      strayWakes: 0,
      kills: 1,
      killable: [0],
      recover,
      check: ({ results, dead }) =>
        !dead[0] && results.includes('poisoned') ? 'Poisoned although nobody died' : undefined,
      ...sized({ mutex: 4, ...LINES }),
    }),
    defineModel({
      ...base,
      name: `${kind}: without recovery the others hang`,
      threads: [blocking(subject), blocking(subject)],
      kills: 1,
      killable: [0],
      expect: { fail: ['deadlock', 'lost-wake'] },
    }),
    defineModel({
      ...base,
      name: `${kind}: a death at every step, timed`,
      threads: [blocking(subject), timed(subject)],
      kills: 1,
      recover,
      clockJumps: [2],
    }),
    defineModel({
      ...base,
      name: `${kind}: a death at every step, with a task`,
      threads: [blocking(subject), task(subject)],
      kills: 1,
      recover,
      clockJumps: [2],
    }),
    defineModel({
      ...base,
      name: `${kind}: two deaths, the recovering thread's included`,
      threads: [blocking(subject), blocking(subject)],
      strayWakes: 0,
      kills: 2,
      recover,
      ...sized({ ticket: 2 }),
    }),
  ];
}

/** What the recursive mutex adds to the mutex: a thread that has it twice, and dies at every step of that. */
const twice = (thread: SimulatedThread) => {
  const lock = create(recursive, thread);
  deaths(recursive, thread.words, lock, lock.lock());
  lock.lock();
  section(recursive, thread.words);
  lock.unlock();
  lock.unlock();
  return 1;
};
const recursiveModels = [
  defineModel({
    ...baseOf(recursive),
    name: 'recursive-mutex: a death at every step of two threads that have it twice',
    threads: [twice, twice],
    kills: 1,
    recover: recovery(recursive),
  }),
];

const lookingModels = looking.map((subject) =>
  defineModel({
    ...baseOf(subject),
    name: `${subject.kind}: a death at every step of two threads that look before they sleep`,
    threads: [blocking(subject), blocking(subject)],
    strayWakes: 0,
    kills: 1,
    recover: recovery(subject),
  }),
);

export const models = [...SUBJECTS.flatMap(modelsOf), ...recursiveModels, ...lookingModels];
