import { HeddleError, type Platform, realPlatform } from '@heddle/memory';
import type { LockOutcome } from './lock.js';
import { RawMutex } from './raw-mutex.js';
import { recursiveMutexLayout } from './recursive-mutex.layout.js';

const { depth } = recursiveMutexLayout.offsets;

/** Most times that an owner may have it beyond the first. */
const MAX_DEPTH = 2 ** 31 - 1;

/**
 * The algorithm of the recursive mutex: a {@link RawMutex} whose owner counts how often it has it.
 *
 * **Layout**: `recursive-mutex.layout.ts`. **Ownership**: `depth` is touched by the owner alone, so it needs no
 * Atomics; everything shared is as in the mutex.
 *
 * **Cost**, in Atomics calls: the first `lock` 1 load and 1 CAS, the last `unlock` 1 load and 1 CAS; the others 1
 * load.
 */
export class RawRecursiveMutex extends RawMutex {
  readonly #words: Int32Array;

  constructor(words: Int32Array, token: number, platform: Platform = realPlatform, maxSpins?: number) {
    super(words, token, platform, maxSpins, 'recursive-mutex');
    this.#words = words;
  }

  override lock(timeoutMs?: number): LockOutcome {
    return this.#again() ? 'acquired' : this.#first(super.lock(timeoutMs));
  }

  override tryLock(): LockOutcome | null {
    return this.#again() ? 'acquired' : this.#first(super.tryLock());
  }

  override unlock(): void {
    const deeper = this.#words[depth]!;
    if (deeper > 0 && this.holds()) this.#words[depth] = deeper - 1;
    else super.unlock();
  }

  #again(): boolean {
    if (!this.holds()) return false;
    const deeper = this.#words[depth]!;
    if (deeper === MAX_DEPTH) {
      throw new HeddleError('ERR_HEDDLE_EXHAUSTED', `This thread holds the lock ${MAX_DEPTH} times already`);
    }
    this.#words[depth] = deeper + 1;
    return true;
  }

  /** The owner has it once. */
  #first<Outcome extends LockOutcome | null>(outcome: Outcome): Outcome {
    // Whatever a dead owner left.
    if (outcome !== null) this.#words[depth] = 0;
    return outcome;
  }
}
