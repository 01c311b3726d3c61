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
import { lockTimedOut, notOwnerError } from './lock-errors.js';
import { ReadSteps } from './read-steps.js';
import { ReaderLines } from './reader-lines.js';
import { READING } from './rw-lock.layout.js';
import { SpinBudget } from './spin-budget.js';
import { OWNER_MASK } from './word-flags.js';

/**
 * The readers' side of the read-write lock: `RwLock` tells how the two sides work together.
 *
 * **Cost**, in Atomics calls: `lock` 1 CAS and 2 loads, `unlock` 1 CAS and 1 load while nobody writes, 1 notify more
 * while somebody wants to.
 */
export class RawReadLock implements Lock {
  readonly kind = 'rwlock';
  readonly #lines: ReaderLines;
  readonly #token: number;
  readonly #own: number;
  readonly #ofTasks: number;
  readonly #mayBlock: boolean;
  readonly #spins: SpinBudget;
  readonly #blocking: ReadSteps;
  #noted = false;

  /** @throws HeddleError `ERR_HEDDLE_THREADS_FULL` where the lock has no line for this thread. */
  constructor(words: Int32Array, token: number, platform: Platform = realPlatform, maxSpins?: number) {
    this.#lines = new ReaderLines(words, platform);
    this.#token = token;
    this.#own = this.#lines.wordOf(token, false);
    this.#ofTasks = this.#lines.wordOf(token, true);
    this.#mayBlock = platform.canBlock();
    this.#spins = new SpinBudget(maxSpins);
    this.#blocking = new ReadSteps(this.#lines, token, false, this.#spins);
  }

  get slowCounters(): SlowCounters | undefined {
    return this.#lines.writing.slowCounters;
  }

  set slowCounters(counters: SlowCounters | undefined) {
    this.#lines.writing.slowCounters = counters;
  }

  lock(timeoutMs?: number): LockOutcome {
    if (!this.#mayBlock) assertMayBlock(this.#lines.platform);
    if (timeoutMs !== undefined) deadlineAfter(timeoutMs, zero);
    const { words, platform } = this.#lines;
    this.#note();
    const outcome = runBlocking(this.#blocking, words, platform, timeoutMs);
    if (outcome === null) {
      throw lockTimedOut('rwlock', timeoutMs, this.#lines.writing.load() & OWNER_MASK, ' for reading');
    }
    return outcome;
  }

  tryLock(): LockOutcome | null {
    this.#note();
    const step = this.#blocking.tryEnter();
    if (step?.done) return step.value;
    this.#blocking.retreat();
    return null;
  }

  unlock(): void {
    this.#leave(this.#own);
  }

  unlockTask(): void {
    this.#leave(this.#ofTasks);
  }

  taskSteps(): Steps<LockOutcome | null> {
    this.#note();
    return new ReadSteps(this.#lines, this.#token, true, this.#spins);
  }

  /** Only a writer can put the data in order. @throws HeddleError `ERR_HEDDLE_NOT_OWNER`. */
  markConsistent(): void {
    throw notOwnerError('rwlock', this.#lines.writing.load() & OWNER_MASK, false, ' for writing');
  }

  owner(): number {
    const index = this.#lines.findReading();
    return index === 0 ? 0 : this.#lines.load(index) & OWNER_MASK;
  }

  /** The lines of both sides: the writers' side has the rest. */
  recover(deadToken: number): void {
    this.#lines.recover(deadToken);
  }

  /** Before the first time that it may read. */
  #note(): void {
    if (this.#noted) return;
    this.#lines.noteReader(this.#token);
    this.#noted = true;
  }

  #leave(index: number): void {
    if (!this.#lines.change(index, this.#token | READING, 0)) {
      throw notOwnerError('rwlock', this.owner(), index === this.#own, ' for reading');
    }
    if (this.#lines.writing.load() & OWNER_MASK) this.#lines.notify(index);
  }
}

const zero = () => 0;
