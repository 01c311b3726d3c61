import { type Platform, realPlatform } from '@heddle/memory';

/** The receiver sleeps, or is about to. */
const SLEEPING = 1;
/** Somebody asked for attention by `signal`. */
const SIGNALLED = 2;

/**
 * The word on which a receiver sleeps, whichever lane the next message comes by.
 *
 * | word      | meaning                                             | becomes                                 |
 * |-----------|-----------------------------------------------------|-----------------------------------------|
 * | 0         | the receiver is awake                               | sleeping by CAS (it goes to sleep), signalled |
 * | sleeping  | the receiver sleeps, or looks once more before that | 0 by whoever has something for it       |
 * | signalled | it was asked to look, message or not                | 0 by the receiver                       |
 *
 * **Ordering**: B1: the receiver sets `sleeping`, then looks at every lane and leaves `armed` there ↔ a sender
 * publishes its record, finds `armed` by the same instruction, then rings. So either the receiver sees the record or
 * the sender sees `sleeping`.
 *
 * **Several** may sleep on one bell: tasks of a thread, or threads of a serialized worker. A ring wakes all of them,
 * and they look again.
 *
 * **Death** of a sender between its record and the ring leaves a receiver asleep: recovery rings every doorbell.
 *
 * **Cost**, in Atomics calls: `ring` 1, and 1 notify where the receiver sleeps; `fallAsleep` 1 CAS.
 */
export class Doorbell {
  /** What the word is while the receiver sleeps: what to wait on. */
  static readonly SLEEPING = SLEEPING;

  readonly index: number;
  readonly #words: Int32Array;
  readonly #atomics: Platform['atomics'];

  constructor(words: Int32Array, index: number, platform: Platform = realPlatform) {
    this.#words = words;
    this.index = index;
    this.#atomics = platform.atomics;
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

  /** Announces a sleep. Returns false where a signal was there: it is taken off, and there is no sleep. */
  fallAsleep(): boolean {
    const seen = this.#atomics.compareExchange(this.#words, this.index, 0, SLEEPING);
    if ((seen & SIGNALLED) === 0) return true;
    this.takeSignal();
    return false;
  }

  /** Takes a signal off, if there is one. Returns whether there was. 1 call. */
  takeSignal(): boolean {
    return (this.#atomics.and(this.#words, this.index, ~SIGNALLED) & SIGNALLED) !== 0;
  }
}
