import type { Platform, Step } from '@heddle/memory';
import type { SlowCounters } from './lock-counters.js';
import { COURTESY, OWNER_MASK, RESERVED, SLEEPER, TASKS_WAIT } from './word-flags.js';

/** How long somebody waits before others have to step aside, in milliseconds. */
export const PATIENCE_MS = 1;

/** More than may sleep on a word. Not `Infinity`, of which the engine makes an object where it is passed on. */
export const EVERYONE = 2 ** 30;

/** How long a thread that blocks steps aside for a task that has waited for long, in milliseconds. */
const COURTESY_MS = 1;

/**
 * What may be done to a state word in one step, as those who wait for it see it.
 *
 * Pure: looks at the word that it is given and at nothing else that is shared.
 */
export interface Attempt<Result> {
  /**
   * The word after this attempt succeeded, undefined while it cannot.
   *
   * @throws where it never will.
   */
  take(found: number): number | undefined;
  /** What the caller gets for having changed `found`. */
  result(found: number): Result;
  /** Whether success takes nothing from anybody, so that nobody has to step aside. */
  readonly shared?: boolean;
  /** Whether the word, as it was left, has something for one more sleeper: then a thread that was woken wakes it. */
  leavesMore?(taken: number): boolean;
}

/** A state word, and the gate at which tasks wait for it. */
export class StateWord {
  readonly words: Int32Array;
  readonly platform: Platform;
  readonly atomics: Platform['atomics'];
  readonly index: number;
  readonly gateIndex: number;
  /** Where set, sleeps and hand-overs are counted there. */
  slowCounters: SlowCounters | undefined;
  readonly #sleep = { done: false as const, index: 0, expected: 0 };

  constructor(words: Int32Array, index: number, gateIndex: number, platform: Platform) {
    this.words = words;
    this.index = index;
    this.gateIndex = gateIndex;
    this.platform = platform;
    this.atomics = platform.atomics;
  }

  load(): number {
    return this.atomics.load(this.words, this.index);
  }

  /** @returns the word as it was: the change happened if that is `found`. No call where there is nothing to change. */
  change(found: number, wanted: number): number {
    if (wanted === found) return found;
    return this.atomics.compareExchange(this.words, this.index, found, wanted);
  }

  /**
   * Changes the word to what `next` makes of it, in one step; not at all where that is undefined.
   *
   * @param first what the word is taken to be at first: a hint.
   * @param argument for `next`, so that it need not be a closure.
   * @returns the word as it was, undefined where it was not changed.
   */
  update(
    next: (found: number, argument: number) => number | undefined,
    first: number = this.load(),
    argument = 0,
  ): number | undefined {
    let found = first;
    for (;;) {
      const wanted = next(found, argument);
      if (wanted === undefined) return undefined;
      const before = this.change(found, wanted);
      if (before === found) return found;
      found = before;
    }
  }

  /** One attempt, without waiting; undefined where it would have to. */
  attempt<Result>(attempt: Attempt<Result>, first = this.load()): Result | undefined {
    let found = first;
    for (;;) {
      const wanted = attempt.take(found);
      if (wanted === undefined) return undefined;
      const before = this.change(found, wanted & ~COURTESY);
      if (before === found) return attempt.result(found);
      found = before;
    }
  }

  /** Takes back what is reserved for nobody any more, so that tasks and tries can get it. */
  unreserve(): void {
    const found = this.update(unreserved);
    if (found !== undefined && !(found & OWNER_MASK) && found & TASKS_WAIT) this.openGate();
  }

  /** A step that sleeps while the word at `index` is as expected. One object, good until the next call. */
  sleep(index: number, expected: number): Step<never> {
    if (this.slowCounters) this.slowCounters.parked++;
    this.#sleep.index = index;
    this.#sleep.expected = expected;
    return this.#sleep;
  }

  /** Wakes whom the flags in `found` say to wait, after the change that {@link update} answered it for. */
  wake(found: number | undefined, sleepers: number): void {
    if (found === undefined) return;
    if (found & SLEEPER) this.atomics.notify(this.words, this.index, sleepers);
    if (found & TASKS_WAIT) this.openGate();
  }

  /** Wakes everyone, as recovery does after every death. */
  wakeAll(): void {
    this.atomics.notify(this.words, this.index);
    this.openGate();
  }

  openGate(): void {
    this.atomics.add(this.words, this.gateIndex, 1);
    this.atomics.notify(this.words, this.gateIndex);
  }

  /**
   * Waits for a moment, so that a task that has waited for long can take what is free: at most a millisecond,
   * whatever becomes of the task. Returns the word.
   */
  stepAside(): number {
    const gate = this.atomics.load(this.words, this.gateIndex);
    this.atomics.wait(this.words, this.gateIndex, gate, COURTESY_MS);
    return this.load();
  }
}

function unreserved(word: number): number | undefined {
  if (!(word & RESERVED)) return undefined;
  return word & ~(word & OWNER_MASK ? RESERVED : RESERVED | TASKS_WAIT);
}
