import { defineModel, type End, type SimulatedThread } from '../index.js';

// A free list of slots: its head holds the first free slot (and, if tagged, a count), next[] the one after each.
const HEAD = 0;
const NEXT = 1;
const SLOTS = 3;
const OWNER = NEXT + SLOTS;
const WORDS = OWNER + SLOTS;
const NIL = 0xff;
const names = { head: HEAD, next: [NEXT, SLOTS], owner: [OWNER, SLOTS] } as const;

const initList =
  (slots: number) =>
  (words: Int32Array): void => {
    for (let slot = 0; slot < slots; slot++) words[NEXT + slot] = slot + 1 < slots ? slot + 1 : NIL;
  };

interface ListOptions {
  /** Whether the head counts its changes. */
  readonly tagged: boolean;
  /** Whether next[] is read and written plainly. */
  readonly plainNext?: boolean;
}

class FreeList {
  readonly #words: Int32Array;
  readonly #atomics: Atomics;
  readonly #options: ListOptions;

  constructor({ words, atomics }: SimulatedThread, options: ListOptions) {
    this.#words = words;
    this.#atomics = atomics;
    this.#options = options;
  }

  pop(): number {
    for (;;) {
      const head = this.#atomics.load(this.#words, HEAD);
      const slot = head & NIL;
      if (slot === NIL) return -1;
      const next = this.#options.plainNext
        ? this.#words[NEXT + slot]!
        : this.#atomics.load(this.#words, NEXT + slot);
      if (this.#exchangeHead(head, next)) return slot;
    }
  }

  push(slot: number): void {
    for (;;) {
      const head = this.#atomics.load(this.#words, HEAD);
      if (this.#options.plainNext) this.#words[NEXT + slot] = head & NIL;
      else this.#atomics.store(this.#words, NEXT + slot, head & NIL);
      if (this.#exchangeHead(head, slot)) return;
    }
  }

  #exchangeHead(head: number, slot: number): boolean {
    const tag = this.#options.tagged ? (head & ~NIL) + 0x100 : 0;
    return this.#atomics.compareExchange(this.#words, HEAD, head, tag | slot) === head;
  }
}

function freeSlots(words: Int32Array): number[] | string {
  const free: number[] = [];
  for (let slot = words[HEAD]! & NIL; slot !== NIL; slot = words[NEXT + slot]!) {
    if (free.includes(slot)) return `the free list has a cycle at slot ${slot}`;
    free.push(slot);
  }
  return free;
}

/** Each slot is free, or held by one living thread. */
const conserve =
  (slots: number) =>
  ({ words, results, dead }: End): string | undefined => {
    const free = freeSlots(words);
    if (typeof free === 'string') return free;
    const held = results.flatMap((result, thread) => (dead[thread] ? [] : ((result ?? []) as number[])));
    for (let slot = 0; slot < slots; slot++) {
      const places = [...free, ...held].filter((one) => one === slot).length;
      if (places === 0) return `slot ${slot} has leaked`;
      if (places > 1) return `slot ${slot} is there ${places} times (free: ${free}; held: ${held})`;
    }
    return undefined;
  };

const popPush =
  (options: ListOptions) =>
  (thread: SimulatedThread): number[] => {
    const list = new FreeList(thread, options);
    const slot = list.pop();
    if (slot >= 0) list.push(slot);
    return [];
  };

const abaThreads = (options: ListOptions) => [
  (thread: SimulatedThread) => [new FreeList(thread, options).pop()],
  (thread: SimulatedThread) => {
    const list = new FreeList(thread, options);
    const first = list.pop();
    const second = list.pop();
    list.push(first);
    return [second];
  },
];

/** Pops a slot and then writes down whose it is: nobody knows of a slot whose thread dies in between. */
const popThenOwn =
  (keeps: boolean) =>
  (thread: SimulatedThread): number[] => {
    const { words, atomics, index } = thread;
    const list = new FreeList(thread, { tagged: true });
    const slot = list.pop();
    if (slot < 0) return [];
    atomics.store(words, OWNER + slot, index + 1);
    if (keeps) return [slot];
    atomics.store(words, OWNER + slot, 0);
    list.push(slot);
    return [];
  };

/** Claims a slot by writing down whose it is: one commit. */
const claim =
  (keeps: boolean) =>
  ({ words, atomics, index }: SimulatedThread): number[] => {
    for (let slot = 0; slot < SLOTS; slot++) {
      if (atomics.compareExchange(words, OWNER + slot, 0, index + 1) !== 0) continue;
      if (keeps) return [slot];
      atomics.store(words, OWNER + slot, 0);
      return [];
    }
    return [];
  };

export default [
  defineModel({
    name: 'shared pop without a tag (ABA)',
    words: WORDS,
    names,
    init: initList(3),
    threads: abaThreads({ tagged: false }),
    conserve: conserve(3),
    expect: { fail: 'leak', reason: 'slot' },
  }),
  defineModel({
    name: 'shared pop with a tag',
    words: WORDS,
    names,
    init: initList(3),
    threads: abaThreads({ tagged: true }),
    conserve: conserve(3),
  }),
  defineModel({
    name: 'shared pop and push with a tag, 3 threads',
    words: WORDS,
    names,
    init: initList(2),
    threads: [popPush({ tagged: true }), popPush({ tagged: true }), popPush({ tagged: true })],
    conserve: conserve(2),
  }),
  defineModel({
    name: 'shared pop with plain next[] (race)',
    words: WORDS,
    names,
    init: initList(2),
    threads: [popPush({ tagged: true, plainNext: true }), popPush({ tagged: true, plainNext: true })],
    conserve: conserve(2),
    expect: { fail: 'race', reason: 'Data race on next' },
  }),
  defineModel({
    name: 'owner written after the pop: leak on a kill',
    words: WORDS,
    names,
    init: initList(SLOTS),
    threads: [popThenOwn(false), popThenOwn(true)],
    kills: 1,
    recover: (thread, dead) => {
      const list = new FreeList(thread, { tagged: true });
      for (let slot = 0; slot < SLOTS; slot++) {
        if (thread.atomics.compareExchange(thread.words, OWNER + slot, dead + 1, 0) === dead + 1)
          list.push(slot);
      }
    },
    conserve: conserve(SLOTS),
    expect: { fail: 'leak', reason: 'has leaked' },
  }),
  defineModel({
    name: 'owner table claimed by CAS, killed at every step, 3 threads',
    words: WORDS,
    names,
    threads: { first: claim(false), second: claim(true), third: claim(false) },
    kills: 1,
    recover: ({ words, atomics }, dead) => {
      for (let slot = 0; slot < SLOTS; slot++) atomics.compareExchange(words, OWNER + slot, dead + 1, 0);
    },
    conserve: ({ words, results, dead }) => {
      for (let slot = 0; slot < SLOTS; slot++) {
        const holders = results.flatMap((result, thread) =>
          !dead[thread] && (result as number[]).includes(slot) ? [thread] : [],
        );
        if (holders.length > 1) return `slot ${slot} is held by threads ${holders}`;
        const expected = holders.length === 0 ? 0 : holders[0]! + 1;
        if (words[OWNER + slot] !== expected)
          return `slot ${slot} says ${words[OWNER + slot]}, not ${expected}`;
      }
      return undefined;
    },
  }),
];
