import { HeddleError } from '@heddle/memory';
import type { Line } from './line.js';
import type { StateWord } from './state-word.js';
import {
  freeFor,
  PLACE_FIRST,
  PLACE_GIVEN_UP,
  PLACE_SLEEPS,
  PLACE_STATE,
  PLACE_WAITS,
  PLACES,
  placeIndex,
  roundOf,
  tagOf,
  ticketLockLayout,
} from './ticket-lock.layout.js';
import { VALUE_MASK } from './word-flags.js';

const { next, serving } = ticketLockLayout.offsets;
const TAG_MASK = tagOf(-1);

/**
 * A line of numbered places: a thread takes the place of the next number and is first when that number is served.
 *
 * **Layout**: `ticket-lock.layout.ts`. **States** of the place of number n, of round r:
 *
 * | place          | meaning                                                                     |
 * |----------------|-----------------------------------------------------------------------------|
 * | free for r     | n has not been given out                                                    |
 * | r, WAITS, t    | t has n, and looks                                                          |
 * | r, SLEEPS, t   | t has n, and sleeps on this word or is about to                             |
 * | r, FIRST, t    | t has n and was told that it is served                                      |
 * | r, GIVEN_UP, t | n is to be passed over                                                      |
 * | free for r + 1 | n is through; what is not free before n + 512 can be                        |
 *
 * **One commit**: a number is taken by one CAS of its place, before `next` moves on, which anyone may help with. So
 * a thread that dies there has its number, like any other that dies in line, and no number is lost. A place becomes
 * free by one CAS, before `serving` moves on, which anyone may help with.
 *
 * **Invariant**: `serving` ≤ every number taken and not through < `serving` + 512; `next` is the first number not
 * taken, or the one before it.
 *
 * **Ordering**: T1: `serving` moved on, then the place to FIRST, then notify where it was SLEEPS ↔ the place read, then
 * `serving`, then the place to SLEEPS, then the wait on it.
 *
 * **Death**: recovery marks the places of the dead thread as given up, and does again whatever moves the line on.
 *
 * **Limit**: a helper that stops in the middle for exactly 32 times 512 numbers, and then finds the same thread in the
 * same state, may move that one's place on; the lock itself is not affected.
 */
export class TicketLine implements Line {
  readonly #state: StateWord;
  readonly #token: number;
  inLine = false;
  expected = 0;
  #number = 0;
  /** What its place holds since it gave it up, 0 where it did not. */
  #givenUp = 0;

  constructor(state: StateWord, token: number) {
    this.#state = state;
    this.#token = token;
  }

  join(): void {
    if (!this.#comeBack()) this.#takeNumber();
    this.inLine = true;
  }

  /** A thread that gave up, and comes again before its number was passed over, takes its old place. */
  #comeBack(): boolean {
    const place = this.#givenUp;
    this.#givenUp = 0;
    return place !== 0 && this.#change(placeIndex(this.#number), place, (place & ~PLACE_STATE) | PLACE_WAITS);
  }

  #takeNumber(): void {
    for (;;) {
      const number = this.#load(next);
      // Before the place is read: what is there then is of this number, not of the one 512 before it.
      const full = ((number - this.#load(serving)) | 0) >= PLACES;
      const place = this.#load(placeIndex(number));
      const free = freeFor(roundOf(number));
      if (place === free && !full) {
        const taken = tagOf(roundOf(number)) | PLACE_WAITS | this.#token;
        const mine = this.#change(placeIndex(number), free, taken);
        this.#change(next, number, number + 1);
        if (!mine) continue;
        this.#number = number;
        return;
      }
      if (full) throw lineFullError();
      this.#change(next, number, number + 1);
    }
  }

  waitFor(sleeps: boolean): number {
    const index = placeIndex(this.#number);
    for (;;) {
      const place = this.#load(index);
      if ((place & PLACE_STATE) === PLACE_FIRST || this.#load(serving) === this.#number) return 0;
      this.expected = sleeps ? (place & ~PLACE_STATE) | PLACE_SLEEPS : place;
      if (place === this.expected || this.#change(index, place, this.expected)) return index;
    }
  }

  leave(): void {
    this.inLine = false;
    const index = placeIndex(this.#number);
    let place = this.#load(index);
    while (!this.#change(index, place, (place & ~PLACE_STATE) | PLACE_GIVEN_UP)) place = this.#load(index);
    this.#givenUp = (place & ~PLACE_STATE) | PLACE_GIVEN_UP;
    this.#moveOn();
  }

  leaveAsOwner(): void {
    this.inLine = false;
    const number = this.#load(serving);
    const index = placeIndex(number);
    for (;;) {
      const place = this.#load(index);
      const status = place & PLACE_STATE;
      const mine = (place & VALUE_MASK) === this.#token && status !== 0 && status !== PLACE_GIVEN_UP;
      if (!mine) return;
      if (this.#change(index, place, (place & ~PLACE_STATE) | PLACE_GIVEN_UP)) break;
    }
    this.#moveOn();
  }

  isEmpty(): boolean {
    const number = this.#load(serving);
    return this.#load(placeIndex(number)) === freeFor(roundOf(number));
  }

  recover(deadToken: number): void {
    const { atomics, words } = this.#state;
    const last = this.#load(next);
    // The number that `next` holds may have been given out already.
    for (let number = this.#load(serving); ((last - number) | 0) >= 0; number = (number + 1) | 0) {
      const index = placeIndex(number);
      let place = this.#load(index);
      while ((place & PLACE_STATE) !== 0 && (place & VALUE_MASK) === deadToken) {
        if (this.#change(index, place, (place & ~PLACE_STATE) | PLACE_GIVEN_UP)) break;
        place = this.#load(index);
      }
    }
    this.#moveOn();
    atomics.notify(words, placeIndex(this.#load(serving)));
  }

  /** Passes over what is given up or through, and tells the first in line. Everyone may do this at any time. */
  #moveOn(): void {
    const { atomics, words } = this.#state;
    for (;;) {
      const number = this.#load(serving);
      const round = roundOf(number);
      const index = placeIndex(number);
      const place = this.#load(index);
      const status = place & PLACE_STATE;
      if (status === 0) {
        // Free for this round: nobody is in line. Free for the next: who freed it has not moved on.
        if (place !== freeFor(round + 1)) return;
      } else {
        if ((place & TAG_MASK) !== tagOf(round) || status === PLACE_FIRST) return;
        if (status !== PLACE_GIVEN_UP) {
          if (!this.#change(index, place, (place & ~PLACE_STATE) | PLACE_FIRST)) continue;
          if (status === PLACE_SLEEPS) atomics.notify(words, index);
          return;
        }
        this.#change(index, place, freeFor(round + 1));
      }
      this.#change(serving, number, number + 1);
    }
  }

  #load(index: number): number {
    return this.#state.atomics.load(this.#state.words, index);
  }

  #change(index: number, found: number, wanted: number): boolean {
    return this.#state.atomics.compareExchange(this.#state.words, index, found, wanted) === (found | 0);
  }
}

function lineFullError(): HeddleError {
  return new HeddleError(
    'ERR_HEDDLE_EXHAUSTED',
    `All ${PLACES} places in line are taken: fewer threads, or fewer lock objects in each, have to want this lock at a time`,
    { places: PLACES },
  );
}
