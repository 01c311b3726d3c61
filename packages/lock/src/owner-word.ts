import { assertMayBlock, deadlineAfter, type Platform, runBlocking, type Steps } from '@heddle/memory';
import type { Lock, LockOutcome } from './lock.js';
import type { SlowCounters } from './lock-counters.js';
import { lockTimedOut, notOwnerError } from './lock-errors.js';
import { disown, HELD_MASK, OwnerAttempt } from './owner-attempt.js';
import { EVERYONE, type StateWord } from './state-word.js';
import { TaskAttempt } from './task-attempt.js';
import { COURTESY, OWNER_DIED, OWNER_MASK, POISONED, RESERVED, TASK_OWNS } from './word-flags.js';

/**
 * A lock whose state word names its owner: what the mutex and the spin lock have in common. They differ in how a
 * thread waits that blocks.
 *
 * **States** of the state word, owner and flags:
 *
 * | owner | flags       | meaning                                                                             |
 * |-------|-------------|-------------------------------------------------------------------------------------|
 * | 0     | (none)      | free                                                                                |
 * | 0     | RESERVED    | free for the heir alone (mutex)                                                     |
 * | 0     | COURTESY    | free; who blocks takes it after a moment, so that a task has its chance             |
 * | 0     | OWNER_DIED  | free; the next owner is told                                                        |
 * | 0     | POISONED    | nobody gets it any more                                                             |
 * | t     | (none)      | t has it, and nobody waits                                                          |
 * | t     | TASK_OWNS   | a task of t has it                                                                  |
 * | t     | OWNER_DIED  | t has it and was told of a death; without markConsistent its release poisons        |
 * | any   | SLEEPER     | somebody sleeps on the word: a release notifies one                                 |
 * | any   | TASKS_WAIT  | tasks sleep on the gate: a release opens it                                         |
 *
 * **Ordering**: O1: what the owner wrote before the release ↔ the CAS that takes the word. O2: the release, then
 * the gate + 1 ↔ the gate read, then the word tried, then the wait on the gate.
 *
 * **Death** of the owner: recovery sets OWNER_DIED. Between release and notify, or woken and not yet acting:
 * recovery wakes everyone, at every death. A task that dies leaves at most TASKS_WAIT and COURTESY, which cost the
 * next release a notify and the next blocked thread a moment.
 *
 * **Cost**, in Atomics calls: `lock` 1 CAS and `unlock` 1 CAS while nobody waits.
 */
export abstract class OwnerWord implements Lock {
  readonly kind: string;
  protected readonly state: StateWord;
  protected readonly token: number;
  readonly #words: Int32Array;
  readonly #index: number;
  readonly #token: number;
  readonly #atomics: Platform['atomics'];
  readonly #mayBlock: boolean;
  readonly #attempt: OwnerAttempt;
  readonly #sleepersToWake: number;
  #blocking: Steps<LockOutcome | null> | undefined;

  /** @param sleepersToWake how many of those who sleep on the word a release wakes. */
  protected constructor(kind: string, state: StateWord, token: number, sleepersToWake = 1) {
    this.#sleepersToWake = sleepersToWake;
    this.kind = kind;
    this.state = state;
    this.token = token;
    this.#words = state.words;
    this.#index = state.index;
    this.#token = token;
    this.#atomics = state.atomics;
    this.#mayBlock = state.platform.canBlock();
    this.#attempt = new OwnerAttempt(kind, token, 0);
  }

  /** Makes the steps of a thread that waits by blocking: once, for all its calls. */
  protected abstract blockedSteps(attempt: OwnerAttempt): Steps<LockOutcome | null>;

  /** Gives up what this thread has kept in line while it had the lock; after a release that found it RESERVED. */
  protected passOn(): void {}

  /** Takes back what the dead thread had as one who waits; in a mutex the place of the heir. */
  protected recoverWaiting(_deadToken: number): void {}

  get slowCounters(): SlowCounters | undefined {
    return this.state.slowCounters;
  }

  set slowCounters(counters: SlowCounters | undefined) {
    this.state.slowCounters = counters;
  }

