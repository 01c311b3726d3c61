import { defineModel, type End, type SimulatedThread } from '@heddle/explore';
import {
  HeddleError,
  type Platform,
  realPlatform,
  type StructureInfo,
  type StructureOptions,
} from '@heddle/memory';
import {
  isMade,
  type MakingPlace,
  makeContext,
  type PoolMaking,
  poolNameOf,
  takeBackAfterDeath,
} from './context-making.js';
import { contextLayout, type Shape } from './transport.layout.js';

/**
 * Making a context of two pools, over a directory that keeps the contract of the segment's in few steps: a structure is
 * built in a range of its maker's, and becomes visible by one CAS of a slot, which this one uses once.
 */

const NAME = 'c';
const SLOTS = 3;
const RANGES = 3;
const IDS = 8;
const SHAPE: Shape = {
  maxWorkers: 1,
  maxLanes: 1,
  laneBytes: 64,
  inlineBytes: 8,
  mtType: 'spinlock',
  slotBytes: [8, 16],
};
const POOLS = SHAPE.slotBytes.length;
/** So often a range is used at most. */
const USES = 4;

/** A slot: range + 1, 0 where it was never used, -1 where what it held was removed. */
const SLOT = 0;
/** A range: generation * 32 + who has it. */
const RANGE = SLOT + SLOTS;
const POOL = RANGE + RANGES;
/** For each thread: token of the one that recovers it. */
const RECOVERER = POOL + RANGES * USES * POOLS;
const BODY = RECOVERER + IDS;
const REMOVED = -1;
/** Who has a range: nobody, a thread (its token), everybody, or a thread that frees it. */
const FREE = 0;
const KEPT = 15;
const RETIRED = 16;

const generationOf = (word: number) => word >>> 5;
const ownerOf = (word: number) => word & 31;
const rangeWord = (generation: number, owner: number) => (generation << 5) | owner;

type Of = Pick<SimulatedThread, 'words'> & {
  readonly platform: Platform;
  readonly atomics: Platform['atomics'];
};

/** The directory as the thread of this token sees it. */
class Place implements MakingPlace {
  readonly thread: { readonly token: number };
  readonly platform: MakingPlace['platform'];
  readonly #of: Of;

  constructor(of: Of, token: number) {
    this.#of = of;
    this.platform = of.platform;
    this.thread = { token };
  }

  readonly space = {
    isLive: (range: StructureInfo['range']) => {
      const word = this.#load(RANGE + range.index);
      return generationOf(word) === range.generation && ownerOf(word) !== FREE && ownerOf(word) < RETIRED;
    },
  };

