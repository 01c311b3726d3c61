import { defineModel, type End, type SimulatedThread } from '../index.js';

const NIL = -1;

// A list of freed slots that any thread pushes to and one takes whole.
const HEAD = 0;
const NEXT = 1;
const OWNER = 3;
const listWords = 5;
const listNames = { head: HEAD, next: [NEXT, 2], owner: [OWNER, 2] } as const;

function pushToList({ words, atomics }: SimulatedThread, slot: number): void {
  let head = atomics.load(words, HEAD);
  for (;;) {
    words[NEXT + slot] = head;
    const seen = atomics.compareExchange(words, HEAD, head, slot);
    if (seen === head) return;
    head = seen;
  }
}

/** Takes the whole list by one exchange, and then writes down that its slots are its own. */
function takeAll({ words, atomics, index }: SimulatedThread): number[] {
  const taken: number[] = [];
  let slot = atomics.exchange(words, HEAD, NIL);
  while (slot !== NIL) {
    const next = words[NEXT + slot]!;
    atomics.store(words, OWNER + slot, index + 1);
    taken.push(slot);
    slot = next;
  }
  return taken;
}

function conserveList({ words, results, dead }: End): string | undefined {
  const onList: number[] = [];
  for (let slot = words[HEAD]!; slot !== NIL; slot = words[NEXT + slot]!) onList.push(slot);
  for (let slot = 0; slot < 2; slot++) {
    const owner = words[OWNER + slot]!;
    const held = results.some(
      (result, thread) => !dead[thread] && Array.isArray(result) && result.includes(slot),
    );
    if (!held && !onList.includes(slot) && owner === 0 && !dead[slot + 1]) {
      return `slot ${slot}, freed by a living thread, is on no list and has no owner`;
    }
  }
  return undefined;
}

// A queue linked by one exchange and one store (Vyukov): a slot is linked in two steps.
const BACK = 0;
const LINK = 1;
const STUB = 2;
const queueWords = 4;

function pushToQueue({ words, atomics }: SimulatedThread, slot: number): void {
  atomics.store(words, LINK + slot, NIL);
  const before = atomics.exchange(words, BACK, slot);
  atomics.store(words, LINK + before, slot);
}

/** What a collector that starts at the stub would find. */
function reachable(words: Int32Array): number[] {
  const found: number[] = [];
  for (let slot = words[LINK + STUB]!; slot !== NIL; slot = words[LINK + slot]!) found.push(slot);
  return found;
}

export default [
  defineModel({
    name: 'list taken whole, 2 putters',
    words: listWords,
    names: listNames,
    init: (words) => {
      words[HEAD] = NIL;
    },
    threads: {
      taker: (thread) => [...takeAll(thread), ...takeAll(thread)],
      putter0: (thread) => pushToList(thread, 0),
      putter1: (thread) => pushToList(thread, 1),
    },
    conserve: conserveList,
  }),
  defineModel({
    name: 'list taken whole, taker dies before relabelling it',
    words: listWords,
    names: listNames,
    init: (words) => {
      words[HEAD] = NIL;
    },
    threads: {
      taker: takeAll,
      putter0: (thread) => pushToList(thread, 0),
      putter1: (thread) => pushToList(thread, 1),
    },
    kills: 1,
    recover: (thread, dead) => {
      for (let slot = 0; slot < 2; slot++) {
        const { words, atomics } = thread;
        if (atomics.compareExchange(words, OWNER + slot, dead + 1, 0) === dead + 1) pushToList(thread, slot);
      }
    },
    conserve: conserveList,
    expect: { fail: 'leak', reason: 'freed by a living thread' },
  }),
  defineModel({
    name: 'exchange-linked queue: a living thread’s slot is lost with another’s death',
    words: queueWords,
    names: { back: BACK, link: [LINK, 3] },
    init: (words) => {
      words[BACK] = STUB;
      words.fill(NIL, LINK);
    },
    threads: [(thread) => pushToQueue(thread, 0), (thread) => pushToQueue(thread, 1)],
    kills: 1,
    conserve: ({ words, dead }) => {
      const found = reachable(words);
      for (const slot of [0, 1]) {
        if (!dead[slot] && !found.includes(slot))
          return `slot ${slot}, put by a living thread, cannot be reached`;
      }
      return undefined;
    },
    expect: { fail: 'leak', reason: 'put by a living thread' },
  }),
  defineModel({
    name: 'exchange-linked queue without deaths',
    words: queueWords,
    names: { back: BACK, link: [LINK, 3] },
    init: (words) => {
      words[BACK] = STUB;
      words.fill(NIL, LINK);
    },
    threads: [(thread) => pushToQueue(thread, 0), (thread) => pushToQueue(thread, 1)],
    conserve: ({ words }) =>
      reachable(words).length === 2 ? undefined : `only ${reachable(words)} can be reached`,
  }),
];
