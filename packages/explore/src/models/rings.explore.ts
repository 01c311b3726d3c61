import { defineModel, type SimulatedThread } from '../index.js';

// A ring with one producer and one consumer: free-running positions, two cells.
const TAIL = 0;
const HEAD = 1;
const CELL = 2;
const CAPACITY = 2;
const MASK = CAPACITY - 1;
const names = { tail: TAIL, head: HEAD, cell: [CELL, CAPACITY] } as const;

class SpscRing {
  readonly #words: Int32Array;
  readonly #atomics: Atomics;
  /** The other side's position as last seen. */
  #cached = 0;

  constructor({ words, atomics }: SimulatedThread) {
    this.#words = words;
    this.#atomics = atomics;
  }

  push(position: number, value: number): boolean {
    if (position - this.#cached >= CAPACITY) {
      this.#cached = this.#atomics.load(this.#words, HEAD);
      if (position - this.#cached >= CAPACITY) return false;
    }
    this.#words[CELL + (position & MASK)] = value;
    this.#atomics.store(this.#words, TAIL, position + 1);
    return true;
  }

  pop(position: number): number | undefined {
    if (position === this.#cached) {
      this.#cached = this.#atomics.load(this.#words, TAIL);
      if (position === this.#cached) return undefined;
    }
    const value = this.#words[CELL + (position & MASK)];
    this.#atomics.store(this.#words, HEAD, position + 1);
    return value;
  }
}

const produce =
  (count: number) =>
  (thread: SimulatedThread): number => {
    const ring = new SpscRing(thread);
    let sent = 0;
    for (let tries = 0; tries < count; tries++) if (ring.push(sent, 10 + sent)) sent++;
    return sent;
  };

const consume =
  (count: number) =>
  (thread: SimulatedThread): number[] => {
    const ring = new SpscRing(thread);
    const got: number[] = [];
    for (let tries = 0; tries < count; tries++) {
      const value = ring.pop(got.length);
      if (value !== undefined) got.push(value);
    }
    return got;
  };

/** Blocks: the consumer sleeps on the tail while the ring is empty, the producer on the head while it is full. */
const produceAll =
  (count: number) =>
  ({ words, atomics }: SimulatedThread): void => {
    for (let position = 0; position < count; position++) {
      for (
        let head = atomics.load(words, HEAD);
        position - head >= CAPACITY;
        head = atomics.load(words, HEAD)
      ) {
        atomics.wait(words, HEAD, head);
      }
      words[CELL + (position & MASK)] = 10 + position;
      atomics.store(words, TAIL, position + 1);
      atomics.notify(words, TAIL, 1);
    }
  };

const consumeAll =
  (count: number) =>
  ({ words, atomics }: SimulatedThread): number[] => {
    const got: number[] = [];
    for (let position = 0; position < count; position++) {
      while (atomics.load(words, TAIL) === position) atomics.wait(words, TAIL, position);
      got.push(words[CELL + (position & MASK)]!);
      atomics.store(words, HEAD, position + 1);
      atomics.notify(words, HEAD, 1);
    }
    return got;
  };

const inOrder = (got: readonly number[]): string | undefined =>
  got.every((value, index) => value === 10 + index) ? undefined : `got ${got}`;

export default [
  defineModel({
    name: 'SPSC ring that never waits',
    words: CELL + CAPACITY,
    names,
    threads: { producer: produce(4), consumer: consume(4) },
    check: ({ results }) => inOrder(results[1] as number[]),
    deep: { threads: { producer: produce(6), consumer: consume(6) } },
  }),
  defineModel({
    name: 'SPSC ring that waits when empty and when full',
    words: CELL + CAPACITY,
    names,
    threads: { producer: produceAll(4), consumer: consumeAll(4) },
    check: ({ results }) => inOrder(results[1] as number[]),
    strayWakes: 1,
    deep: { threads: { producer: produceAll(5), consumer: consumeAll(5) } },
  }),
  defineModel({
    name: 'SPSC ring with a plain tail (race)',
    words: CELL + CAPACITY,
    names,
    threads: {
      producer: ({ words }) => {
        words[CELL] = 10;
        words[TAIL] = 1;
      },
      consumer: ({ words, atomics }) => (atomics.load(words, TAIL) === 1 ? words[CELL] : undefined),
    },
    expect: { fail: 'race', reason: 'Data race on tail' },
  }),
  defineModel({
    name: 'SPSC ring whose plain tail is declared a hint: its payload races',
    words: CELL + CAPACITY,
    names,
    hints: ['tail'],
    threads: {
      producer: ({ words }) => {
        words[CELL] = 10;
        words[TAIL] = 1;
      },
      consumer: ({ words }) => (words[TAIL] === 1 ? words[CELL] : undefined),
    },
    expect: { fail: 'race', reason: 'Data race on cell' },
  }),
];
