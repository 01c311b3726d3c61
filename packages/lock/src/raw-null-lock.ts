import { type AtomicsLike, HeddleError, idOf, type Platform, realPlatform, type Steps } from '@heddle/memory';
import { BlockedAttempt } from './blocked-attempt.js';
import type { LockOutcome } from './lock.js';
import { nullLockLayout } from './null-lock.layout.js';
import type { OwnerAttempt } from './owner-attempt.js';
import { OwnerWord } from './owner-word.js';
import { StateWord } from './state-word.js';

const { state, taskGate, thread } = nullLockLayout.offsets;

/**
 * The algorithm of the null lock: the word of {@link OwnerWord} without Atomics, bound to the first thread that
 * uses it.
 *
 * **Layout**: `null-lock.layout.ts`. **Ownership**: `thread` by one CAS from 0; `state` by that thread, or by who
 * recovers it.
 *
 * **Death** of the bound thread: recovery frees `state` as in any other lock, then `thread`, so that another thread
 * may take over, and is told if the dead one held it.
 *
 * **Cost**, in Atomics calls: 1 load and 1 CAS at the first use by a thread, none after that.
 */
export class RawNullLock extends OwnerWord {
  readonly #words: Int32Array;
  readonly #token: number;
  readonly #atomics: AtomicsLike;
  #bound = false;

  /**
   * @param words the words of {@link nullLockLayout}, zero at first.
   * @param token of this thread: 1 to 2^24 - 1.
   */
  constructor(words: Int32Array, token: number, platform: Platform = realPlatform) {
    const alone = { ...platform, atomics: plainAtomics(platform.atomics), canBlock: () => true };
    super('none', new StateWord(words, state, taskGate, alone), token);
    this.#words = words;
    this.#token = token;
    this.#atomics = platform.atomics;
  }

  override lock(timeoutMs?: number): LockOutcome {
    if (!this.#bound) this.#bind();
    return super.lock(timeoutMs);
  }

  override tryLock(): LockOutcome | null {
    if (!this.#bound) this.#bind();
    return super.tryLock();
  }

  override unlock(): void {
    if (!this.#bound) this.#bind();
    super.unlock();
  }

  override taskSteps(): Steps<LockOutcome | null> {
    if (!this.#bound) this.#bind();
    return super.taskSteps();
  }

  override recover(deadToken: number): void {
    if (this.#atomics.load(this.#words, thread) !== deadToken) return;
    super.recover(deadToken);
    this.#atomics.compareExchange(this.#words, thread, deadToken, 0);
  }

  /** Never sleeps: there is nobody to wait for. */
  protected override blockedSteps(attempt: OwnerAttempt): Steps<LockOutcome | null> {
    return new BlockedAttempt(this.state, attempt);
  }

  /** @throws HeddleError `ERR_HEDDLE_WRONG_THREAD` where another thread uses it. */
  #bind(): void {
    const owner =
      this.#atomics.load(this.#words, thread) ||
      this.#atomics.compareExchange(this.#words, thread, 0, this.#token);
    if (owner !== 0 && owner !== this.#token) {
      throw new HeddleError(
        'ERR_HEDDLE_WRONG_THREAD',
        `This lock of kind "none" is for one thread, and thread ${idOf(owner)} uses it: choose another kind of lock, such as "mutex"`,
        { thread: idOf(owner) },
      );
    }
    this.#bound = true;
  }
}

/** The operations that a lock of one thread needs, on words that no other thread touches. */
function plainAtomics(real: AtomicsLike): AtomicsLike {
  const update = (change: (old: number, value: number) => number) => {
    return (words: Int32Array, index: number, value: number): number => {
      const old = words[index]!;
      words[index] = change(old, value);
      return old;
    };
  };
  return {
    load: (words, index) => words[index]!,
    store: (words, index, value) => {
      words[index] = value;
      return value;
    },
    add: update((old, value) => old + value),
    sub: update((old, value) => old - value),
    and: update((old, value) => old & value),
    or: update((old, value) => old | value),
    xor: update((old, value) => old ^ value),
    exchange: update((_old, value) => value),
    compareExchange: (words, index, expected, replacement) => {
      const old = words[index]!;
      if (old === expected) words[index] = replacement;
      return old;
    },
    wait: (words, index, expected, timeoutMs) => real.wait(words, index, expected, timeoutMs),
    notify: (words, index, count) => real.notify(words, index, count),
    ...(real.waitAsync && {
      waitAsync: (words: Int32Array, index: number, expected: number, timeoutMs?: number) =>
        real.waitAsync!(words, index, expected, timeoutMs),
    }),
  };
}
