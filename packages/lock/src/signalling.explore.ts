import type { LayoutLike } from '@heddle/explore';
import { defineModel, type End, type Model, type SimulatedThread } from '@heddle/explore';
import { AutoResetEvent, takeSet } from './auto-reset-event.js';
import { Barrier } from './barrier.js';
import { barrierLayout, ROUND_MASK, ROUND_SHIFT } from './barrier.layout.js';
import { BarrierSteps } from './barrier-steps.js';
import { autoResetEventLayout, manualResetEventLayout } from './event.layout.js';
import { ManualResetEvent, SeenSet } from './manual-reset-event.js';
import { Once } from './once.js';
import { onceLayout } from './once.layout.js';
import type { Placement } from './placement.js';
import { Semaphore, takePermit } from './semaphore.js';
import { semaphoreLayout } from './semaphore.layout.js';
import { type Attempt, StateWord } from './state-word.js';
import { TaskAttempt } from './task-attempt.js';
import { SLEEPER } from './word-flags.js';

/** The models of what threads tell each other: permits, events, barriers, what is done once. */

const place = ({ words, index, platform }: SimulatedThread): Placement => ({
  words,
  token: index + 1,
  platform,
});

/** Whether a call succeeded, rather than run out of time. */
function inTime(call: () => void): boolean {
  try {
    call();
    return true;
  } catch (error) {
    if ((error as { code?: string }).code === 'ERR_HEDDLE_TIMED_OUT') return false;
    throw error;
  }
}

/** A task's wait, driven as the shell of promises drives it. Whether it succeeded. */
function asTask(
  thread: SimulatedThread,
  layout: LayoutLike & { readonly offsets: { readonly state: number; readonly taskGate: number } },
  attempt: Attempt<unknown>,
  options: { readonly timeoutMs?: number; readonly abortable?: boolean } = {},
): boolean {
  const { state, taskGate } = layout.offsets;
  const steps = new TaskAttempt(new StateWord(thread.words, state, taskGate, thread.platform), attempt);
  const outcome = thread.drive(
    {
      begin: () => steps.begin(),
      onWake: () => steps.onWake(),
      onTimeout: () => steps.onTimeout(),
      onAbort: () => ({ done: true, value: null }),
    },
    { ...options, leavesEntry: false },
  );
  return outcome !== null;
}

const semaphore = (thread: SimulatedThread) => new Semaphore(place(thread));
const acquire = (thread: SimulatedThread) => {
  semaphore(thread).acquire();
  return 1;
};
/** Takes a permit and gives it back, so that nobody else goes short of it. */
const borrow = (timeout?: number) => (thread: SimulatedThread) => {
  const permits = semaphore(thread);
  if (inTime(() => permits.acquire({ timeout }))) permits.release();
};
const borrowAsTask = (options: { timeoutMs?: number; abortable?: boolean }) => (thread: SimulatedThread) => {
  if (asTask(thread, semaphoreLayout, takePermit, options)) semaphore(thread).release();
};
const release =
  (...counts: number[]) =>
  (thread: SimulatedThread) => {
    const permits = semaphore(thread);
    for (const count of counts) permits.release(count);
  };
const permitsLeft = (expected: number) => (end: End) => {
  const left = new Semaphore({ words: end.words, token: 100 }).available;
  return left === expected ? undefined : `${left} permits left, not ${expected}`;
};
const semaphoreBase = {
  layout: semaphoreLayout,
  init: (words: Int32Array) => {
    words[semaphoreLayout.offsets.most] = 8;
  },
  strayWakes: 1,
} as const;

