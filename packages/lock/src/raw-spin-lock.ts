import { type Platform, realPlatform, type Step, type Steps } from '@heddle/memory';
import { BlockedAttempt } from './blocked-attempt.js';
import type { LockOutcome } from './lock.js';
import type { OwnerAttempt } from './owner-attempt.js';
import { OwnerWord } from './owner-word.js';
import { spinLockLayout } from './spin-lock.layout.js';
import { StateWord } from './state-word.js';
import { COURTESY } from './word-flags.js';

const { state, taskGate } = spinLockLayout.offsets;

/** Looks before parking, unless told otherwise. With the pauses between them about ten microseconds. */
const DEFAULT_LOOKS = 64;
/** Pauses between two looks at most. */
const MAX_PAUSES = 64;

/**
 * The algorithm of the spin lock: test and test-and-set with exponential backoff, which parks past its cap.
 *
 * **Layout**: `spin-lock.layout.ts`. **States, ordering, death**: {@link OwnerWord}. Sleepers sleep on `state`, one
 * is woken by a release, and looks and spins anew.
 *
 * **Fairness**: none among those who block. A task that has waited a millisecond is given its moment.
 *
 * **Cost**, in Atomics calls: `lock` 1 CAS and `unlock` 1 CAS while nobody waits; a look 1 load.
 *
 * After: Anderson, "The performance of spin lock alternatives for shared-memory multiprocessors" (1990).
 */
export class RawSpinLock extends OwnerWord {
  readonly #looks: number;

  /**
   * @param words the words of {@link spinLockLayout}, zero at first.
   * @param token of this thread: 1 to 2^24 - 1.
   * @param looks before parking.
   */
  constructor(
    words: Int32Array,
    token: number,
    platform: Platform = realPlatform,
    looks: number = DEFAULT_LOOKS,
  ) {
    super('spinlock', new StateWord(words, state, taskGate, platform), token);
    this.#looks = looks;
  }

  protected override blockedSteps(attempt: OwnerAttempt): Steps<LockOutcome | null> {
    return new SpinningAcquisition(this.state, attempt, this.#looks);
  }
}

/** A thread that spins before each sleep. */
class SpinningAcquisition extends BlockedAttempt<LockOutcome> {
  readonly #state: StateWord;
  readonly #attempt: OwnerAttempt;
  readonly #looks: number;

  constructor(state: StateWord, attempt: OwnerAttempt, looks: number) {
    super(state, attempt);
    this.#state = state;
    this.#attempt = attempt;
    this.#looks = looks;
  }

  override begin(): Step<LockOutcome | null> {
    this.#spin();
    return super.begin();
  }

  override onWake(): Step<LockOutcome | null> {
    this.#spin();
    return super.onWake();
  }

  /** Looks until the lock seems free, or for long enough. A hint: what follows looks again. */
  #spin(): void {
    const { platform } = this.#state;
    let pauses = 1;
    for (let looks = 0; looks < this.#looks; looks++) {
      const found = this.#state.load();
      if (found & COURTESY || this.#attempt.take(found) !== undefined) return;
      for (let i = 0; i < pauses; i++) platform.pause();
      pauses = Math.min(pauses * 2, MAX_PAUSES);
    }
  }
}