  lock(timeoutMs?: number): LockOutcome {
    if (!this.#mayBlock) assertMayBlock(this.state.platform);
    if (timeoutMs !== undefined) deadlineAfter(timeoutMs, zero);
    const found = this.#atomics.compareExchange(this.#words, this.#index, 0, this.#token);
    return found === 0 ? 'acquired' : this.#lockSlow(timeoutMs);
  }

  #lockSlow(timeoutMs: number | undefined): LockOutcome {
    const outcome = runBlocking(this.blockingSteps(), this.#words, this.state.platform, timeoutMs);
    if (outcome === null) throw lockTimedOut(this.kind, timeoutMs, this.owner());
    return outcome;
  }

  tryLock(): LockOutcome | null {
    const found = this.#atomics.compareExchange(this.#words, this.#index, 0, this.#token);
    return found === 0 ? 'acquired' : (this.state.attempt(this.#attempt, found) ?? null);
  }

  unlock(): void {
    const found = this.#atomics.compareExchange(this.#words, this.#index, this.#token, 0);
    if (found !== this.#token) this.#unlockSlow(found, this.#token);
  }

  unlockTask(): void {
    const held = this.#token | TASK_OWNS;
    const found = this.#atomics.compareExchange(this.#words, this.#index, held, 0);
    if (found !== held) this.#unlockSlow(found, held);
  }

  #unlockSlow(first: number, held: number): void {
    if ((first & HELD_MASK) !== held) throw this.#notOwner(first);
    // The owner's token keeps everyone else from changing more than flags.
    const found = this.state.update(released, first)!;
    // Whoever finds the lock poisoned takes nothing, and so wakes nobody after itself.
    this.state.wake(found, found & OWNER_DIED ? EVERYONE : this.#sleepersToWake);
    if (found & RESERVED) this.passOn();
  }

  /** Gives back what this thread, or a task of it, took and did not use: a death is told to the next one. */
  giveBack(asTask: boolean): void {
    const held = this.#token | (asTask ? TASK_OWNS : 0);
    const found = this.state.update((word) => {
      if ((word & HELD_MASK) !== held) throw this.#notOwner(word);
      return word & (RESERVED | COURTESY | OWNER_DIED);
    });
    this.state.wake(found, this.#sleepersToWake);
  }

  /** @throws HeddleError `ERR_HEDDLE_NOT_OWNER` where this thread, or a task of it, does not have it. 1 load. */
  assertHeld(asTask: boolean): void {
    const found = this.state.load();
    if ((found & HELD_MASK) !== (this.#token | (asTask ? TASK_OWNS : 0))) throw this.#notOwner(found);
  }

  /** The steps of this thread when it takes it by blocking: one object, for one call at a time. */
  blockingSteps(): Steps<LockOutcome | null> {
    this.#blocking ??= this.blockedSteps(this.#attempt);
    return this.#blocking;
  }

  markConsistent(): void {
    const found = this.state.load();
    // Task or not: the caller speaks for the data.
    if ((found & OWNER_MASK) !== this.#token) throw this.#notOwner(found);
    if (found & OWNER_DIED) this.#atomics.and(this.#words, this.#index, ~OWNER_DIED);
  }

  taskSteps(): Steps<LockOutcome | null> {
    return new TaskAttempt(this.state, new OwnerAttempt(this.kind, this.#token, TASK_OWNS));
  }

  owner(): number {
    return this.state.load() & OWNER_MASK;
  }

  /** Whether this thread has it, outside of its tasks. 1 load. */
  protected holds(): boolean {
    return (this.state.load() & HELD_MASK) === this.#token;
  }

  recover(deadToken: number): void {
    disown(this.state, deadToken);
    this.recoverWaiting(deadToken);
    this.state.wakeAll();
  }

  #notOwner(found: number): Error {
    return notOwnerError(this.kind, found & OWNER_MASK, (found & TASK_OWNS) !== 0);
  }
}

const zero = () => 0;
const released = (word: number) => (word & OWNER_DIED ? POISONED : word & (RESERVED | COURTESY));
