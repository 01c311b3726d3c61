import { defineModel, type End, type SimulatedThread } from '@heddle/explore';
import type { Lock } from './lock.js';
import { RawReadLock } from './raw-read-lock.js';
import { RawWriteLock } from './raw-write-lock.js';
import { LINE_WORDS, rwLockLayout } from './rw-lock.layout.js';

/** Two plain words that a writer changes together and readers compare: a missing edge is a race, too. */

const THREADS = 5;
const LEFT = rwLockLayout.wordCount + THREADS * LINE_WORDS;
const RIGHT = LEFT + 1;
const TOLD = LEFT + 2;

const lineNames = Object.fromEntries(
  Array.from({ length: THREADS }, (_, i) => [`line${i}`, [rwLockLayout.wordCount + i * LINE_WORDS, 2]]),
) as Record<string, readonly [number, number]>;

const reader = ({ words, index, platform }: SimulatedThread) =>
  new RawReadLock(words, index + 1, platform, 0);
const writer = ({ words, index, platform }: SimulatedThread) =>
  new RawWriteLock(words, index + 1, platform, 0);

function look({ words }: SimulatedThread, outcome: string): void {
  if (outcome === 'acquired' && words[LEFT] !== words[RIGHT]) throw new Error('Half a change is to be seen');
}

function change({ words }: SimulatedThread, lock: Lock, outcome: string): void {
  if (outcome === 'owner-died') {
    words[TOLD] = words[TOLD]! + 1;
    words[RIGHT] = words[LEFT]!;
    lock.markConsistent();
  }
  words[LEFT] = words[LEFT]! + 1;
  words[RIGHT] = words[RIGHT]! + 1;
}

const read = (thread: SimulatedThread) => {
  const lock = reader(thread);
  look(thread, lock.lock());
  lock.unlock();
};

const write = (thread: SimulatedThread) => {
  const lock = writer(thread);
  change(thread, lock, lock.lock());
  lock.unlock();
  return 1;
};

const timed =
  (
    make: (thread: SimulatedThread) => Lock,
    use: (thread: SimulatedThread, lock: Lock, outcome: string) => void,
  ) =>
  (thread: SimulatedThread) => {
    const lock = make(thread);
    let outcome: string;
    try {
      outcome = lock.lock(5);
    } catch (error) {
      if ((error as { code?: string }).code === 'ERR_HEDDLE_TIMED_OUT') return 0;
      throw error;
    }
    use(thread, lock, outcome);
    lock.unlock();
    return 1;
  };
const timedRead = timed(reader, (thread, _lock, outcome) => look(thread, outcome));
const timedWrite = timed(writer, change);

const asTask =
  (
    make: (thread: SimulatedThread) => Lock,
    use: (thread: SimulatedThread, lock: Lock, outcome: string) => void,
    options: { readonly abortable?: boolean; readonly timeoutMs?: number } = {},
  ) =>
  (thread: SimulatedThread) => {
    const lock = make(thread);
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
      { ...options, leavesEntry: false },
    );
    if (outcome === null) return 0;
    use(thread, lock, outcome);
    lock.unlockTask();
    return 1;
  };

const tried = (make: (thread: SimulatedThread) => Lock, use: typeof change) => (thread: SimulatedThread) => {
  const lock = make(thread);
  const outcome = lock.tryLock();
  if (outcome === null) return 0;
  use(thread, lock, outcome);
  lock.unlock();
  return 1;
};

const base = {
  layout: rwLockLayout,
  words: LEFT + 3,
  names: { ...lineNames, left: LEFT, right: RIGHT, told: TOLD },
  init: (words: Int32Array) => {
    words[rwLockLayout.offsets.readers] = THREADS;
  },
  check: ({ words, results, dead }: End) => {
    const changes = results.reduce<number>((sum, result) => sum + Number(result ?? 0), 0);
    if (words[TOLD]! > dead.filter(Boolean).length) return `${words[TOLD]} writers told`;
    if (!dead.some(Boolean) && words[LEFT] !== changes) return `${words[LEFT]} changes of ${changes}`;
    const lock = new RawWriteLock(words, THREADS);
    return lock.tryLock() === null ? 'The lock is held at the end' : undefined;
  },
};

