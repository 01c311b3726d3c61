import { runBlocking, type Step, type Steps } from '@heddle/memory';
import type { Attempt, StateWord } from './state-word.js';
import { COURTESY, SLEEPER } from './word-flags.js';

/**
 * A thread that blocks until its attempt succeeds, asleep on the state word. One object for all calls of a thread, one
 * at a time.
 *
 * Every failing look leaves SLEEPER set, and who has slept sets it again when it succeeds, since others may sleep
 * still. So a wake that goes to a thread that runs out of time, or that finds the word taken again, is made good
 * by the next change.
 */
export class BlockedAttempt<Result> implements Steps<Result | null> {
  readonly #word: StateWord;
  readonly #attempt: Attempt<Result>;
  readonly #done: { readonly done: true; value: Result | null } = { done: true, value: null };
  #slept = 0;
  #steppedAside = false;

  constructor(word: StateWord, attempt: Attempt<Result>) {
    this.#word = word;
    this.#attempt = attempt;
  }

  /** Blocks until the attempt succeeds; null when the time is up. */
  run(timeoutMs?: number): Result | null {
    return runBlocking(this, this.#word.words, this.#word.platform, timeoutMs);
  }

  begin(): Step<Result | null> {
    this.#slept = 0;
    this.#steppedAside = false;
    return this.#look();
  }

  onWake(): Step<Result | null> {
    this.#slept = SLEEPER;
    return this.#look();
  }

  onTimeout(): Step<Result | null> {
    this.#done.value = null;
    return this.#done;
  }

  /** Never called: a blocking call cannot be aborted. */
  onAbort(): void {}

  #look(): Step<Result | null> {
    const word = this.#word;
    let found = word.load();
    for (;;) {
      const taken = this.#attempt.take(found);
      if (taken !== undefined && found & COURTESY && !this.#steppedAside) {
        this.#steppedAside = true;
        found = word.stepAside();
        continue;
      }
      const wanted = taken === undefined ? found | SLEEPER : (taken & ~COURTESY) | this.#slept;
      const before = word.change(found, wanted);
      if (before === found) {
        if (taken !== undefined) return this.#taken(found, taken);
        return word.sleep(word.index, wanted);
      }
      found = before;
    }
  }

  #taken(found: number, taken: number): Step<Result | null> {
    const word = this.#word;
    if (this.#slept !== 0 && this.#attempt.leavesMore?.(taken))
      word.atomics.notify(word.words, word.index, 1);
    this.#done.value = this.#attempt.result(found);
    return this.#done;
  }
}
