import type { LockOutcome } from './lock.js';
import { poisonedError, relockError } from './lock-errors.js';
import type { Attempt, StateWord } from './state-word.js';
import { COURTESY, OWNER_DIED, OWNER_MASK, POISONED, RESERVED, TASK_OWNS } from './word-flags.js';

/** What tells one holder from another: the thread, and whether one of its tasks has it. */
export const HELD_MASK = OWNER_MASK | TASK_OWNS;

/** Takes a word from a dead owner, if it has it, and notes the death in it. Can be repeated. */
export function disown(word: StateWord, deadToken: number): void {
  word.update((found) =>
    (found & OWNER_MASK) === deadToken ? (found & ~HELD_MASK) | OWNER_DIED : undefined,
  );
}

/** Taking a word that names its owner. */
export class OwnerAttempt implements Attempt<LockOutcome> {
  readonly #kind: string;
  readonly #token: number;
  /** TASK_OWNS for tasks, else 0. */
  readonly #asTask: number;

  constructor(kind: string, token: number, asTask: number) {
    this.#kind = kind;
    this.#token = token;
    this.#asTask = asTask;
  }

  take(found: number): number | undefined {
    if (found & POISONED) throw poisonedError(this.#kind);
    const owner = found & OWNER_MASK;
    if (owner === this.#token) this.#refuseRelock(found);
    if (owner !== 0 || (found & RESERVED && !this.#mayPass(found))) return undefined;
    return found | this.#token | this.#asTask;
  }

  result(found: number): LockOutcome {
    return found & OWNER_DIED ? 'owner-died' : 'acquired';
  }

  /** The first in line steps aside for a task that has waited for long. */
  #mayPass(found: number): boolean {
    return this.#asTask !== 0 && (found & COURTESY) !== 0;
  }

  /** A task waits for another task of its thread; everything else would wait for itself. */
  #refuseRelock(found: number): void {
    const byTask = (found & TASK_OWNS) !== 0;
    if (!byTask || this.#asTask === 0) throw relockError(this.#kind, byTask);
  }
}
