import { type Platform, realPlatform } from '@heddle/memory';
import { CLOSED, laneLayout, WAITING } from './lane.layout.js';

const { state, receiver, receiverGeneration, source, sourceGeneration, tail, head, begun, adopted, drainer } =
  laneLayout.offsets;

const PHASE_BITS = 3;
const PHASE_MASK = 2 ** PHASE_BITS - 1;
const TOKEN_BITS = 24;
const TOKEN_MASK = 2 ** TOKEN_BITS - 1;
const USE_SHIFT = PHASE_BITS + TOKEN_BITS;

export const PHASE = {
  free: 0,
  claimed: 1,
  open: 2,
  closing: 3,
  senderGone: 4,
  receiverGone: 5,
  cleaning: 6,
} as const;

export function phaseOf(word: number): number {
  return word & PHASE_MASK;
}

/** The thread that a state word names. */
export function tokenOf(word: number): number {
  return (word >>> PHASE_BITS) & TOKEN_MASK;
}

/** Another phase of the same use of a lane. */
function withPhase(word: number, phase: number, token = tokenOf(word)): number {
  return ((word >>> USE_SHIFT) << USE_SHIFT) | (token << PHASE_BITS) | phase | 0;
}

/** A new use of a free lane. The number of uses wraps at 32. */
function nextUse(word: number, token: number): number {
  return (((word >>> USE_SHIFT) + 1) << USE_SHIFT) | (token << PHASE_BITS) | PHASE.claimed | 0;
}

/** Which worker a lane leads to, or comes from. */
export interface WorkerPlace {
  readonly row: number;
  readonly generation: number;
}

/**
 * Who uses a lane, from the claim by a sender until both sides are gone.
 *
 * The word is number of the use (5 bits), token (24 bits), phase (3 bits):
 *
 * | phase         | token of | meaning                                                  | becomes                               |
 * |---------------|----------|----------------------------------------------------------|---------------------------------------|
 * | free          | nobody   | nobody uses it                                           | claimed                               |
 * | claimed       | sender   | the sender writes its words; nobody else knows it        | open, free (the sender died)          |
 * | open          | sender   | in use                                                   | closing, sender gone, cleaning (the sender found the worker shut) |
 * | closing       | sender   | the receiver closes it                                   | receiver gone, sender gone            |
 * | sender gone   | sender   | the receiver reads what is left                          | cleaning, by the receiver             |
 * | receiver gone | sender   | closed; the sender counts what nobody read               | cleaning, by the sender               |
 * | cleaning      | cleaner  | both are gone; one thread takes back what is left        | free; cleaning by another (it died)   |
 *
 * Each arrow is one CAS of the state word. A lane is free again only after both sides have left, so whoever has not
 * left can rely on its words.
 *
 * **Death**: recovery leaves in the name of the dead thread, and cleans what it was cleaning.
 *
 * **Cost**: a slow path.
 */
export class LaneLife {
  readonly #words: Int32Array;
  readonly #atomics: Platform['atomics'];

  /** @param words the lane from its first word on. */
  constructor(words: Int32Array, platform: Platform = realPlatform) {
    this.#words = words;
    this.#atomics = platform.atomics;
  }

  get state(): number {
    return this.#atomics.load(this.#words, state);
  }

  get receiver(): WorkerPlace {
    return this.#place(receiver, receiverGeneration);
  }

  get source(): WorkerPlace {
    return this.#place(source, sourceGeneration);
  }

  leadsTo({ row, generation }: WorkerPlace): boolean {
    const place = this.receiver;
    return place.row === row && place.generation === generation;
  }

