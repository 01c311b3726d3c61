import { whenAborted } from './abort-listeners.js';
import { HeddleError } from './errors.js';
import type { Platform } from './platform.js';
import type { Step, Steps } from './steps.js';
import { type Deadline, deadlineAfter, timeoutOf } from './timeout.js';

export interface WaitAsyncOptions {
  /** Milliseconds. 0 and negative try once, absent and `Infinity` wait for ever, NaN is a RangeError. */
  readonly timeout?: number | undefined;
  /** Gives the wait up; the promise rejects with `signal.reason`. */
  readonly signal?: AbortSignal | undefined;
  /** Whether the wait keeps the event loop alive. Default true: an awaited promise should settle. */
  readonly ref?: boolean | undefined;
}

/**
 * The one pending `Atomics.waitAsync` of this thread on a word, and the tasks that share it.
 *
 * A pending `waitAsync` cannot be taken back, and eats a wake if it is merely forgotten. So the last task that
 * gives up notifies everyone on the word: that takes the entry off the engine's list at once, without a turn
 * of this event loop, and hands on a wake that was already on its way here. The others look again and sleep on.
 */
class SharedWait {
  static readonly #pending = new WeakMap<ArrayBufferLike, Map<number, SharedWait>>();

  readonly #tasks = new Set<() => void>();

  /**
   * Adds a task that waits while the word is `expected`.
   *
   * @returns a function by which it gives up, or undefined where there is nothing to wait for: look again.
   */
  static join(
    words: Int32Array,
    index: number,
    expected: number,
    platform: Platform,
    onWake: () => void,
  ): (() => void) | undefined {
    const { atomics } = platform;
    let byOffset = SharedWait.#pending.get(words.buffer);
    if (!byOffset) {
      byOffset = new Map();
      SharedWait.#pending.set(words.buffer, byOffset);
    }
    const offset = words.byteOffset + index * words.BYTES_PER_ELEMENT;
    let shared = byOffset.get(offset);
    if (shared) {
      // Its entry was on the engine's list before this load: a change after it brings a wake, or brought one whose
      // callback is still to come.
      if (atomics.load(words, index) !== expected) return undefined;
    } else {
      const answer = atomics.waitAsync!(words, index, expected);
      if (!answer.async) return undefined;
      const created = new SharedWait();
      shared = created;
      byOffset.set(offset, created);
      void answer.value.then(() => {
        if (byOffset.get(offset) === created) byOffset.delete(offset);
        // One task may make another give up: that one is not called any more.
        for (const wake of [...created.#tasks]) if (created.#tasks.delete(wake)) wake();
      });
    }
    const joined = shared;
    joined.#tasks.add(onWake);
    return () => {
      if (!joined.#tasks.delete(onWake) || joined.#tasks.size > 0) return;
      if (byOffset.get(offset) === joined) byOffset.delete(offset);
      atomics.notify(words, index);
    };
  }
}

/** A run of a step machine: settles its promise once, and leaves nothing behind. */
class AsyncRun<Result> {
  readonly #steps: Steps<Result>;
  readonly #words: Int32Array;
  readonly #platform: Platform;
  readonly #signal: AbortSignal | undefined;
  readonly #deadline: Deadline;
  readonly #resolve: (value: Result) => void;
  readonly #reject: (reason: unknown) => void;
  #release: (() => void) | undefined;
  #cancelTimer: (() => void) | undefined;
  #forgetSignal: (() => void) | undefined;
  #leave: (() => void) | undefined;
  #settled = false;

  constructor(
    steps: Steps<Result>,
    words: Int32Array,
    platform: Platform,
    options: WaitAsyncOptions,
    deadline: Deadline,
    resolve: (value: Result) => void,
    reject: (reason: unknown) => void,
  ) {
    this.#steps = steps;
    this.#words = words;
    this.#platform = platform;
    this.#signal = options.signal;
    this.#deadline = deadline;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#release = options.ref === false ? undefined : platform.keepAlive();
    this.#forgetSignal = this.#signal && whenAborted(this.#signal, this.#onAbort);
  }

  start(): void {
    this.#advance(() => this.#steps.begin());
    this.#armTimer();
  }

  #advance(next: () => Step<Result>): void {
    try {
      let step = next();
      while (!step.done) {
        if (this.#leftMs() <= 0) {
          step = this.#steps.onTimeout();
          continue;
        }
        this.#leave = SharedWait.join(this.#words, step.index, step.expected, this.#platform, this.#onWake);
        if (this.#leave) return;
        step = this.#steps.onWake();
      }
      this.#finish();
      this.#resolve(step.value);
    } catch (error) {
      this.#finish();
      this.#reject(error);
    }
  }

  readonly #onWake = (): void => {
    this.#leave = undefined;
    if (!this.#settled) this.#advance(() => this.#steps.onWake());
  };

  readonly #onAbort = (): void => {
    try {
      this.#steps.onAbort();
      this.#finish();
      this.#reject(this.#signal!.reason);
    } catch (error) {
      this.#finish();
      this.#reject(error);
    }
  };

  /** A timer may be early, or shorter than what is left: then it is armed again. */
  #armTimer(): void {
    const leftMs = this.#leftMs();
    if (this.#settled || leftMs === Infinity) return;
    if (leftMs > 0) this.#cancelTimer = this.#platform.schedule(() => this.#armTimer(), leftMs);
    else this.#advance(() => this.#steps.onTimeout());
  }

  #leftMs(): number {
    return this.#deadline === Infinity ? Infinity : this.#deadline - this.#platform.now();
  }

  /** Leaves the word only after the machine's last step, so that a wake handed on finds what that step wrote. */
  #finish(): void {
    this.#settled = true;
    this.#leave?.();
    this.#leave = undefined;
    this.#cancelTimer?.();
    this.#forgetSignal?.();
    this.#release?.();
  }
}

/**
 * Runs a step machine on the event loop: the shell of promises under which every asynchronous form stands.
 *
 * @throws (rejects) with `signal.reason` when aborted; HeddleError `ERR_HEDDLE_UNSUPPORTED` where the engine
 *   has no `Atomics.waitAsync`; TypeError or RangeError for a bad timeout. Nothing has happened then.
 */
export async function runAsync<Result>(
  steps: Steps<Result>,
  words: Int32Array,
  platform: Platform,
  options: WaitAsyncOptions = {},
): Promise<Result> {
  const deadline = deadlineAfter(timeoutOf(options), platform.now);
  options.signal?.throwIfAborted();
  if (!platform.atomics.waitAsync) {
    throw new HeddleError(
      'ERR_HEDDLE_UNSUPPORTED',
      'This engine has no Atomics.waitAsync: use the blocking form on a thread that may block',
    );
  }
  return new Promise<Result>((resolve, reject) => {
    new AsyncRun(steps, words, platform, options, deadline, resolve, reject).start();
  });
}