const semaphoreModels: Model[] = [
  defineModel({
    ...semaphoreBase,
    name: 'semaphore: two permits at once wake two threads',
    threads: [acquire, acquire, release(2)],
    conserve: permitsLeft(0),
  }),
  defineModel({
    ...semaphoreBase,
    name: 'semaphore: two releases wake two threads',
    threads: [acquire, acquire, release(1, 1)],
    conserve: permitsLeft(0),
  }),
  defineModel({
    ...semaphoreBase,
    name: 'semaphore: a waiter that runs out of time takes neither permit nor wake',
    threads: [acquire, borrow(5), release(1)],
    conserve: permitsLeft(0),
  }),
  defineModel({
    ...semaphoreBase,
    name: 'semaphore: a task that is aborted takes neither permit nor wake',
    threads: [borrow(), borrowAsTask({ abortable: true }), release(1)],
    conserve: permitsLeft(1),
  }),
  defineModel({
    ...semaphoreBase,
    name: 'semaphore: tasks that run out of time, and one that does not',
    threads: [borrowAsTask({ timeoutMs: 5 }), borrowAsTask({}), release(1)],
    conserve: permitsLeft(1),
  }),
  defineModel({
    ...semaphoreBase,
    name: 'semaphore: a waiter that dies takes no wake',
    threads: [acquire, borrow(), release(1, 1)],
    strayWakes: 0,
    kills: 1,
    killable: [1],
    recover: (thread) => semaphore(thread).recover(),
  }),
  defineModel({
    ...semaphoreBase,
    name: 'semaphore: a task that dies takes no wake',
    threads: [acquire, borrowAsTask({}), release(1, 1)],
    strayWakes: 0,
    kills: 1,
    killable: [1],
    recover: (thread) => semaphore(thread).recover(),
  }),
  defineModel({
    ...semaphoreBase,
    name: 'semaphore: the death of who releases, at every step',
    threads: [acquire, acquire, release(2)],
    strayWakes: 0,
    kills: 1,
    killable: [2],
    recover: (thread) => {
      semaphore(thread).recover();
      semaphore(thread).release(2);
    },
    check: ({ results }) =>
      results[0] === 1 && results[1] === 1 ? undefined : 'A thread did not get its permit',
  }),
];

const auto = (thread: SimulatedThread) => new AutoResetEvent(place(thread));
const passOn = (timeout?: number) => (thread: SimulatedThread) => {
  const event = auto(thread);
  if (event.wait({ timeout })) event.set();
};
const passOnAsTask = (options: { timeoutMs?: number; abortable?: boolean }) => (thread: SimulatedThread) => {
  if (asTask(thread, autoResetEventLayout, takeSet, options)) auto(thread).set();
};
const setAuto = (thread: SimulatedThread) => auto(thread).set();
const stillSet = (end: End) =>
  new AutoResetEvent({ words: end.words, token: 100 }).isSet ? undefined : 'The pass is gone';
const autoBase = { layout: autoResetEventLayout, strayWakes: 1, conserve: stillSet } as const;

const autoModels: Model[] = [
  defineModel({
    ...autoBase,
    name: 'auto-reset event: the pass goes round',
    threads: [passOn(), passOn(), setAuto],
  }),
  defineModel({
    ...autoBase,
    name: 'auto-reset event: a waiter that runs out of time does not keep the pass',
    threads: [passOn(), passOn(5), setAuto],
  }),
  defineModel({
    ...autoBase,
    name: 'auto-reset event: an aborted task does not keep the pass',
    threads: [passOn(), passOnAsTask({ abortable: true }), setAuto],
  }),
  defineModel({
    ...autoBase,
    name: 'auto-reset event: a task that runs out of time does not keep the pass',
    threads: [passOnAsTask({}), passOnAsTask({ timeoutMs: 5 }), setAuto],
    strayWakes: 0,
  }),
  defineModel({
    ...autoBase,
    name: 'auto-reset event: a death at every step',
    threads: [passOn(), passOn(), setAuto],
    strayWakes: 0,
    kills: 1,
    recover: (thread) => {
      auto(thread).recover();
      auto(thread).set();
    },
  }),
];

