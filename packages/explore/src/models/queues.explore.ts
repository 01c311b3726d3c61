import { defineModel, type SequentialModel, type SimulatedThread } from '../index.js';

/*
 * Queues and stacks whose recorded calls are compared with what they would do one after the other.
 */

// A bounded queue for many on both sides (Vyukov): each cell has a sequence number that says whose turn it is.
const TAIL = 0;
const HEAD = 1;
const SEQUENCE = 2;
const CELLS = 2;
const VALUE = SEQUENCE + CELLS;

type Items = readonly number[];

const PUSH = 'push';
const POP = 'pop';

/** First in, first out, for as many as it has cells; a pop of nothing gives null. */
const fifo: SequentialModel<Items> = {
  initial: [],
  apply(items, { name, args }) {
    if (name === PUSH && items.length === CELLS) return { state: items, result: false };
    if (name === PUSH) return { state: [...items, args[0] as number], result: true };
    return { state: items.slice(1), result: items[0] ?? null };
  },
};

/** Last in, first out. */
const lifo: SequentialModel<Items> = {
  initial: [],
  apply(items, { name, args }) {
    if (name === PUSH) return { state: [...items, args[0] as number], result: true };
    return { state: items.slice(0, -1), result: items.at(-1) ?? null };
  },
};

class BoundedQueue {
  readonly #words: Int32Array;
  readonly #atomics: Atomics;

  constructor({ words, atomics }: SimulatedThread) {
    this.#words = words;
    this.#atomics = atomics;
  }

  push(value: number): boolean {
    for (let position = this.#atomics.load(this.#words, TAIL); ; ) {
      const cell = position % CELLS;
      const turn = this.#atomics.load(this.#words, SEQUENCE + cell) - position;
      if (turn < 0) return false;
      const seen =
        turn === 0
          ? this.#atomics.compareExchange(this.#words, TAIL, position, position + 1)
          : this.#atomics.load(this.#words, TAIL);
      if (turn === 0 && seen === position) {
        this.#words[VALUE + cell] = value;
        this.#atomics.store(this.#words, SEQUENCE + cell, position + 1);
        return true;
      }
      position = seen;
    }
  }

  pop(): number | null {
    for (let position = this.#atomics.load(this.#words, HEAD); ; ) {
      const cell = position % CELLS;
      const turn = this.#atomics.load(this.#words, SEQUENCE + cell) - (position + 1);
      if (turn < 0) return null;
      const seen =
        turn === 0
          ? this.#atomics.compareExchange(this.#words, HEAD, position, position + 1)
          : this.#atomics.load(this.#words, HEAD);
      if (turn === 0 && seen === position) {
        const value = this.#words[VALUE + cell]!;
        this.#atomics.store(this.#words, SEQUENCE + cell, position + CELLS);
        return value;
      }
      position = seen;
    }
  }
}

const queueModel = {
  words: VALUE + CELLS,
  names: { tail: TAIL, head: HEAD, sequence: [SEQUENCE, CELLS], value: [VALUE, CELLS] },
  init: (words: Int32Array) => {
    for (let cell = 0; cell < CELLS; cell++) words[SEQUENCE + cell] = cell;
  },
  sequential: fifo as SequentialModel,
} as const;

const pushing = (value: number) => (thread: SimulatedThread) => {
  thread.call(PUSH, [value], () => new BoundedQueue(thread).push(value));
};

const popping = (count: number) => (thread: SimulatedThread) => {
  const queue = new BoundedQueue(thread);
  for (let pops = 0; pops < count; pops++) thread.call(POP, [], () => queue.pop());
};

// A stack of cells whose head carries a count, so that no cell is taken for what it was before.
const TOP = 0;
const NEXT = 1;
const NIL = 0xff;

const pushCell = (cell: number) => (thread: SimulatedThread) =>
  thread.call(PUSH, [cell], () => {
    const { words, atomics } = thread;
    for (let top = atomics.load(words, TOP); ; ) {
      atomics.store(words, NEXT + cell, top & NIL);
      const seen = atomics.compareExchange(words, TOP, top, ((top & ~NIL) + 0x100) | cell);
      if (seen === top) return true;
      top = seen;
    }
  });

const popCell = (thread: SimulatedThread) =>
  thread.call(POP, [], () => {
    const { words, atomics } = thread;
    for (let top = atomics.load(words, TOP); ; ) {
      const cell = top & NIL;
      if (cell === NIL) return null;
      const next = atomics.load(words, NEXT + cell);
      const seen = atomics.compareExchange(words, TOP, top, ((top & ~NIL) + 0x100) | next);
      if (seen === top) return cell;
      top = seen;
    }
  });

export default [
  defineModel({
    ...queueModel,
    name: 'bounded queue, one on each side: linearizable',
    threads: {
      producer: (thread) => {
        pushing(1)(thread);
        pushing(2)(thread);
        pushing(3)(thread);
      },
      consumer: popping(3),
    },
  }),
  defineModel({
    ...queueModel,
    name: 'bounded queue, two producers: seems empty while a pushed value waits behind an unfinished push',
    threads: { one: pushing(1), two: pushing(2), consumer: popping(1) },
    expect: { fail: 'not-linearizable', reason: 'pop() → null' },
  }),
  defineModel({
    name: 'tagged stack, two that push and one that pops: linearizable',
    words: NEXT + 2,
    names: { top: TOP, next: [NEXT, 2] },
    init: (words) => {
      words[TOP] = NIL;
    },
    sequential: lifo as SequentialModel,
    threads: {
      one: pushCell(0),
      two: pushCell(1),
      popper: (thread) => {
        popCell(thread);
        popCell(thread);
      },
    },
    kills: 1,
  }),
];
