import { assertMayBlock, deadlineAfter, type Platform, type Step, type Steps } from '@heddle/memory';
import type { Lock, LockOutcome } from './lock.js';

/** What a lock counts on its slow path. */
export interface SlowCounters {
  /** How often this thread, or a task of it, slept. */
  parked: number;
  /** How often it was got because it had been kept for this thread: as the first in line, past those who run. */
  handedOver: number;
}

/** What has happened to a lock through one object, so in one thread, since counting began. */
export interface LockCounters extends SlowCounters {
  /** How often it was got. */
  acquisitions: number;
  /** How often it was not free when it was asked for. */
  contended: number;
  /** The longest that a call has waited for it, in milliseconds, whether or not it got it. */
  longestWaitMs: number;
}

/**
 * A lock that counts.
 *
 * The lock under it does not know, save for its slow path; where nobody counts, it costs nothing.
 */
export class CountedLock implements Lock {
  readonly kind: string;
  readonly counters: LockCounters = {
    acquisitions: 0,
    contended: 0,
    parked: 0,
    handedOver: 0,
    longestWaitMs: 0,
  };
  readonly #inner: Lock;
  readonly #platform: Platform;

  constructor(inner: Lock, platform: Platform) {
    this.kind = inner.kind;
    this.#inner = inner;
    this.#platform = platform;
    inner.slowCounters = this.counters;
  }

  lock(timeoutMs?: number): LockOutcome {
    deadlineAfter(timeoutMs, zero);
    assertMayBlock(this.#platform);
    const free = this.#inner.tryLock();
    if (free !== null) {
      this.counters.acquisitions++;
      return free;
    }
    const since = this.#platform.now();
    this.counters.contended++;
    try {
      const outcome = this.#inner.lock(timeoutMs);
      this.counters.acquisitions++;
      return outcome;
    } finally {
      this.#waited(since);
    }
  }

  tryLock(): LockOutcome | null {
    const outcome = this.#inner.tryLock();
    if (outcome === null) this.counters.contended++;
    else this.counters.acquisitions++;
    return outcome;
  }

  unlock(): void {
    this.#inner.unlock();
  }

  markConsistent(): void {
    this.#inner.markConsistent();
  }

  taskSteps(): Steps<LockOutcome | null> {
    const steps = this.#inner.taskSteps();
    const since = this.#platform.now();
    let contended = false;
    const count = (step: Step<LockOutcome | null>): Step<LockOutcome | null> => {
      if (!step.done && !contended) {
        contended = true;
        this.counters.contended++;
      }
      if (step.done && contended) this.#waited(since);
      if (step.done && step.value !== null) this.counters.acquisitions++;
      return step;
    };
    return {
      begin: () => count(steps.begin()),
      onWake: () => count(steps.onWake()),
      onTimeout: () => count(steps.onTimeout()),
      onAbort: () => {
        this.#waited(since);
        steps.onAbort();
      },
    };
  }

  unlockTask(): void {
    this.#inner.unlockTask();
  }

  owner(): number {
    return this.#inner.owner();
  }

  recover(deadToken: number): void {
    this.#inner.recover(deadToken);
  }

  #waited(since: number): void {
    const waitedMs = this.#platform.now() - since;
    this.counters.longestWaitMs = Math.max(this.counters.longestWaitMs, waitedMs);
  }
}

const zero = () => 0;
