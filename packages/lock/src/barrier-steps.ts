import { HeddleError, type Step, type Steps } from '@heddle/memory';
import { ARRIVED_MASK, ROUND_MASK, ROUND_SHIFT } from './barrier.layout.js';
import { BlockedAttempt } from './blocked-attempt.js';
import { type Attempt, EVERYONE, type StateWord } from './state-word.js';
import { TaskAttempt } from './task-attempt.js';
import { POISONED } from './word-flags.js';

/** `'last'` for the one that ended the round, `'released'` for the others. */
export type BarrierOutcome = 'last' | 'released';

const roundOf = (word: number) => (word >>> ROUND_SHIFT) & ROUND_MASK;

/** The word some rounds on, with nobody there and nobody waiting. */
export const later = (word: number, rounds: number) => ((roundOf(word) + rounds) & ROUND_MASK) << ROUND_SHIFT;

/**
 * Whether a round is over that a thread waits in. A reset goes on by two rounds, so that who waited in the broken
 * one is told even if it looks only then.
 *
 * @throws HeddleError `ERR_HEDDLE_POISONED` where it never will be.
 */
function isOver(word: number, round: number): boolean {
  const passed = (roundOf(word) - round) & ROUND_MASK;
  if (passed === 1) return true;
  if (passed !== 0 || word & POISONED) throw brokenError();
  return false;
}

/** Seeing the end of a round. */
class RoundOver implements Attempt<BarrierOutcome> {
  readonly shared = true;
  readonly #round: number;

  constructor(round: number) {
    this.#round = round;
  }

  take(found: number): number | undefined {
    return isOver(found, this.#round) ? found : undefined;
  }

  result(): BarrierOutcome {
    return 'released';
  }
}

/** Arrives, waits for the end of the round, and takes the arrival back when it is given up. */
export class BarrierSteps implements Steps<BarrierOutcome | null> {
  readonly #state: StateWord;
  readonly #parties: number;
  readonly #asTask: boolean;
  #round = 0;
  #waiting: Steps<BarrierOutcome | null> | undefined;

  constructor(word: StateWord, partyCount: number, asTask: boolean) {
    this.#state = word;
    this.#parties = partyCount;
    this.#asTask = asTask;
  }

  begin(): Step<BarrierOutcome | null> {
    const found = this.#state.update((word) => {
      if (word & POISONED) throw brokenError();
      return this.#isLast(word) ? later(word, 1) : word + 1;
    })!;
    if (this.#isLast(found)) {
      this.#state.wake(found, EVERYONE);
      return { done: true, value: 'last' };
    }
    this.#round = roundOf(found);
    const over = new RoundOver(this.#round);
    this.#waiting = this.#asTask ? new TaskAttempt(this.#state, over) : new BlockedAttempt(this.#state, over);
    return this.#waiting.begin();
  }

  onWake(): Step<BarrierOutcome | null> {
    return this.#waiting!.onWake();
  }

  onTimeout(): Step<BarrierOutcome | null> {
    const found = this.#state.update((word) => (isOver(word, this.#round) ? undefined : word - 1));
    return { done: true, value: found === undefined ? 'released' : null };
  }

  /** A round that ended before the abort stays ended: this thread was there. */
  onAbort(): void {
    this.#state.update((word) => {
      return roundOf(word) !== this.#round || word & POISONED ? undefined : word - 1;
    });
  }

  #isLast(word: number): boolean {
    return (word & ARRIVED_MASK) + 1 === this.#parties;
  }
}

function brokenError(): HeddleError {
  return new HeddleError(
    'ERR_HEDDLE_POISONED',
    'The barrier is broken: a thread that takes part in it has died, so the round cannot be completed. Call reset() when the others have been told, and go on with as many threads',
  );
}
