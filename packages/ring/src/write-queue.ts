import type { Step } from '@heddle/memory';
import { type Attempt, AttemptSteps } from './attempt-steps.js';

/** What a waiting write needs of its producer. */
export interface WaitingSide extends Pick<Attempt, 'lookBeforeSleep'> {
  /** What to sleep on until it is this write's turn. */
  sleepForTurn(): Step<boolean>;
  /** Wakes those who wait for their turn. */
  wakeTurns(): void;
}

/** Writes a record, if there is room now, and leaves the queue then. */
export type Write = Attempt['attempt'];

/**
 * The asynchronous writes of one thread on one ring, first come first served: one that needs little room does not
 * overtake one that needs much. All sleep on the same word, and are woken in the order of the queue: as many are
 * written at one wake as there is room for.
 */
export class WriteQueue {
  readonly #side: WaitingSide;
  readonly #waiting: Write[] = [];

  constructor(side: WaitingSide) {
    this.#side = side;
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  /** Puts a write at the end. @returns the steps of waiting for its turn, and then for room. */
  enter(write: Write): AttemptSteps {
    this.#waiting.push(write);
    const isFirst = () => this.#waiting[0] === write;
    return new AttemptSteps({
      attempt: () => isFirst() && write(),
      lookBeforeSleep: () => (isFirst() ? this.#side.lookBeforeSleep() : this.#side.sleepForTurn()),
    });
  }

  /** Takes a write out, done or given up. Nothing happens where it is not in. */
  leave(write: Write): void {
    const at = this.#waiting.indexOf(write);
    if (at < 0) return;
    this.#waiting.splice(at, 1);
    if (at === 0 && this.#waiting.length > 0) this.#side.wakeTurns();
  }
}
