import {
  assertMayBlock,
  deadlineAfter,
  type Platform,
  realPlatform,
  runBlocking,
  type Steps,
} from '@heddle/memory';
import type { Lock, LockOutcome } from './lock.js';
import type { SlowCounters } from './lock-counters.js';
import { lockTimedOut, relockError } from './lock-errors.js';
import { RawMutex } from './raw-mutex.js';
import { ReaderLines } from './reader-lines.js';
import { READING } from './rw-lock.layout.js';
import { SpinBudget } from './spin-budget.js';
import { OWNER_DIED, OWNER_MASK, POISONED } from './word-flags.js';
import { type WriteSide, WriteSteps } from './write-steps.js';

/**
 * The writers' side of the read-write lock: `RwLock` tells how the two sides work together.
 *
 * **Cost**, in Atomics calls, `r` the highest id of a thread that has ever read: `lock` 2 CAS and 4 + 2 `r` loads,
 * `unlock` 2 CAS and 2 + 2 `r` loads while nobody waits.
 */
export class RawWriteLock implements Lock {
  readonly kind = 'rwlock';
  readonly #mutex: RawMutex;
  readonly #lines: ReaderLines;
  readonly #token: number;
  readonly #ownWord: number;
  readonly #ownTasks: number;
  readonly #mayBlock: boolean;
  readonly #spins: SpinBudget;
  readonly #blocking: WriteSteps;

  /** @throws HeddleError `ERR_HEDDLE_THREADS_FULL` where the lock has no line for this thread. */
  constructor(words: Int32Array, token: number, platform: Platform = realPlatform, maxSpins?: number) {
    this.#mutex = new RawMutex(words, token, platform, maxSpins, 'rwlock');
    this.#lines = new ReaderLines(words, platform);
    this.#token = token;
    this.#ownWord = this.#lines.wordOf(token, false);
    this.#ownTasks = this.#lines.wordOf(token, true);
    this.#mayBlock = platform.canBlock();
    this.#spins = new SpinBudget(maxSpins);
    this.#blocking = this.#steps(this.#mutex.blockingSteps(), false);
  }

  get slowCounters(): SlowCounters | undefined {
    return this.#mutex.slowCounters;
  }

  set slowCounters(counters: SlowCounters | undefined) {
    this.#lines.writing.slowCounters = counters;
    this.#mutex.slowCounters = counters;
  }

  lock(timeoutMs?: number): LockOutcome {
    if (!this.#mayBlock) assertMayBlock(this.#lines.platform);
    if (timeoutMs !== undefined) deadlineAfter(timeoutMs, zero);
    this.#refuseUpgrade(false);
    const { words, platform } = this.#lines;
    const outcome = runBlocking(this.#blocking, words, platform, timeoutMs);
    if (outcome === null) throw lockTimedOut('rwlock', timeoutMs, this.owner(), ' for writing');
    return outcome;
  }

  tryLock(): LockOutcome | null {
    this.#refuseUpgrade(false);
    const outcome = this.#mutex.tryLock();
    if (outcome === null) return null;
    this.#announce(outcome);
    if (this.#lines.findReading() === 0) return outcome;
    this.#retreat(false);
    return null;
  }

  unlock(): void {
    this.#leave(false);
  }

  unlockTask(): void {
    this.#leave(true);
  }

  markConsistent(): void {
    this.#mutex.markConsistent();
    this.#lines.writing.update((found) => (found & OWNER_DIED ? found & ~OWNER_DIED : undefined));
  }

  taskSteps(): Steps<LockOutcome | null> {
    this.#refuseUpgrade(true);
    return this.#steps(this.#mutex.taskSteps(), true);
  }

  owner(): number {
    return this.#mutex.owner();
  }

  recover(deadToken: number): void {
    recoverRwLock(this.#lines, this.#mutex, deadToken);
  }

  #steps(mutex: Steps<LockOutcome | null>, asTask: boolean): WriteSteps {
    const side: WriteSide = {
      announce: (outcome) => this.#announce(outcome),
      retreat: () => this.#retreat(asTask),
    };
    return new WriteSteps(side, mutex, this.#lines, asTask ? 0 : this.#ownTasks, this.#spins);
  }

  #announce(outcome: LockOutcome): void {
    const died = outcome === 'owner-died' ? OWNER_DIED : 0;
    this.#lines.writing.update(replaced, 0, this.#token | died);
  }

  #retreat(asTask: boolean): void {
    this.#lines.writing.update(keptDeath, this.#token);
    this.#lines.admit();
    this.#mutex.giveBack(asTask);
  }

  /** In this order: readers are let in before the next writer can keep them out. */
  #leave(asTask: boolean): void {
    this.#mutex.assertHeld(asTask);
    this.#lines.writing.update(released, this.#token);
    this.#lines.admit();
    if (asTask) this.#mutex.unlockTask();
    else this.#mutex.unlock();
  }

  /** Two readers that both wait for the other to leave would wait for ever. */
  #refuseUpgrade(asTask: boolean): void {
    if (this.#lines.load(this.#ownWord) & READING) throw relockError('rwlock', false);
    if (!asTask && this.#lines.load(this.#ownTasks) & READING) throw relockError('rwlock', true);
  }
}

/** What a dead thread had on either side goes back, and everyone who sleeps wakes. */
export function recoverRwLock(lines: ReaderLines, mutex: RawMutex, deadToken: number): void {
  // While the mutex is still the dead writer's: after it, `writing` may be that of the next one, and a reader that
  // was let in then would meet it.
  lines.writing.update((found) =>
    (found & OWNER_MASK) === deadToken ? (found & POISONED) | OWNER_DIED : undefined,
  );
  if (mutex.owner() === deadToken) lines.admit();
  mutex.recover(deadToken);
  lines.recover(deadToken);
}

const zero = () => 0;
const replaced = (_found: number, wanted: number) => wanted;
const keptDeath = (found: number) => found & OWNER_DIED;
const released = (found: number) => (found & OWNER_DIED ? POISONED : 0);
