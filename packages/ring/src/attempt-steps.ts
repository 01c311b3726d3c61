import {
  assertMayBlock,
  assertSpins,
  DEFAULT_SPINS,
  type Deadline,
  deadlineAfter,
  type Platform,
  runBlocking,
  type Step,
  type Steps,
  timeoutOf,
  type WaitOptions,
} from '@heddle/memory';

/** What is tried until it succeeds, and what to sleep on in between. */
export interface Attempt {
  /** @returns whether it succeeded. */
  attempt(): boolean;
  /**
   * After an attempt that failed: announces a sleep and looks once more.
   *
   * @returns undefined where the attempt is to be repeated, else what to sleep on.
   */
  lookBeforeSleep(): Step<boolean> | undefined;
}

/** Steps with an attempt that can also be made by itself. */
export interface AttemptingSteps extends Steps<boolean> {
  attempt(): boolean;
}

/** The steps of waiting until an attempt succeeds. */
export class AttemptSteps implements AttemptingSteps {
  readonly #what: Attempt;
  /** The word that was slept on last. */
  #sleepsOn: number | undefined;

  constructor(what: Attempt) {
    this.#what = what;
  }

  attempt(): boolean {
    return this.#what.attempt();
  }

  begin(): Step<boolean> {
    // Each round but the last is one in which another thread moved on.
    for (;;) {
      if (this.attempt()) return { done: true, value: true };
      const sleep = this.#what.lookBeforeSleep();
      if (sleep) return this.#note(sleep);
    }
  }

  onWake(): Step<boolean> {
    return this.begin();
  }

  onTimeout(): Step<boolean> {
    return { done: true, value: this.attempt() };
  }

  onAbort(): void {}

  /** Makes a sleeper try again, after something of its own thread changed. */
  wake(words: Int32Array, { atomics }: Platform): void {
    if (this.#sleepsOn !== undefined) atomics.notify(words, this.#sleepsOn);
  }

  #note(sleep: Step<boolean>): Step<boolean> {
    if (!sleep.done) this.#sleepsOn = sleep.index;
    return sleep;
  }
}

/**
 * What every blocking form begins with.
 *
 * @throws HeddleError `ERR_HEDDLE_MUST_NOT_BLOCK` on a thread that must not block; TypeError or RangeError for bad
 *   options.
 */
export function beginBlocking(platform: Platform, options: WaitOptions): Deadline {
  assertMayBlock(platform);
  const timeout = timeoutOf(options);
  assertSpins(options.spins ?? DEFAULT_SPINS);
  return deadlineAfter(timeout, platform.now);
}

/** Goes on after a first attempt that failed: tries `spins` times, then parks. Returns false when the time is up. */
export function blockUntil(
  steps: AttemptingSteps,
  words: Int32Array,
  platform: Platform,
  deadline: Deadline,
  spins = DEFAULT_SPINS,
): boolean {
  if (deadline !== Infinity && deadline <= platform.now()) return false;
  for (let spin = 0; spin < spins; spin++) {
    platform.pause();
    if (steps.attempt()) return true;
  }
  const leftMs = deadline === Infinity ? Infinity : deadline - platform.now();
  return runBlocking(steps, words, platform, leftMs);
}
