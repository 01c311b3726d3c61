import type { Step, Steps } from '@heddle/memory';
import type { LockOutcome } from './lock.js';
import { relockError } from './lock-errors.js';
import { ended, GAVE_UP } from './outcome-steps.js';
import type { ReaderLines } from './reader-lines.js';
import { rwLockLayout } from './rw-lock.layout.js';
import type { SpinBudget } from './spin-budget.js';

type Next = Step<LockOutcome | null>;

/** What the writers' side does for its steps. */
export interface WriteSide {
  /** Keeps readers out from now on; the mutex of the writers is held. */
  announce(outcome: LockOutcome): void;
  /** Gives everything back as if it had not been taken. */
  retreat(): void;
}

/**
 * A thread, or one of its tasks, that wants to write: it takes the writers' mutex, then waits for the readers to leave.
 *
 * One object for all blocking calls of a thread, one at a time.
 */
export class WriteSteps implements Steps<LockOutcome | null> {
  readonly #side: WriteSide;
  readonly #mutex: Steps<LockOutcome | null>;
  readonly #lines: ReaderLines;
  /** The word of this thread's tasks, 0 where a task asks. */
  readonly #ownTasks: number;
  readonly #spins: SpinBudget;
  #outcome: LockOutcome | null = null;
  #drained = rwLockLayout.wordCount;

  constructor(
    side: WriteSide,
    mutex: Steps<LockOutcome | null>,
    lines: ReaderLines,
    ownTasks: number,
    spins: SpinBudget,
  ) {
    this.#side = side;
    this.#mutex = mutex;
    this.#lines = lines;
    this.#ownTasks = ownTasks;
    this.#spins = spins;
  }

  begin(): Next {
    this.#outcome = null;
    this.#drained = rwLockLayout.wordCount;
    return this.#afterMutex(this.#mutex.begin());
  }

  onWake(): Next {
    return this.#outcome === null ? this.#afterMutex(this.#mutex.onWake()) : this.#drain();
  }

  /** Gives everything back, unless the last reader has just left. */
  onTimeout(): Next {
    const step = this.#outcome === null ? this.#afterMutex(this.#mutex.onTimeout()) : this.#drain();
    if (step.done) return step;
    this.#side.retreat();
    return GAVE_UP;
  }

  onAbort(): void {
    if (this.#outcome === null) this.#mutex.onAbort();
    else this.#side.retreat();
  }

  #afterMutex(step: Next): Next {
    if (!step.done || step.value === null) return step;
    this.#outcome = step.value;
    this.#side.announce(step.value);
    return this.#drain();
  }

  /** New readers stay out already, so each word is waited for once. */
  #drain(): Next {
    for (;;) {
      const index = this.#lines.findReading(this.#drained);
      if (index === 0) return ended(this.#outcome!);
      this.#drained = index;
      if (index === this.#ownTasks) {
        this.#side.retreat();
        throw relockError('rwlock', true);
      }
      const found = this.#spin(index);
      if (found !== 0) return this.#lines.writing.sleep(index, found);
    }
  }

  /** Looks for a moment whether a reader leaves. Returns its word, 0 where it need not be waited for. */
  #spin(index: number): number {
    const budget = this.#ownTasks === 0 ? 0 : this.#spins.next;
    for (let looks = 0; ; looks++) {
      const found = this.#lines.readingAt(index);
      if (found === 0 || looks >= budget) {
        this.#spins.note(looks);
        return found;
      }
      this.#lines.platform.pause();
    }
  }
}