const manual = (thread: SimulatedThread) => new ManualResetEvent(place(thread));
const waitManual = (thread: SimulatedThread) => manual(thread).wait();
const manualBase = { layout: manualResetEventLayout, strayWakes: 1 } as const;

const manualModels: Model[] = [
  defineModel({
    ...manualBase,
    name: 'manual-reset event: a set lets everyone pass',
    threads: [
      waitManual,
      waitManual,
      (thread) => asTask(thread, manualResetEventLayout, new SeenSet()),
      (thread) => manual(thread).set(),
    ],
    strayWakes: 0,
  }),
  defineModel({
    ...manualBase,
    name: 'manual-reset event: who waits when it is set passes, though it is reset at once',
    threads: [
      waitManual,
      (thread) => {
        const event = manual(thread);
        const waits =
          (thread.atomics.load(thread.words, manualResetEventLayout.offsets.state) & SLEEPER) !== 0;
        event.set();
        if (waits) event.reset();
      },
    ],
  }),
  defineModel({
    ...manualBase,
    name: 'manual-reset event: a reset takes nobody’s wake',
    threads: [
      waitManual,
      waitManual,
      (thread) => {
        manual(thread).reset();
        manual(thread).set();
      },
    ],
  }),
  defineModel({
    ...manualBase,
    name: 'manual-reset event: a death at every step',
    threads: [waitManual, waitManual, (thread) => manual(thread).set()],
    strayWakes: 0,
    kills: 1,
    recover: (thread) => {
      manual(thread).recover();
      manual(thread).set();
    },
  }),
];

const SEEN = barrierLayout.wordCount;
const barrierBase = (partyCount: number) => ({
  layout: barrierLayout,
  words: SEEN + 4,
  names: { seen: [SEEN, 4] as const },
  init: (words: Int32Array) => {
    words[barrierLayout.offsets.parties] = partyCount;
    for (let i = 0; i < partyCount; i++) words[barrierLayout.offsets.members + i] = i + 1;
  },
});
/** Says that it is there, with plain writes, and sees that everyone has got there. */
const meet =
  (partyCount: number, wait: (barrier: Barrier) => unknown = (barrier) => barrier.wait()) =>
  (thread: SimulatedThread) => {
    thread.words[SEEN + thread.index] = 1;
    const outcome = wait(new Barrier(place(thread)));
    for (let i = 0; i < partyCount; i++) {
      if (thread.words[SEEN + i] !== 1) throw new Error(`Thread ${i} has not come`);
    }
    return outcome === 'last' ? 1 : 0;
  };
/** The same round after round, so that a fast thread meets one that has not left the last round. */
const meetAgain = (count: number) => (thread: SimulatedThread) => {
  const { atomics, words, index } = thread;
  const barrier = new Barrier(place(thread));
  let last = 0;
  for (let round = 1; round <= count; round++) {
    atomics.store(words, SEEN + index, round);
    if (barrier.wait() === 'last') last++;
    if (atomics.load(words, SEEN + 1 - index) < round) throw new Error(`The other has not come to ${round}`);
  }
  return last;
};
const oneLast = (expected: number) => (end: End) => {
  const total = end.results.reduce<number>((sum, last) => sum + Number(last), 0);
  return total === expected ? undefined : `${total} threads were the last of ${expected} rounds`;
};
const broken = (call: () => unknown) => {
  try {
    return call();
  } catch (error) {
    if ((error as { code?: string }).code === 'ERR_HEDDLE_POISONED') return 'broken';
    throw error;
  }
};