  /** Takes a free lane for a sender, and makes it empty. */
  claim(token: number): boolean {
    const word = this.state;
    if (phaseOf(word) !== PHASE.free || !this.#move(word, nextUse(word, token))) return false;
    for (const at of [tail, head, begun, adopted]) this.#atomics.store(this.#words, at, 0);
    return true;
  }

  /** Opens the lane that the caller claimed: from now on both sides may use it. */
  open(to: WorkerPlace, from: WorkerPlace): void {
    this.#atomics.store(this.#words, receiver, to.row);
    this.#atomics.store(this.#words, receiverGeneration, to.generation);
    this.#atomics.store(this.#words, source, from.row);
    this.#atomics.store(this.#words, sourceGeneration, from.generation);
    this.#become(this.state, PHASE.open);
  }

  /**
   * Takes an open lane back, both sides of it, whose receiver had shut its row: by the sender, or for a dead one.
   * `cleaner` cleans, and calls {@link free}.
   *
   * @returns false where the receiver is closing it, or has: then leave as the sender.
   */
  abandon(cleaner: number): boolean {
    const word = this.state;
    return phaseOf(word) === PHASE.open && this.#become(word, PHASE.cleaning, cleaner);
  }

  /** Gives up a claim of a dead sender, whose state word this is. */
  dropClaim(word: number): void {
    this.#become(word, PHASE.free, 0);
  }

  /** Makes every later publishing fail, and wakes a sender that waits. For a side that has not left. */
  close(): void {
    this.#atomics.or(this.#words, tail, CLOSED);
    // Changes the word that the sender is about to sleep on.
    this.#atomics.and(this.#words, head, ~WAITING);
    this.#atomics.notify(this.#words, head);
  }

  /**
   * The sender leaves.
   *
   * @param word the state in which its use of the lane was seen. One that has left already may find the lane used again.
   * @returns true where the receiver had left: then `cleaner` cleans, and calls {@link free}.
   */
  leaveAsSender(cleaner: number, word: number): boolean {
    // The receiver may move it on meanwhile, forwards only.
    for (const phase of [PHASE.open, PHASE.closing]) {
      if (this.#move(withPhase(word, phase), withPhase(word, PHASE.senderGone))) return false;
    }
    return this.#move(withPhase(word, PHASE.receiverGone), withPhase(word, PHASE.cleaning, cleaner));
  }

  /**
   * The receiver leaves: closes the lane, if the sender has not left.
   *
   * @param place the receiver: nothing happens to a lane that does not lead there any more.
   * @param whileClosing runs when nothing is published any more, while the sender cannot free the lane.
   * @returns true where the sender had left: then `cleaner` cleans, and calls {@link free}.
   */
  leaveAsReceiver(place: WorkerPlace, cleaner: number, whileClosing: () => void = () => {}): boolean {
    const word = this.state;
    if (!this.leadsTo(place)) return false;
    if (phaseOf(word) === PHASE.open) this.#become(word, PHASE.closing);
    if (this.state === withPhase(word, PHASE.closing)) {
      this.close();
      whileClosing();
      if (this.#move(withPhase(word, PHASE.closing), withPhase(word, PHASE.receiverGone))) return false;
    }
    return this.#move(withPhase(word, PHASE.senderGone), withPhase(word, PHASE.cleaning, cleaner));
  }

  /** Goes on with cleaning that the dead thread of this state word was at. */
  takeOverCleaning(word: number, cleaner: number): boolean {
    return this.#become(word, PHASE.cleaning, cleaner);
  }

  /** The cleaner is done. */
  free(): void {
    this.#atomics.store(this.#words, drainer, 0);
    this.#become(this.state, PHASE.free, 0);
  }

  #become(word: number, phase: number, token?: number): boolean {
    return this.#move(word, withPhase(word, phase, token));
  }

  #move(from: number, to: number): boolean {
    return this.#atomics.compareExchange(this.#words, state, from, to) === from;
  }

  #place(rowAt: number, generationAt: number): WorkerPlace {
    return {
      row: this.#atomics.load(this.#words, rowAt),
      generation: this.#atomics.load(this.#words, generationAt),
    };
  }
}
