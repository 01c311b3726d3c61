import { defineModel, type End, type Model, type SimulatedThread } from '../index.js';

/*
 * A return lane: the putter writes (slot, generation) into cells and publishes them by its tail; a collector claims
 * the lane, relabels what it finds in the lease table, and then advances the head.
 *
 * The lease of a slot, one word: who holds it (0: nobody) and its generation. Only a CAS on it moves a slot, so a
 * cell is a hint: one that is stale, double, or read twice after a death finds another generation and is dropped.
 */
const TAIL = 0;
const HEAD = 1;
const CLAIM = 2;
const CELL = 3;
const LEASE = 5;
const SLOTS = 2;
const WORDS = LEASE + SLOTS;
const names = { tail: TAIL, head: HEAD, claim: CLAIM, cell: [CELL, 2], lease: [LEASE, SLOTS] } as const;

const PUTTER = 0;
const lease = (holder: number, generation: number): number => (generation << 8) | holder;
const holderOf = (value: number): number => value & 0xff;
const generationOf = (value: number): number => value >> 8;
const idOf = (thread: number): number => thread + 1;

function put({ words, atomics }: SimulatedThread, position: number, slot: number, generation: number): void {
  words[CELL + (position % 2)] = (generation << 8) | slot;
  atomics.store(words, TAIL, position + 1);
}

/** Claims the lane, relabels its entries, then advances the head: who dies half-way loses nothing. */
function collect({ words, atomics, index }: SimulatedThread): number[] {
  const me = idOf(index);
  if (atomics.compareExchange(words, CLAIM, 0, me) !== 0) return [];
  const taken: number[] = [];
  const tail = atomics.load(words, TAIL);
  for (let position = atomics.load(words, HEAD); position < tail; position++) {
    const cell = words[CELL + (position % 2)]!;
    const slot = cell & 0xff;
    const generation = cell >> 8;
    const held = lease(idOf(PUTTER), generation);
    const seen = atomics.compareExchange(words, LEASE + slot, held, lease(me, generation + 1));
    if (seen === held) taken.push(slot);
  }
  atomics.store(words, HEAD, tail);
  atomics.store(words, CLAIM, 0);
  return taken;
}

/** Frees what the dead thread held, and the lane if it had claimed it. Every step may be done again. */
function recover({ words, atomics }: SimulatedThread, dead: number): void {
  for (let slot = 0; slot < SLOTS; slot++) {
    const value = atomics.load(words, LEASE + slot);
    if (holderOf(value) !== idOf(dead)) continue;
    atomics.compareExchange(words, LEASE + slot, value, lease(0, generationOf(value) + 1));
  }
  atomics.compareExchange(words, CLAIM, idOf(dead), 0);
}

/** Each slot is free, or held by one living thread that knows of it, or still in the lane of a living putter. */
function conserve({ words, results, dead }: End): string | undefined {
  for (let slot = 0; slot < SLOTS; slot++) {
    const holder = holderOf(words[LEASE + slot]!);
    const knowing = results.flatMap((result, thread) =>
      !dead[thread] && Array.isArray(result) && result.includes(slot) ? [thread] : [],
    );
    if (holder === 0 && knowing.length === 0) continue;
    if (holder === 0) return `slot ${slot} is free, and used by thread ${knowing}`;
    if (dead[holder - 1]) return `slot ${slot} is left to dead thread ${holder - 1}`;
    if (holder === idOf(PUTTER) && knowing.length === 0) continue;
    if (knowing.length !== 1 || knowing[0] !== holder - 1) {
      return `slot ${slot} is leased to thread ${holder - 1}, and known to ${knowing.join(' and ') || 'nobody'}`;
    }
  }
  return undefined;
}

function laneModel(name: string, rest: Partial<Model>): Model {
  return defineModel({
    name,
    words: WORDS,
    names,
    init: (words) => {
      for (let slot = 0; slot < SLOTS; slot++) words[LEASE + slot] = lease(idOf(PUTTER), 0);
    },
    threads: {
      putter: (thread) => {
        put(thread, 0, 0, 0);
        put(thread, 1, 1, 0);
      },
      owner: (thread) => [...collect(thread), ...collect(thread)],
      taker: collect,
    },
    recover,
    conserve,
    ...rest,
  });
}

export default [
  laneModel('return lane, checked by the owner', { kills: 0 }),
  laneModel('return lane, putter, owner or taker killed at every step', { kills: 1 }),
  laneModel('return lane, two deaths, recovery killed too', {
    kills: 2,
    threads: { putter: (thread) => put(thread, 0, 0, 0), owner: collect, taker: collect },
  }),
  laneModel('return lane with a slot put twice', {
    kills: 1,
    threads: {
      putter: (thread) => {
        put(thread, 0, 0, 0);
        put(thread, 1, 0, 0);
      },
      owner: (thread) => [...collect(thread), ...collect(thread)],
    },
  }),
];
