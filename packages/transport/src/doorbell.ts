import { type Platform, realPlatform } from '@heddle/memory';

/** The receiver sleeps, or is about to. */
const SLEEPING = 1;
/** Somebody asked for attention by `signal`. */
const SIGNALLED = 2;
/** A bit for each bucket of lanes. */
const READY_SHIFT = 2;
const BUCKETS = 30;
const READY = -1 << READY_SHIFT;

/** What a sender rings when a message is ready: one for each lane. */
export interface LaneBell {
  ring(): void;
}

/**
 * The word on which a receiver sleeps, whichever lane the next message comes by, and in which senders say where it is.
 *
 * ```
 *  bit 31 ............................ 2      1           0
 *     | ready: a bit for each bucket of lanes | signalled | sleeping
 * ```
 *
 * | bit       | meaning                                               | set by                       | taken off by        |
 * |-----------|-------------------------------------------------------|------------------------------|---------------------|
 * | sleeping  | the receiver sleeps, or looks once more before that   | the receiver                 | whoever has something for it |
 * | signalled | it was asked to look, message or not                  | anyone                       | the receiver        |
 * | ready     | a lane of the bucket has got a message that it was armed for | the sender            | the receiver        |
 *
 * The receiver sleeps while the word is `sleeping` and nothing else.
 *
 * **Ordering**: B1: the receiver sets `sleeping`, then looks at every lane that it has not armed, and arms it ↔ a sender
 * publishes its record, finds `armed` by the same instruction, then rings. So either the receiver sees the record, or
 * the bit of its lane, or the sender sees `sleeping`.
 *
 * **Several** may sleep on one bell: tasks of a thread, or threads of a shared worker. A ring wakes all of them, and they
 * look again.
 *
 * **Death** of a sender between its record and the ring leaves a receiver asleep, and a lane unlooked at: recovery rings
 * every doorbell, and asks every receiver to look at all lanes.
 *
 * **Cost**, in Atomics calls: a lane's `ring` 1 CAS and 1 notify where the receiver sleeps, else 1 CAS and 1 or at most;
 * `ring` 1, and 1 notify where it sleeps; `fallAsleep` 1 exchange.
 */
export class Doorbell {
  /** What the word is while the receiver sleeps: what to wait on. */
  static readonly SLEEPING = SLEEPING;
  /** In what {@link fallAsleep} took off: there is to be no sleep. */
  static readonly SIGNALLED = SIGNALLED;

  readonly index: number;
  readonly #words: Int32Array;
  readonly #atomics: Platform['atomics'];

  constructor(words: Int32Array, index: number, platform: Platform = realPlatform) {
    this.#words = words;
    this.index = index;
    this.#atomics = platform.atomics;
  }

  /** The bucket of a lane: 0 to 29. Where there are many lanes some share one, and are looked at together. */
  static bucketOf(laneIndex: number): number {
    // Spread: lanes to one receiver often lie at equal distances.
    return (Math.imul(laneIndex, 0x9e3779b1) >>> 8) % BUCKETS;
  }

  /** Calls back with each bucket whose ready bit is set. */
  static forEachBucket(ready: number, visit: (bucket: number) => void): void {
    // Each round takes a bit off.
    for (let left = ready & READY; left !== 0; left &= left - 1) {
      visit(31 - Math.clz32(left & -left) - READY_SHIFT);
    }
  }

  /** What the sender of a lane rings. */
  ofLane(laneIndex: number): LaneBell {
    const bit = 1 << (READY_SHIFT + Doorbell.bucketOf(laneIndex));
    return { ring: () => this.#announce(bit) };
  }

  #announce(bit: number): void {
    const seen = this.#atomics.compareExchange(this.#words, this.index, SLEEPING, bit);
    if (seen === SLEEPING) this.#atomics.notify(this.#words, this.index);
    else if ((this.#atomics.or(this.#words, this.index, bit) & SLEEPING) !== 0) this.ring();
  }

  /**
   * Wakes whoever sleeps. Who announced a sleep and stays awake calls this too: others may sleep on the same word, and
   * would not be rung for while it does not say so.
   */
  ring(): void {
    if ((this.#atomics.and(this.#words, this.index, ~SLEEPING) & SLEEPING) !== 0) {
      this.#atomics.notify(this.#words, this.index);
    }
  }

  /** Makes the receiver's current or next sleep end, once. 1 or, and what `ring` costs. */
  signal(): void {
    this.#atomics.or(this.#words, this.index, SIGNALLED);
    this.ring();
  }

  /** Wakes whoever sleeps, after a death: the dead thread may have cleared `sleeping` and not notified. */
  ringAfterDeath(): void {
    this.#atomics.and(this.#words, this.index, ~SLEEPING);
    this.#atomics.notify(this.#words, this.index);
  }

  /** The ready bits that are set. 1 load. */
  get ready(): number {
    return this.#atomics.load(this.#words, this.index) & READY;
  }

  /** Takes the ready bits off. 1 call. */
  takeReady(): number {
    return this.#atomics.and(this.#words, this.index, ~READY) & READY;
  }

  /** Announces a sleep, and takes everything else off. Returns that: ready bits, and {@link SIGNALLED}. */
  fallAsleep(): number {
    return this.#atomics.exchange(this.#words, this.index, SLEEPING) & ~SLEEPING;
  }

  /** Takes a signal off, if there is one. Returns whether there was. 1 call. */
  takeSignal(): boolean {
    return (this.#atomics.and(this.#words, this.index, ~SIGNALLED) & SIGNALLED) !== 0;
  }
}