  createStructure({ init }: StructureOptions): StructureInfo {
    const range = this.#takeRange();
    init?.(this.#info(-1, range));
    for (let slot = 0; slot < SLOTS; slot++) {
      const held = this.#of.atomics.compareExchange(this.#of.words, SLOT + slot, 0, range.index + 1);
      if (held === REMOVED) continue;
      if (held === 0) {
        this.#move(range, this.thread.token, KEPT);
        return this.#info(slot, range);
      }
      break;
    }
    this.#free(range, this.thread.token);
    throw new HeddleError('ERR_HEDDLE_NAME_TAKEN', 'there is one');
  }

  removeStructure({ slot, range }: StructureInfo): boolean {
    const retired = RETIRED + this.thread.token;
    const owner = ownerOf(this.#load(RANGE + range.index));
    const there = this.#load(SLOT + slot) === range.index + 1 && owner < RETIRED;
    if (!there || !this.#move(range, owner, retired)) return false;
    this.#of.atomics.store(this.#of.words, SLOT + slot, REMOVED);
    // What others have there soon.
    this.#of.atomics.store(this.#of.words, this.#bodyAt(range.index) + contextLayout.offsets.maker, 0);
    this.#free(range, retired);
    return true;
  }

  wordsAt(byteOffset: number): Int32Array<SharedArrayBuffer> {
    return this.#of.words.subarray(byteOffset / 4, byteOffset / 4 + contextLayout.wordCount);
  }

  /** The structure in a slot. */
  at(slot: number): StructureInfo | undefined {
    const held = this.#load(SLOT + slot);
    if (held <= 0) return undefined;
    const index = held - 1;
    const generation = generationOf(this.#load(RANGE + index));
    return this.#load(SLOT + slot) === held
      ? this.#info(slot, { index, generation } as StructureInfo['range'])
      : undefined;
  }

  /** As recovery ends: what a dead thread had of ranges. */
  settle(deadToken: number): void {
    for (let index = 0; index < RANGES; index++) {
      const word = this.#load(RANGE + index);
      const range = { index, generation: generationOf(word) } as StructureInfo['range'];
      const slot = [...Array(SLOTS).keys()].find((at) => this.#load(SLOT + at) === index + 1);
      if (ownerOf(word) === deadToken) {
        if (slot === undefined) this.#free(range, deadToken);
        else this.#move(range, deadToken, KEPT);
      } else if (ownerOf(word) === RETIRED + deadToken) {
        if (slot !== undefined) this.#of.atomics.store(this.#of.words, SLOT + slot, REMOVED);
        this.#free(range, RETIRED + deadToken);
      }
    }
  }

  #takeRange(): StructureInfo['range'] {
    for (let index = 0; index < RANGES; index++) {
      const word = this.#load(RANGE + index);
      const range = { index, generation: generationOf(word) } as StructureInfo['range'];
      if (ownerOf(word) === FREE && this.#move(range, FREE, this.thread.token)) return range;
    }
    throw new Error('there is no range left');
  }

  #free({ index, generation }: StructureInfo['range'], owner: number): void {
    this.#swap(RANGE + index, rangeWord(generation, owner), rangeWord(generation + 1, FREE));
  }

  #move({ index, generation }: StructureInfo['range'], from: number, to: number): boolean {
    return this.#swap(RANGE + index, rangeWord(generation, from), rangeWord(generation, to));
  }

  #info(slot: number, range: StructureInfo['range']): StructureInfo {
    const byteOffset = this.#bodyAt(range.index) * 4;
    const { kind, version, byteLength } = contextLayout;
    return { name: NAME, kind, version, byteOffset, byteLength, slot, range };
  }

  #bodyAt(range: number): number {
    return BODY + range * contextLayout.wordCount;
  }

  #load(at: number): number {
    return this.#of.atomics.load(this.#of.words, at);
  }

  #swap(at: number, from: number, to: number): boolean {
    return this.#of.atomics.compareExchange(this.#of.words, at, from, to) === from;
  }
}

function poolAt({ index, generation }: StructureInfo['range'], size: number): number {
  return POOL + (index * USES + generation) * POOLS + size;
}

/** Pools that are there or not. @param fails size of one for which there is no space. */
function poolsOf({ words, atomics }: Of, fails = -1): PoolMaking {
  const wordOf = (name: string) => {
    for (let index = 0; index < RANGES; index++) {
      for (let generation = 0; generation < USES; generation++) {
        const range = { index, generation } as StructureInfo['range'];
        for (let size = 0; size < POOLS; size++) {
          if (poolNameOf({ name: NAME, range }, size) === name) return poolAt(range, size);
        }
      }
    }
    throw new Error(`there cannot be a pool ${name}`);
  };
  return {
    create(name, size) {
      if (size === fails) throw new HeddleError('ERR_HEDDLE_OUT_OF_SPACE', 'no space');
      const at = wordOf(name);
      if (atomics.compareExchange(words, at, 0, 1) !== 0) throw new Error(`pool ${name} is there twice`);
    },
    remove: (name) => void atomics.store(words, wordOf(name), 0),
  };
}

const make =
  (fails = -1) =>
  (thread: SimulatedThread): string => {
    try {
      makeContext(new Place(thread, thread.index + 1), NAME, SHAPE, poolsOf(thread, fails));
      return 'made';
    } catch (error) {
      if (error instanceof HeddleError) return error.code;
      throw error;
    }
  };

