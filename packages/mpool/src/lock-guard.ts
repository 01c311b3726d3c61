import { createLock, type Lock, type LockKind, type LockOutcome } from '@heddle/lock';
import { assertMayBlock, type Platform } from '@heddle/memory';
import type { Guard } from './guard.js';
import { isInHurry, stalled } from './latch.js';

/** How often a thread that must not block tries before it gives up: some milliseconds. */
const TRIES_WITHOUT_BLOCKING = 100_000;

/** Any lock of `@heddle/lock` as the guard of a free list. */
export class LockGuard implements Guard {
  readonly #lock: Lock;
  readonly #platform: Platform;

  /** @param words of the lock alone. */
  constructor(kind: LockKind, words: Int32Array, token: number, platform: Platform) {
    this.#lock = createLock(kind, words, token, platform);
    this.#platform = platform;
  }

  /** @throws HeddleError `ERR_HEDDLE_MUST_NOT_BLOCK` on a thread that must not block, after some milliseconds. */
  acquire(repair: () => void): void {
    const outcome = this.#platform.canBlock() && !isInHurry() ? this.#lock.lock() : this.#tryOften();
    if (outcome !== 'owner-died') return;
    repair();
    this.#lock.markConsistent();
  }

  #tryOften(): LockOutcome {
    for (let tries = 0; tries < TRIES_WITHOUT_BLOCKING; tries++) {
      const outcome = this.#lock.tryLock();
      if (outcome !== null) return outcome;
      this.#platform.pause();
    }
    if (isInHurry()) throw stalled();
    assertMayBlock(this.#platform);
    return this.#lock.lock();
  }

  release(): void {
    this.#lock.unlock();
  }

  /** The next owner is told, and repairs. */
  recover(deadToken: number): void {
    this.#lock.recover(deadToken);
  }
}
