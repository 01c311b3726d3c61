import { type Platform, realPlatform } from '@heddle/memory';
import { HeirLine } from './heir-line.js';
import { LineAcquisition } from './line-acquisition.js';
import { mutexLayout } from './mutex.layout.js';
import type { OwnerAttempt } from './owner-attempt.js';
import { OwnerWord } from './owner-word.js';
import { SpinBudget } from './spin-budget.js';
import { StateWord } from './state-word.js';
import { OWNER_MASK, RESERVED } from './word-flags.js';

const { state, taskGate, heir } = mutexLayout.offsets;

/**
 * The algorithm of the mutex: a futex word with its owner's token, behind which blocked threads queue.
 *
 * **Layout**: `mutex.layout.ts`. **States** of `state`: {@link OwnerWord}. `heir`: {@link HeirLine}.
 *
 * **Invariants**: only the heir sleeps on `state`; everyone else who blocks sleeps on `heir`, until it is woken to be the next.
 * So a release wakes one thread, and the engine's first-in-first-out lists keep the order. RESERVED is set only
 * while `heir` names who set it.
 *
 * **Fairness**: a running thread may take the lock before the heir does. An heir that has waited a millisecond
 * reserves the lock for itself, so each place in the queue costs a millisecond and two sections at most.
 * A task cannot hold a place, since its event loop may be busy for long: it tries again at every release, and
 * one that has waited a millisecond sets COURTESY, which makes those who block step aside for a moment. Nobody
 * ever depends on the event loop of another thread.
 *
 * **Death** of the heir: recovery takes RESERVED away, then the place. The rest as in {@link OwnerWord}.
 *
 * **Cost**, in Atomics calls: `lock` 1 CAS and `unlock` 1 CAS while nobody waits; a release to a sleeper 2 CAS and
 * 1 notify.
 *
 * After: Drepper, "Futexes are tricky" (2004), for the word; Go's `sync.Mutex` for the millisecond.
 */
export class RawMutex extends OwnerWord {
  readonly #line: HeirLine;
  readonly #spins: SpinBudget;

  /**
   * @param words the words of {@link mutexLayout}, zero at first.
   * @param token of this thread: 1 to 2^24 - 1.
   * @param maxSpins looks before parking at most.
   */
  constructor(
    words: Int32Array,
    token: number,
    platform: Platform = realPlatform,
    maxSpins?: number,
    kind = 'mutex',
  ) {
    super(kind, new StateWord(words, state, taskGate, platform), token);
    this.#line = new HeirLine(this.state, heir, token);
    this.#spins = new SpinBudget(maxSpins);
  }

  protected override blockedSteps(attempt: OwnerAttempt): LineAcquisition {
    return new LineAcquisition(this.state, this.#line, attempt, this.#spins);
  }

  protected override recoverWaiting(deadToken: number): void {
    const { atomics, words } = this.state;
    // In this order: a new heir, who may reserve again, comes only after the place is free.
    if ((atomics.load(words, heir) & OWNER_MASK) === deadToken) atomics.and(words, state, ~RESERVED);
    this.#line.recover(deadToken);
  }
}
