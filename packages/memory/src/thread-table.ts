import { HeddleError } from './errors.js';
import { parkWhile } from './park.js';
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
import { deadlineAfter } from './timeout.js';

const { unique, state, parent, recoverer, scanned, linked } = threadRowLayout.offsets;
const ROW_WORDS = threadRowLayout.wordCount;
const PHASE_NAMES = ['attaching', 'attached', 'leaving'] as const;

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
 * **States** of a row, all in one word:
 *
 * | unique | meaning                                                                    | becomes             |
 * |--------|----------------------------------------------------------------------------|---------------------|
 * | 0      | free                                                                       | u by CAS (claim)    |
 * | u > 0  | the living thread u: attaching, attached or leaving                        | -u by CAS (death), 0 by CAS (left) |
 * | -u     | u is dead, not every structure has been scanned for it                     | 0 by CAS (recovered) |
 *
 * A number names one thread for the life of the process, so none of these CAS can hit another thread's row,
 * however late it comes.
 *
 * **Ownership**: `state`, `parent`, `scanned`, `linked` by the row's thread while it lives, then by its recoverer;
 * `recoverer` by CAS.
 *
 * **Ordering**: T1: the generation goes up before `unique` becomes 0 ↔ `isAlive` reads `unique` before the
 * generation. So a token of a row that was freed is never alive again, until the generation wraps after 16,384
 * uses of the row.
 *
 * **Death** between any two steps leaves a row that `markDead` finds by number. A recoverer that dies leaves a row
 * that is still dead, with its token in `recoverer`, where the next one takes over.
 *
 * **Cost**, in Atomics calls, with `n` rows looked at: `claim` n loads, 1 CAS, 5 stores, 1 load; `isAlive` 2 loads;
 * `markDead` a load a row, 1 CAS.
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
   * Claims a row for the thread with this number, which has none.
   *
   * @returns its id, or 0 where every row is taken.
   */
  claim(uniqueNumber: number, parentNumber: number): number {
    const { atomics } = this.#platform;
    for (let id = 1; id <= this.capacity; id++) {
      const base = this.#base(id);
      if (atomics.load(this.#words, base + unique) !== 0) continue;
      if (atomics.compareExchange(this.#words, base + unique, 0, uniqueNumber) !== 0) continue;
      // What the last owner left is cleared here, by the only thread that the row now belongs to.
      atomics.store(this.#words, base + parent, parentNumber);
      atomics.store(this.#words, base + recoverer, 0);
      atomics.store(this.#words, base + scanned, 0);
      atomics.store(this.#words, base + linked, 0);
      this.#setState(id, 0, PHASE.attached);
      return id;
    }
    return 0;
  }

  /** The id of the row of this living thread, 0 where it has none. */
  find(uniqueNumber: number): number {
    for (let id = 1; id <= this.capacity; id++) if (this.#unique(id) === uniqueNumber) return id;
    return 0;
  }

  /** The token of the thread that has this id now. */
  tokenOf(id: number): number {
    return tokenFrom(this.#state(id), id);
  }

  /** Whether the thread of this token lives. 2 loads. */
  isAlive(token: number): boolean {
    const id = idOf(token);
    if (id < 1 || id > this.capacity) return false;
    return this.#unique(id) > 0 && tokenFrom(this.#state(id), id) === token; // T1
  }

  /** Notes whether the janitor has a port to this thread. */
  noteLinked(uniqueNumber: number, isLinked = true): void {
    const { atomics } = this.#platform;
    const id = this.find(uniqueNumber);
    if (id === 0) return;
    atomics.store(this.#words, this.#base(id) + linked, Number(isLinked));
    atomics.notify(this.#words, this.#base(id) + linked);
  }

  /** Blocks until the janitor has a port to the thread of this row, where it may block, and not for ever. */
  awaitLinked(id: number, timeoutMs: number): void {
    const deadline = deadlineAfter(timeoutMs, this.#platform.now);
    if (this.#platform.canBlock())
      parkWhile(this.#words, this.#base(id) + linked, 0, deadline, this.#platform);
  }

  /**
   * Marks what the thread of this number has as left by a dead one. Two detectors may do this at once, and late.
   */
  markDead(uniqueNumber: number): void {
    const { atomics } = this.#platform;
    if (uniqueNumber === 0) return;
    // All of them: realms of one thread have rows of their own.
    for (let id = 1; id <= this.capacity; id++) {
      if (this.#unique(id) !== uniqueNumber) continue;
      atomics.compareExchange(this.#words, this.#base(id) + unique, uniqueNumber, -uniqueNumber);
    }
  }

  /** Ids of the rows that are dead and not recovered. 1 load a row. */
  dead(): number[] {
    const ids: number[] = [];
    for (let id = 1; id <= this.capacity; id++) if (this.#unique(id) < 0) ids.push(id);
    return ids;
  }

  /**
   * Claims the recovery of a row for the thread `byToken`. Takes over from a recoverer that is dead itself.
   *
   * @returns the number of the dead thread; `'busy'` where a living thread recovers it, this one included; `'moved'`
   *   where the row is not what it was, and whoever came by during this attempt may have been turned away: look at
   *   every row again.
   */
  claimRecovery(id: number, byToken: number): number | 'busy' | 'moved' {
    const { atomics } = this.#platform;
    const at = this.#base(id) + recoverer;
    const found = this.#unique(id);
    if (found >= 0) return 'moved';
    const holder = atomics.load(this.#words, at);
    if (holder !== 0 && this.isAlive(holder)) return 'busy';
    if (atomics.compareExchange(this.#words, at, holder, byToken) !== holder) return 'moved';
    if (this.#unique(id) === found) return -found;
    atomics.compareExchange(this.#words, at, byToken, 0);
    return 'moved';
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
  }

  /**
   * Frees the row of a dead thread whose recovery `byToken` has finished.
   *
   * From then on a thread may claim the row, and die: whoever wants to recover that one is turned away until
   * `recoverer` is cleared. So the caller looks at every row again afterwards.
   */
  finishRecovery(id: number, uniqueNumber: number, byToken: number): void {
    this.#free(id, -uniqueNumber);
    this.releaseRecovery(id, byToken);
  }

  /** Marks this thread's own row as leaving. */
  beginLeaving(id: number): void {
    this.#setState(id, 0, PHASE.leaving);
  }

  /** Frees this thread's own row, when nothing of it is left. */
  finishLeaving(id: number, uniqueNumber: number): void {
    this.#free(id, uniqueNumber);
  }

  /** What the table says of a thread now; undefined for a free row. */
  info(id: number): ThreadInfo | undefined {
    const { atomics } = this.#platform;
    const owner = this.#unique(id);
    if (owner === 0) return undefined;
    const word = this.#state(id);
    return {
      id,
      token: tokenFrom(word, id),
      unique: Math.abs(owner),
      parent: atomics.load(this.#words, this.#base(id) + parent),
      phase: owner < 0 ? 'dead' : PHASE_NAMES[(word & PHASE_MASK) as 0 | 1 | 2],
      linked: atomics.load(this.#words, this.#base(id) + linked) !== 0,
    };
  }

  #free(id: number, owner: number): void {
    this.#setState(id, 1, PHASE.attaching); // T1
    this.#platform.atomics.compareExchange(this.#words, this.#base(id) + unique, owner, 0);
  }

  /** Only the row's thread, or the recoverer of a dead one, calls this. */
  #setState(id: number, generationsUp: number, phase: number): void {
    const generation = (this.#state(id) >>> PHASE_BITS) + generationsUp;
    this.#platform.atomics.store(this.#words, this.#base(id) + state, (generation << PHASE_BITS) | phase);
  }

  #state(id: number): number {
    return this.#platform.atomics.load(this.#words, this.#base(id) + state);
  }

  #unique(id: number): number {
    return this.#platform.atomics.load(this.#words, this.#base(id) + unique);
  }

  #base(id: number): number {
    if (id < 1 || id > this.capacity) {
      throw new RangeError(`Thread id ${id} is outside of 1 to ${this.capacity}`);
    }
    return (id - 1) * ROW_WORDS;
  }
}

function tokenFrom(stateWord: number, id: number): number {
  return (((stateWord >>> PHASE_BITS) & GENERATION_MASK) << ID_BITS) | id;
}

/** The error for a table without a free row. */
export function threadsFull(capacity: number): HeddleError {
  return new HeddleError(
    'ERR_HEDDLE_THREADS_FULL',
    `All ${capacity} rows of the thread table are taken: create the segment with a larger maxThreads, or detach threads that are done`,
    { capacity },
  );
}
