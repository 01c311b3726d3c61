import { type Platform, runAsync, type Step, type Steps, type WaitAsyncOptions } from '@heddle/memory';
import { laneLayout } from './lane.layout.js';

const { head } = laneLayout.offsets;

/** Something that is tried until it is done. */
export interface Attempt {
  /** @returns whether it is done. @throws where it cannot be done any more. */
  attempt(): boolean;
  /** After an attempt that was not done: what to sleep on, undefined where it is to be repeated. */
  sleep(): Step<never> | undefined;
}

/** The steps of trying until it is done. Done with false: the time is up. */
export class AttemptSteps implements Steps<boolean> {
  readonly #attempt: Attempt;

  constructor(attempt: Attempt) {
    this.#attempt = attempt;
  }

  begin(): Step<boolean> {
    // Each round but the last is one in which the other side moved on, or closed.
    for (;;) {
      if (this.#attempt.attempt()) return { done: true, value: true };
      const sleep = this.#attempt.sleep();
      if (sleep) return sleep;
    }
  }

  onWake(): Step<boolean> {
    return this.begin();
  }

  onTimeout(): Step<boolean> {
    return { done: true, value: this.#attempt.attempt() };
  }

  onAbort(): void {}
}

/**
 * The asynchronous sends of one thread on one lane, first come first served. All sleep on the lane's head; each that
 * ends wakes the others to look for their turn.
 */
export class SendQueue {
  readonly #words: Int32Array;
  readonly #platform: Platform;
  readonly #waiting: object[] = [];

  constructor(words: Int32Array, platform: Platform) {
    this.#words = words;
    this.#platform = platform;
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  join(entry: object): void {
    this.#waiting.push(entry);
  }

  #isFirst(entry: object): boolean {
    return this.#waiting[0] === entry;
  }

  leave(entry: object): void {
    const at = this.#waiting.indexOf(entry);
    this.#waiting.splice(at, 1);
    if (at === 0 && this.#waiting.length > 0) this.wake();
  }

  /** Makes all that wait look again. 1 notify. */
  wake(): void {
    this.#platform.atomics.notify(this.#words, head);
  }

  /**
   * Waits until everything that waits now is over. Resolves to false when the time is up.
   *
   * @throws (rejects) what `assertOpen` throws meanwhile.
   */
  async passed(assertOpen: () => void, options: WaitAsyncOptions): Promise<boolean> {
    const entry = {};
    this.join(entry);
    try {
      return await runAsync(this.turn(entry, assertOpen), this.#words, this.#platform, options);
    } finally {
      this.leave(entry);
    }
  }

  /**
   * The steps of waiting for one's turn, which lasts until {@link leave}.
   *
   * @param assertOpen of who waits: another one may keep the lane open. What it throws ends the wait.
   */
  turn(entry: object, assertOpen: () => void): Steps<boolean> {
    return new AttemptSteps({
      attempt: () => {
        assertOpen();
        return this.#isFirst(entry);
      },
      sleep: () => this.#sleepForTurn(entry),
    });
  }

  #sleepForTurn(entry: object): Step<never> | undefined {
    const expected = this.#platform.atomics.load(this.#words, head);
    return this.#isFirst(entry) ? undefined : { done: false, index: head, expected };
  }
}
