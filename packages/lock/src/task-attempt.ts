import type { Step, Steps } from '@heddle/memory';
import { type Attempt, PATIENCE_MS, type StateWord } from './state-word.js';
import { COURTESY, TASKS_WAIT } from './word-flags.js';

/**
 * A task that waits on its event loop until its attempt succeeds: it tries at every change, and holds no place and
 * no wake of anybody else, so that it can be given up at any moment.
 *
 * One that has waited for a millisecond sets COURTESY with each further try.
 */
export class TaskAttempt<Result> implements Steps<Result | null> {
  readonly #word: StateWord;
  readonly #attempt: Attempt<Result>;
  #since: number | undefined;

  constructor(word: StateWord, attempt: Attempt<Result>) {
    this.#word = word;
    this.#attempt = attempt;
  }

  begin(): Step<Result | null> {
    return this.onWake();
  }

  onWake(): Step<Result | null> {
    const word = this.#word;
    // Before the attempt: a change after that opens the gate and ends the sleep.
    const gate = word.atomics.load(word.words, word.gateIndex);
    let found = word.load();
    for (;;) {
      const taken = this.#attempt.take(found);
      const wanted =
        taken === undefined ? found | TASKS_WAIT | (this.#hasWaitedLong() ? COURTESY : 0) : taken & ~COURTESY;
      const before = word.change(found, wanted);
      if (before !== found) {
        found = before;
        continue;
      }
      if (taken !== undefined) return { done: true, value: this.#attempt.result(found) };
      return word.sleep(word.gateIndex, gate);
    }
  }

  onTimeout(): Step<Result | null> {
    return { done: true, value: null };
  }

  onAbort(): void {}

  #hasWaitedLong(): boolean {
    if (this.#attempt.shared) return false;
    const now = this.#word.platform.now();
    this.#since ??= now;
    return now - this.#since >= PATIENCE_MS;
  }
}