const barrierModels: Model[] = [
  defineModel({
    ...barrierBase(2),
    name: 'barrier: two threads, round after round (LK-11)',
    threads: [meetAgain(2), meetAgain(2)],
    deep: { threads: [meetAgain(3), meetAgain(3)] },
    strayWakes: 1,
    check: oneLast(2),
  }),
  defineModel({
    ...barrierBase(3),
    name: 'barrier: three threads (LK-03)',
    threads: [meet(3), meet(3), meet(3)],
    strayWakes: 1,
    check: oneLast(1),
  }),
  defineModel({
    ...barrierBase(2),
    name: 'barrier: an arrival that is taken back',
    threads: [
      meet(2),
      meet(2, (barrier) => {
        let outcome: unknown;
        return inTime(() => {
          outcome = barrier.wait({ timeout: 5 });
        })
          ? outcome
          : barrier.wait();
      }),
    ],
    strayWakes: 1,
    check: oneLast(1),
  }),
  defineModel({
    ...barrierBase(2),
    name: 'barrier: a task that is aborted, and comes again',
    threads: [
      (thread) => new Barrier(place(thread)).wait(),
      (thread) => {
        const { state, taskGate } = barrierLayout.offsets;
        const word = new StateWord(thread.words, state, taskGate, thread.platform);
        const steps = new BarrierSteps(word, 2, true);
        const outcome = thread.drive(
          {
            begin: () => steps.begin(),
            onWake: () => steps.onWake(),
            onTimeout: () => steps.onTimeout(),
            onAbort: () => {
              steps.onAbort();
              return { done: true, value: null };
            },
          },
          { abortable: true, leavesEntry: false },
        );
        // Where the round was over, the other one has passed, and there is nobody to meet.
        const over = ((thread.atomics.load(thread.words, state) >>> ROUND_SHIFT) & ROUND_MASK) !== 0;
        return outcome ?? (over ? 'released' : new Barrier(place(thread)).wait());
      },
    ],
  }),
  defineModel({
    ...barrierBase(3),
    name: 'barrier: a death at every step breaks it, and nobody hangs',
    threads: [0, 1, 2].map(
      () => (thread: SimulatedThread) => broken(() => new Barrier(place(thread)).wait()),
    ),
    kills: 1,
    killable: [0],
    recover: (thread, dead) => new Barrier(place(thread)).recover(dead + 1),
  }),
];

const RUNS = onceLayout.wordCount;
const runOnce =
  (fails = false) =>
  (thread: SimulatedThread) => {
    const once = new Once(place(thread));
    let interrupted = 0;
    try {
      once.run((run) => {
        if (run.interrupted) interrupted = 1;
        thread.words[RUNS] = thread.words[RUNS]! + 1;
        if (fails) throw new RangeError('body');
      });
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      return -1;
    }
    if (thread.words[RUNS] === 0) throw new Error('It is done, and the work is not to be seen');
    return interrupted;
  };
const onceBase = { layout: onceLayout, words: RUNS + 1, names: { runs: RUNS } } as const;

const onceModels: Model[] = [
  defineModel({
    ...onceBase,
    name: 'once: three threads, and one of them runs it',
    threads: [runOnce(), runOnce(), runOnce()],
    strayWakes: 1,
    check: ({ words }) => (words[RUNS] === 1 ? undefined : `It was run ${words[RUNS]} times`),
  }),
  defineModel({
    ...onceBase,
    name: 'once: a run that throws is as if it had not begun',
    threads: [runOnce(true), runOnce(), runOnce()],
    strayWakes: 1,
    check: ({ words, results }) =>
      words[RUNS] === (results[0] === -1 ? 2 : 1) ? undefined : `It was run ${words[RUNS]} times`,
  }),
  defineModel({
    ...onceBase,
    name: 'once: a death at every step',
    threads: [runOnce(), runOnce(), runOnce()],
    kills: 1,
    killable: [0],
    recover: (thread, dead) => new Once(place(thread)).recover(dead + 1),
    check: ({ words, dead, results }) => {
      const interruptions = Number(results[1]) + Number(results[2]);
      if (interruptions > (dead[0] ? 1 : 0)) return 'Told of a death that was none';
      return words[RUNS]! > 1 + interruptions ? `It was run ${words[RUNS]} times` : undefined;
    },
  }),
];

export const models = [...semaphoreModels, ...autoModels, ...manualModels, ...barrierModels, ...onceModels];