/** Finds the context, if it is made, and relies on it. */
const attach = (thread: SimulatedThread): string => {
  const { words, atomics } = thread;
  const place = new Place(thread, thread.index + 1);
  for (let slot = 0; slot < SLOTS; slot++) {
    const info = place.at(slot);
    if (!info || !isMade(place, info)) continue;
    for (let size = 0; size < POOLS; size++) {
      if (atomics.load(words, poolAt(info.range, size)) !== 1) throw new Error('a pool is missing');
    }
    return 'attached';
  }
  return 'not there';
};

/** As the segment's recovery does it, one thread at a time for each dead one; then for whoever died doing that. */
const recover = (thread: SimulatedThread, dead: number) => {
  const { words, atomics } = thread;
  const me = thread.index + 1;
  const place = new Place(thread, me);
  const before = atomics.exchange(words, RECOVERER + dead, me);
  for (let slot = 0; slot < SLOTS; slot++) {
    const info = place.at(slot);
    if (info) takeBackAfterDeath(place, info, dead + 1, poolsOf(thread));
  }
  place.settle(dead + 1);
  if (before !== 0) place.settle(before);
};

/** There is a whole context or nothing at all, and where there is nothing it can be made. */
function check({ words, results, dead }: End): string | undefined {
  const of = { words, platform: realPlatform, atomics: realPlatform.atomics };
  const place = new Place(of, IDS);
  const there = [...Array(SLOTS).keys()].map((slot) => place.at(slot)).filter((info) => info !== undefined);
  const made = results.filter((result, i) => !dead[i] && result === 'made').length;
  if (there.length > 1 || made > 1) return `${there.length} contexts are there, ${made} were made`;
  if (made === 1 && there.length === 0) return 'it was made and is gone';
  const ranges = [...words.subarray(RANGE, RANGE + RANGES)].filter((word) => ownerOf(word) !== FREE);
  if (ranges.length !== there.length) return `${ranges.length} ranges are in use`;
  const pools = words.subarray(POOL, RECOVERER).reduce((sum, word) => sum + word, 0);
  if (pools !== there.length * POOLS) return `${pools} pools are there`;
  if (there.some((info) => !isMade(place, info))) return 'a context is there that nobody gets done with';
  if (there.length === 0) makeContext(place, NAME, SHAPE, poolsOf(of));
  return undefined;
}

const base = {
  words: BODY + RANGES * contextLayout.wordCount,
  layout: Array.from({ length: RANGES }, (_, i) => ({
    layout: contextLayout,
    at: BODY + i * contextLayout.wordCount,
    label: `context ${i}`,
  })),
  names: {
    slot: [SLOT, SLOTS] as const,
    range: [RANGE, RANGES] as const,
    pool: [POOL, RANGES * USES * POOLS] as const,
    recoverer: [RECOVERER, IDS] as const,
  },
  recover,
};

export default [
  defineModel({
    ...base,
    name: 'making a context: two threads make one name, either dies at any step',
    threads: [make(), make()],
    kills: 1,
    deep: { kills: 2 },
    check(end) {
      const codes = end.results.filter((result) => result !== undefined && result !== 'made');
      if (codes.some((code) => code !== 'ERR_HEDDLE_NAME_TAKEN')) return `failed with ${codes}`;
      if (!end.dead.some(Boolean) && codes.length !== 1) return 'both, or neither of the living made it';
      return check(end);
    },
  }),
  defineModel({
    ...base,
    name: 'making a context: another thread attaches; the maker dies at any step, and whoever recovers (LC-06)',
    threads: { make: make(), attach },
    kills: 2,
    check,
  }),
  defineModel({
    ...base,
    name: 'making a context: there is no space for a pool, then another thread makes it',
    threads: { fail: make(1), make: make(), attach },
    kills: 1,
    killable: ['fail'],
    // Who attaches looks at memory that may be something else by then, and does not believe it.
    races: false,
    search: { preemptions: 3 },
    deep: { search: { preemptions: 5 } },
    check,
  }),
];