const fewLines = {
  ...base,
  init: (words: Int32Array) => {
    words[rwLockLayout.offsets.readers] = 2;
  },
};

/** Where the first thread is the only one that reads. */
const oneLine = {
  ...base,
  init: (words: Int32Array) => {
    words[rwLockLayout.offsets.readers] = 1;
  },
};

const recover = (thread: SimulatedThread, dead: number) => writer(thread).recover(dead + 1);

export const models = [
  defineModel({ ...fewLines, name: 'rwlock: a reader and a writer', threads: [read, write], strayWakes: 1 }),
  defineModel({ ...fewLines, name: 'rwlock: two writers', threads: [write, write], strayWakes: 1 }),
  defineModel({
    ...fewLines,
    name: 'rwlock: two readers and a writer',
    threads: [read, read, write],
  }),
  defineModel({
    ...oneLine,
    name: 'rwlock: a reader and two writers',
    threads: [read, write, write],
  }),
  defineModel({
    ...fewLines,
    name: 'rwlock: a reader that runs out of time',
    threads: [timedRead, write],
    strayWakes: 1,
    check: () => undefined,
  }),
  defineModel({
    ...fewLines,
    name: 'rwlock: a writer that runs out of time keeps nobody out',
    threads: [read, timedWrite],
    strayWakes: 1,
  }),
  defineModel({
    ...oneLine,
    name: 'rwlock: a writer that runs out of time between a reader and a writer',
    threads: [read, timedWrite, write],
  }),
  defineModel({
    ...fewLines,
    name: 'rwlock: tries',
    threads: [tried(reader, () => {}), tried(writer, change), write],
    check: () => undefined,
  }),
  defineModel({
    ...fewLines,
    name: 'rwlock: tasks that read and write, and may be aborted',
    threads: [
      asTask(reader, (thread, _lock, outcome) => look(thread, outcome), { abortable: true }),
      asTask(writer, change, { abortable: true }),
    ],
    strayWakes: 1,
    check: () => undefined,
  }),
  defineModel({
    ...fewLines,
    name: 'rwlock: a task that may be aborted while it wants to write, and a reader',
    threads: [read, asTask(writer, change, { abortable: true })],
    strayWakes: 1,
  }),
  defineModel({
    ...fewLines,
    name: 'rwlock: the death of a reader or a writer, at every step',
    threads: [read, write],
    kills: 1,
    recover,
  }),
  defineModel({
    ...fewLines,
    name: 'rwlock: the death of a task that reads, or of a writer, at every step',
    threads: [asTask(reader, (thread, _lock, outcome) => look(thread, outcome)), write],
    kills: 1,
    recover,
    clockJumps: [2],
    check: () => undefined,
  }),
  defineModel({
    ...oneLine,
    name: 'rwlock: a task that reads, and a writer who steps aside',
    threads: [
      asTask(reader, (thread, _lock, outcome) => look(thread, outcome), { timeoutMs: 5 }),
      write,
      write,
    ],
    clockJumps: [2],
    check: () => undefined,
  }),
  defineModel({
    ...fewLines,
    name: 'rwlock: two deaths, the recovering thread’s included',
    threads: [read, write],
    kills: 2,
    recover,
  }),
  defineModel({
    ...oneLine,
    name: 'rwlock: the death of a writer among a reader and a writer',
    threads: [read, write, write],
    kills: 1,
    killable: [1],
    recover,
    // Three threads and the one that recovers, two of them writers that wait in line: more than 30 million states.
    search: { preemptions: 3 },
    deep: { search: { preemptions: 5 } },
  }),
  defineModel({
    ...fewLines,
    name: 'rwlock: without recovery a dead reader keeps the writer out',
    threads: [read, write],
    kills: 1,
    killable: [0],
    expect: { fail: ['deadlock', 'lost-wake'] },
  }),
];
