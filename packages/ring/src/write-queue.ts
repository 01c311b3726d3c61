import type { Platform } from '@heddle/memory';
import { type Attempt, AttemptSteps } from './attempt-steps.js';

/** Writes a record, if there is room now, and leaves the queue then. */
export type Write = Attempt['attempt'];

/**
 * The asynchronous writes of one thread on one ring, first come first served: one that needs little room does not
 * overtake one that needs much. All sleep on the same word, and are woken in the order of the queue: as many are
 * written at one wake as there is room for.
 */
export class WriteQueue {
  readonly #words: Int32Array;
  readonly #index: number;
  readonly #atomics: Platform['atomics'];
  readonly #lookBeforeSleep: Attempt['lookBeforeSleep'];
  readonly #waiting: Write[] = [];

  /**
   * @param index of the word on which others than the first sleep: the one that changes when room comes.
   * @param lookBeforeSleep the first's.
   */
  constructor(
    words: Int32Array,
    index: number,
    { atomics }: Platform,
    lookBeforeSleep: Attempt['lookBeforeSleep'],
  ) {
    this.#words = words;
    this.#index = index;
    this.#atomics = atomics;
    this.#lookBeforeSleep = lookBeforeSleep;
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  /** Puts a write at the end. @returns the steps of waiting for its turn, and then for room. */
  enter(write: Write): AttemptSteps {
    this.#waiting.push(write);
    const isFirst = () => this.#waiting[0] === write;
    return new AttemptSteps({
      attempt: () => isFirst() && write(),
      lookBeforeSleep: () => {
        if (isFirst()) return this.#lookBeforeSleep();
        const expected = this.#atomics.load(this.#words, this.#index);
        return { done: false, index: this.#index, expected };
      },
    });
  }

  /** Takes a write out, done or given up. Nothing happens where it is not in. */
  leave(write: Write): void {
    const at = this.#waiting.indexOf(write);
    if (at < 0) return;
    this.#waiting.splice(at, 1);
    if (at === 0) this.wake();
  }

  /** Wakes those who wait to look whether it is their turn. 1 notify where there are any. */
  wake(): void {
    if (!this.isEmpty) this.#atomics.notify(this.#words, this.#index);
  }
}
