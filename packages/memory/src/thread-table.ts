import { HeddleError } from './errors.js';
import { type Platform, realPlatform } from './platform.js';
import {
  GENERATION_MASK,
  ID_BITS,
  ID_MASK,
  PHASE,
  PHASE_BITS,
  PHASE_MASK,
  threadRowLayout,
} from './thread-table.layout.js';

const { unique, state, parent, recoverer, recovering, scanned, linked } = threadRowLayout.offsets;
const ROW_WORDS = threadRowLayout.wordCount;
const PHASE_NAMES = ['free', 'attached', 'leaving', 'dead'] as const;

/** A thread as the table knows it. */
export interface ThreadInfo {
  /** 1 to 512; re-used only after every structure was scanned for it. */
  readonly id: number;
  /** Id and generation of the row in 24 bits: what structures write into owner words. Never 0. */
  readonly token: number;
  /** Process-unique number of the thread: in Node its `threadId` plus 1. */
  readonly unique: number;
  /** Unique number of the thread that passed the segment on, 0 where there is none. */
  readonly parent: number;
  readonly phase: 'attaching' | 'attached' | 'leaving' | 'dead';
  /** Whether the janitor has a port whose close tells it of this thread's death. */
  readonly linked: boolean;
}

/** The id in a token. */
export function idOf(token: number): number {
  return token & ID_MASK;
}

/**
 * Who is attached to a segment, and who died.
 *
 * **Layout**: a row of one line for each thread, {@link threadRowLayout}.
 *
 * **States** of a row, by `unique` and phase:
 *
 * | unique | phase    | meaning                                                                      |
 * |--------|----------|------------------------------------------------------------------------------|
 * | 0      | any      | free                                                                         |
 * | u      | free     | claimed by u, not yet attached; or recovered, about to be free               |
 * | u      | attached | u lives                                                                      |
 * | u      | leaving  | u takes itself out                                                           |
 * | u      | dead     | u is dead (or left), not every structure has been scanned for it             |
 *
 * A row becomes free by one CAS of `unique` to 0, and becomes somebody's by one CAS from 0: whoever dies around
 * it is found by its number, which no other thread of the process ever has.
 *
 * **Ownership**: `unique` by claim and by recovery; `state` by its thread until it is dead, then by its
 * recoverer; `recoverer` by CAS; `recovering` by the row's own thread.
 *
 * **Death** between any two steps: `markDead` finds the row by number in every phase. A recoverer writes whom it
 * recovers into its own row before it claims, so its own recovery finishes what it began.
 *
 * **Cost**, in Atomics calls, `n` rows looked at: `claim` n loads, 1 CAS, 5 stores, 1 load; `markDead` n + 2
 * loads, 1 CAS.
 */
export class ThreadTable {
  readonly capacity: number;
  readonly #words: Int32Array;
  readonly #platform: Platform;

  /** @param words a whole number of rows, all zero at first. */
  constructor(words: Int32Array, platform: Platform = realPlatform) {
    this.#words = words;
    this.#platform = platform;
    this.capacity = Math.floor(words.length / ROW_WORDS);
  }

