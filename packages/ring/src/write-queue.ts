import type { Step, Steps } from '@heddle/memory';
import { type Attempt, AttemptSteps } from './attempt-steps.js';

/** What a waiting write needs of its producer. */
export interface WaitingSide extends Pick<Attempt, 'lookBeforeSleep'> {
  /** What to sleep on until it is this write's turn. */
  sleepForTurn(): Step<boolean>;
  /** Wakes those who wait for their turn. */
  wakeTurns(): void;
}

/** A record that waits for room on the event loop. */
export interface Waiting {
  /** Writes it, if there is room now. */
  attempt(): boolean;
}

/**
 * The asynchronous writes of one thread on one ring, first come first served: one that needs little room does not
 * overtake one that needs much. All sleep on the same word; each that ends wakes the others to look for their turn.
 */
export class WriteQueue {
  readonly #side: WaitingSide;
  readonly #waiting: Waiting[] = [];

  constructor(side: WaitingSide) {
    this.#side = side;
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  /** Puts an entry at the end and returns the steps by which it is written. */
  stepsOf(entry: Waiting): Steps<boolean> {
    this.#waiting.push(entry);
    return new InTurn(this.#side, entry, () => this.#waiting[0] === entry);
  }

  /** Takes an entry out, written or given up. */
  leave(entry: Waiting): void {
    const at = this.#waiting.indexOf(entry);
    if (at < 0) return;
    this.#waiting.splice(at, 1);
    if (at === 0 && this.#waiting.length > 0) this.#side.wakeTurns();
  }
}

/** Waits for the turn, then for room. */
class InTurn extends AttemptSteps {
  readonly #side: WaitingSide;
  readonly #isFirst: () => boolean;

  constructor(side: WaitingSide, entry: Waiting, isFirst: () => boolean) {
    super({ attempt: () => entry.attempt(), lookBeforeSleep: () => side.lookBeforeSleep() });
    this.#side = side;
    this.#isFirst = isFirst;
  }

  override begin(): Step<boolean> {
    return this.#isFirst() ? super.begin() : this.#side.sleepForTurn();
  }

  override onTimeout(): Step<boolean> {
    return this.#isFirst() ? super.onTimeout() : { done: true, value: false };
  }
}
