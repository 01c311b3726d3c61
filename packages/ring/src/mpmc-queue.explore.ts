import { defineModel, type End, type SimulatedThread } from '@heddle/explore';
import { HeddleError, runBlocking } from '@heddle/memory';
import { GateSteps } from './gate.js';
import { MpmcCells } from './mpmc-cells.js';
import { MpmcQueue } from './mpmc-queue.js';
import {
  CELL,
  CELL_STATE,
  cellAt,
  cellState,
  mpmcByteLength,
  mpmcQueueLayout,
  packCell,
} from './mpmc-queue.layout.js';

const CAPACITY = 2;
const WORDS = mpmcByteLength(CAPACITY) / 4;
const { tail, head } = mpmcQueueLayout.offsets;

/** Three threads: the quick run switches away from a thread that could go on three times, the deep one more often. */
const bounded = {
  search: { preemptions: 3 },
  deep: { search: { preemptions: 5, maxMs: 300_000 } },
} as const;

const queue = {
  layout: mpmcQueueLayout,
  names: { cells: [cellAt(0), WORDS - cellAt(0)] as const },
  words: WORDS,
  init: (words: Int32Array) => MpmcQueue.initialise(words, CAPACITY),
};

/** After 2^31 - 1 numbers: the next one is the last before the sequence wraps, and laps wrap with it. */
const wrapping = {
  ...queue,
  init: (words: Int32Array) => {
    MpmcQueue.initialise(words, CAPACITY);
    words[tail] = words[head] = -2;
    words[cellAt(1) + CELL_STATE] = packCell(CELL.free, 2 ** 19 - 1);
  },
};

const cellsOf = (thread: SimulatedThread, token: number) =>
  new MpmcCells(thread.words, token, thread.platform.atomics);
const isClosed = (error: unknown) => error instanceof HeddleError && error.code === 'ERR_HEDDLE_CLOSED';

/** Puts numbers in, blocking. Answers how many. */
const put =
  (token: number, values: readonly number[]) =>
  (thread: SimulatedThread): number => {
    const cells = cellsOf(thread, token);
    let count = 0;
    try {
      for (const value of values) {
        const steps = new GateSteps(cells.room, () => cells.put(value));
        runBlocking(steps, thread.words, thread.platform);
        count++;
      }
    } catch (error) {
      if (!isClosed(error)) throw error;
    }
    return count;
  };

/** Takes numbers, blocking, `count` or to the end. */
const take =
  (token: number, count = Number.POSITIVE_INFINITY) =>
  (thread: SimulatedThread): number[] => {
    const cells = cellsOf(thread, token);
    const taken: number[] = [];
    try {
      while (taken.length < count) {
        let next: number | undefined;
        const steps = new GateSteps(cells.items, () => {
          next = cells.take();
          return next !== undefined;
        });
        runBlocking(steps, thread.words, thread.platform);
        taken.push(next!);
      }
    } catch (error) {
      if (!isClosed(error)) throw error;
    }
    return taken;
  };

const close =
  (token: number) =>
  (thread: SimulatedThread): void =>
    cellsOf(thread, token).close();

const recover = (token: number) => (thread: SimulatedThread) => cellsOf(thread, token).recover(token);

const sorted = (...parts: readonly unknown[]) => (parts.flat() as number[]).sort((a, b) => a - b).join();

const noWriting = ({ words }: End) =>
  [0, 1].some((index) => cellState(words[cellAt(index) + CELL_STATE]!) === CELL.writing)
    ? 'a cell is being written'
    : undefined;