  /**
   * Claims a row for the thread with this number.
   *
   * @returns its id, or 0 where every row is taken.
   */
  claim(uniqueNumber: number, parentNumber: number): number {
    const { atomics } = this.#platform;
    for (let row = 0; row < this.capacity; row++) {
      const base = row * ROW_WORDS;
      if (atomics.load(this.#words, base + unique) !== 0) continue;
      if (atomics.compareExchange(this.#words, base + unique, 0, uniqueNumber) !== 0) continue;
      // What the last owner left is cleared here, by the only thread that the row now belongs to.
      atomics.store(this.#words, base + parent, parentNumber);
      atomics.store(this.#words, base + scanned, 0);
      atomics.store(this.#words, base + linked, 0);
      atomics.store(this.#words, base + recovering, 0);
      const generation = atomics.load(this.#words, base + state) >>> PHASE_BITS;
      atomics.store(this.#words, base + state, packState(generation, PHASE.attached));
      return row + 1;
    }
    return 0;
  }

  /** The id of the row that belongs to this number, 0 where none does. */
  find(uniqueNumber: number): number {
    const { atomics } = this.#platform;
    if (uniqueNumber === 0) return 0;
    for (let row = 0; row < this.capacity; row++) {
      if (atomics.load(this.#words, row * ROW_WORDS + unique) === uniqueNumber) return row + 1;
    }
    return 0;
  }

  /** The token of the thread that has this id now. */
  tokenOf(id: number): number {
    const generation = this.#platform.atomics.load(this.#words, this.#base(id) + state) >>> PHASE_BITS;
    return ((generation & GENERATION_MASK) << ID_BITS) | id;
  }

  /** Whether the thread of this token lives: its row has the same generation and it is attached or leaving. */
  isAlive(token: number): boolean {
    const id = idOf(token);
    if (id < 1 || id > this.capacity) return false;
    const word = this.#platform.atomics.load(this.#words, this.#base(id) + state);
    const phase = word & PHASE_MASK;
    return (
      ((word >>> PHASE_BITS) & GENERATION_MASK) === token >>> ID_BITS &&
      (phase === PHASE.attached || phase === PHASE.leaving)
    );
  }

  /** Notes that the janitor has a port to this row's thread. 1 store. */
  noteLinked(id: number): void {
    this.#platform.atomics.store(this.#words, this.#base(id) + linked, 1);
  }

  /** Marks this thread's own row as leaving. 1 load, 1 CAS. */
  markLeaving(id: number): boolean {
    return this.#toPhase(id, PHASE.leaving);
  }

  /**
   * Marks the row of this number as dead, if it has one that still needs recovery.
   *
   * A row in phase free owns nothing: its thread died before it was attached, or its recovery died at the last
   * step. Such a row is freed at once.
   *
   * @returns its id, or 0 where there is nothing to recover.
   */
  markDead(uniqueNumber: number): number {
    const { atomics } = this.#platform;
    const id = this.find(uniqueNumber);
    if (id === 0) return 0;
    if ((atomics.load(this.#words, this.#base(id) + state) & PHASE_MASK) === PHASE.free) {
      atomics.compareExchange(this.#words, this.#base(id) + unique, uniqueNumber, 0);
      return 0;
    }
    this.#toPhase(id, PHASE.dead);
    return id;
  }

  #toPhase(id: number, phase: number): boolean {
    const { atomics } = this.#platform;
    const word = atomics.load(this.#words, this.#base(id) + state);
    if ((word & PHASE_MASK) === PHASE.dead) return false;
    return (
      atomics.compareExchange(this.#words, this.#base(id) + state, word, (word & ~PHASE_MASK) | phase) ===
      word
    );
  }

  /** Ids of the rows that are dead and not recovered. */
  dead(): number[] {
    const { atomics } = this.#platform;
    const ids: number[] = [];
    for (let id = 1; id <= this.capacity; id++) {
      if (atomics.load(this.#words, this.#base(id) + unique) === 0) continue;
      if ((atomics.load(this.#words, this.#base(id) + state) & PHASE_MASK) === PHASE.dead) ids.push(id);
    }
    return ids;
  }

  /**
   * Claims the recovery of a row for the thread `byToken`, which writes the intent into its own row first. A
   * thread that leaves claims its own row. Takes over from a recoverer that is dead itself.
   *
   * @returns the number of the dead thread; 0 where a living thread recovers it; -1 where the row has moved on
   *   meanwhile, and whoever came by during this attempt may have been turned away: look at every row again.
   */
  claimRecovery(id: number, byToken: number): number {
    const { atomics } = this.#platform;
    const base = this.#base(id);
    const number = atomics.load(this.#words, base + unique);
    if (number === 0) return -1;
    this.#noteRecovering(id, byToken, number);
    const holder = atomics.load(this.#words, base + recoverer);
    if (holder !== 0 && holder !== byToken && this.isAlive(holder)) {
      this.#noteRecovering(id, byToken, 0);
      return 0;
    }
    if (atomics.compareExchange(this.#words, base + recoverer, holder, byToken) === holder) {
      const phase = atomics.load(this.#words, base + state) & PHASE_MASK;
      const due = phase === PHASE.dead || (phase === PHASE.leaving && idOf(byToken) === id);
      if (due && atomics.load(this.#words, base + unique) === number) return number;
      atomics.compareExchange(this.#words, base + recoverer, byToken, 0);
    }
    this.#noteRecovering(id, byToken, 0);
    return -1;
  }

  /** Directory slots that the recovery of this row has done. */
  scannedSlots(id: number): number {
    return this.#platform.atomics.load(this.#words, this.#base(id) + scanned);
  }

  /** Notes that the recovery of this row has done the slots below `slots`. Only its recoverer calls this. */
  noteScanned(id: number, slots: number): void {
    this.#platform.atomics.store(this.#words, this.#base(id) + scanned, slots);
  }

  /** Ends a recovery that cannot be finished here, so that somebody else can. */
  releaseRecovery(id: number, byToken: number): void {
    this.#platform.atomics.compareExchange(this.#words, this.#base(id) + recoverer, byToken, 0);
    this.#noteRecovering(id, byToken, 0);
  }

  /** Frees a row whose recovery `byToken` has finished. Its generation goes up before anyone can claim it. */
  finishRecovery(id: number, number: number, byToken: number): void {
    const { atomics } = this.#platform;
    const base = this.#base(id);
    const generation = atomics.load(this.#words, base + state) >>> PHASE_BITS;
    atomics.store(this.#words, base + state, packState(generation + 1, PHASE.free));
    atomics.compareExchange(this.#words, base + recoverer, byToken, 0);
    atomics.compareExchange(this.#words, base + unique, number, 0);
    this.#noteRecovering(id, byToken, 0);
  }

  /** The number of the thread that the thread `id` was recovering, 0 for none. */
  recoveringOf(id: number): number {
    return this.#platform.atomics.load(this.#words, this.#base(id) + recovering);
  }

  /** A thread that leaves needs no note: if it dies on the way, its own number leads to its row. */
  #noteRecovering(id: number, byToken: number, number: number): void {
    const own = idOf(byToken);
    if (own !== id) this.#platform.atomics.store(this.#words, this.#base(own) + recovering, number);
  }

  /** What the table says of a thread now; undefined for a free row. */
  info(id: number): ThreadInfo | undefined {
    const { atomics } = this.#platform;
    const base = this.#base(id);
    const number = atomics.load(this.#words, base + unique);
    if (number === 0) return undefined;
    const word = atomics.load(this.#words, base + state);
    const phase = PHASE_NAMES[(word & PHASE_MASK) as 0 | 1 | 2 | 3];
    return {
      id,
      token: (((word >>> PHASE_BITS) & GENERATION_MASK) << ID_BITS) | id,
      unique: number,
      parent: atomics.load(this.#words, base + parent),
      phase: phase === 'free' ? 'attaching' : phase,
      linked: atomics.load(this.#words, base + linked) !== 0,
    };
  }

  #base(id: number): number {
    if (id < 1 || id > this.capacity) {
      throw new RangeError(`Thread id ${id} is outside of 1 to ${this.capacity}`);
    }
    return (id - 1) * ROW_WORDS;
  }
}

function packState(generation: number, phase: number): number {
  return ((generation & (2 ** (31 - PHASE_BITS) - 1)) << PHASE_BITS) | phase;
}

/** The error for a table without a free row. */
export function threadsFull(capacity: number): HeddleError {
  return new HeddleError(
    'ERR_HEDDLE_THREADS_FULL',
    `All ${capacity} rows of the thread table are taken: create the segment with a larger maxThreads, or detach threads that are done`,
    { capacity },
  );
}