export default [
  defineModel({
    name: 'mpmc queue: two putters, one taker, all park',
    ...queue,
    threads: { first: put(1, [10]), second: put(2, [20]), taker: take(3, 2) },
    check: ({ results }) => (sorted(results[2]) === '10,20' ? undefined : `took ${results[2]}`),
    conserve: noWriting,
  }),

  defineModel({
    name: 'mpmc queue: one putter, two takers, all park',
    ...queue,
    ...bounded,
    threads: { putter: put(1, [10, 11]), first: take(2, 1), second: take(3, 1) },
    check: ({ results }) =>
      sorted(results[1], results[2]) === '10,11' ? undefined : `took ${results[1]} and ${results[2]}`,
    conserve: noWriting,
  }),

  defineModel({
    name: 'mpmc queue: full and empty across the wrap of the sequence',
    ...wrapping,
    threads: { putter: put(1, [10, 11, 12]), taker: take(2, 3) },
    check: ({ results }) => (String(results[1]) === '10,11,12' ? undefined : `took ${results[1]}`),
    conserve: noWriting,
  }),

  defineModel({
    name: 'mpmc queue: operations that do not wait look as if one came after the other',
    ...queue,
    threads: {
      first: (thread) => {
        const cells = cellsOf(thread, 1);
        for (const value of [10, 11]) thread.call('put', [value], () => cells.put(value));
      },
      second: (thread) => {
        const cells = cellsOf(thread, 2);
        for (let i = 0; i < 2; i++) thread.call('take', [], () => cells.take());
      },
    },
    sequential: {
      initial: [],
      apply: (state, { name, args }) => {
        const numbers = state as readonly number[];
        if (name === 'take') return { state: numbers.slice(1), result: numbers[0] };
        const fits = numbers.length < CAPACITY;
        return { state: fits ? [...numbers, args[0]] : numbers, result: fits };
      },
    },
  }),

  defineModel({
    name: 'mpmc queue: close against a putter and a taker about to sleep: what went in comes out (TR-11)',
    ...queue,
    threads: { putter: put(1, [10]), taker: take(2), closer: close(3) },
    strayWakes: 1,
    check: ({ results }) =>
      (results[1] as number[]).length === results[0] ? undefined : `put ${results[0]}, took ${results[1]}`,
    conserve: noWriting,
  }),

  defineModel({
    name: 'mpmc queue: close wakes putters that wait for room (TR-11)',
    ...queue,
    threads: { putter: put(1, [10, 11, 12]), closer: close(3) },
    conserve: noWriting,
  }),

  defineModel({
    name: 'mpmc queue: a putter dies anywhere, takers go past it, nothing else is lost',
    ...queue,
    ...bounded,
    search: { preemptions: 2 },
    threads: {
      first: put(1, [10]),
      second: (thread) => {
        const count = put(2, [20])(thread);
        close(2)(thread);
        return count;
      },
      taker: take(3),
    },
    killable: ['first'],
    kills: 1,
    recover: recover(1),
    check: ({ results, dead }) => {
      const taken = results[2] as number[];
      const first = taken.filter((value) => value === 10).length;
      if (taken.filter((value) => value === 20).length !== 1) return `took ${taken}`;
      return first > 1 || (dead[0] !== true && first !== results[0]) ? `took ${taken}` : undefined;
    },
    conserve: noWriting,
  }),

  defineModel({
    name: 'mpmc queue: a putter and the one that recovers it die anywhere',
    ...queue,
    ...bounded,
    search: { preemptions: 2 },
    threads: {
      putter: (thread) => {
        put(1, [10, 11])(thread);
        close(1)(thread);
      },
      taker: take(2),
    },
    killable: ['putter'],
    kills: 2,
    recover: (thread) => {
      recover(1)(thread);
      close(3)(thread);
    },
    check: ({ results, dead }) => {
      const taken = String(results[1]);
      const whole = dead[0] === true ? ['', '10', '10,11'] : ['10,11'];
      return whole.includes(taken) ? undefined : `took ${taken}`;
    },
    conserve: noWriting,
  }),

  defineModel({
    name: 'mpmc queue: a taker dies anywhere, the other takes what is left, putters go on',
    ...queue,
    ...bounded,
    threads: {
      putter: (thread) => {
        const count = put(1, [10, 11])(thread);
        close(1)(thread);
        return count;
      },
      first: take(2, 1),
    },
    killable: ['first'],
    kills: 1,
    recover: (thread) => {
      recover(2)(thread);
      return take(3)(thread);
    },
    check: ({ results, dead, recoveries }) => {
      if (dead[1] !== true) return undefined;
      const taken = recoveries[0] as number[];
      return ['10,11', '11'].includes(String(taken)) && results[0] === 2 ? undefined : `took ${taken}`;
    },
  }),

  defineModel({
    name: 'mpmc queue: the only putter, and the one that recovers it, die anywhere around one number',
    ...queue,
    threads: { putter: put(1, [10]), taker: take(2, 1) },
    killable: ['putter'],
    kills: 2,
    recover: (thread) => {
      recover(1)(thread);
      close(3)(thread);
    },
    check: ({ results, dead }) => {
      const taken = String(results[1]);
      return taken === '10' || (taken === '' && dead[0] === true) ? undefined : `took ${taken}`;
    },
    conserve: noWriting,
  }),

  defineModel({
    name: 'mpmc queue: a taker dies anywhere around one number, a putter that waits for its room goes on',
    ...queue,
    init: (words) => {
      queue.init(words);
      const cells = new MpmcCells(words, 1, Atomics);
      for (const value of [10, 11]) cells.put(value);
    },
    threads: { putter: put(1, [12]), first: (thread) => cellsOf(thread, 2).take() },
    killable: ['first'],
    kills: 1,
    recover: (thread) => {
      recover(2)(thread);
      return cellsOf(thread, 3).take();
    },
    check: ({ results, dead, recoveries }) => {
      const taken = dead[1] === true ? recoveries[0] : results[1];
      return results[0] === 1 && (taken === 10 || (dead[1] === true && taken === 11))
        ? undefined
        : `took ${taken}`;
    },
    conserve: noWriting,
  }),
];
