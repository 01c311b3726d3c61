import { type Segment, timeoutOf, type WaitAsyncOptions } from '@heddle/memory';
import { BlockedAttempt } from './blocked-attempt.js';
import { autoResetEventLayout } from './event.layout.js';
import type { LockOptions } from './exclusive-lock.js';
import {
  alonePlacement,
  createPlacement,
  handlePlacement,
  type LockHandle,
  type NameOptions,
  openPlacement,
  type Placement,
  registerRecovery,
} from './placement.js';
import { SharedObject } from './shared-object.js';
import { type Attempt, StateWord } from './state-word.js';
import { waitInTurn } from './waiting.js';
import { COURTESY, VALUE_MASK } from './word-flags.js';

const { state, taskGate } = autoResetEventLayout.offsets;

/** Taking the one pass. */
export const takeSet: Attempt<true> = {
  take: (found) => (found & VALUE_MASK ? found & ~VALUE_MASK : undefined),
  result: () => true,
};

const set = (word: number) => (word & VALUE_MASK ? undefined : (word & COURTESY) | 1);

/**
 * A turnstile: each set lets one waiter pass, now or later; a set on top of a set is one.
 *
 * **Layout**: `event.layout.ts`.
 *
 * **Ordering**: E2: what was written before `set` ↔ the CAS that takes it.
 *
 * **Death**: a waiter that dies takes no pass that it has not taken already, and no wake of anybody else.
 *
 * **Cost**, in Atomics calls: `wait` 1 load and 1 CAS where it is set; `set` 1 load and 1 CAS, and 1 notify where
 * somebody sleeps.
 */
export class AutoResetEvent extends SharedObject {
  readonly #state: StateWord;
  readonly #blocked: BlockedAttempt<true>;

  /** Makes a small segment of its own, for up to 64 threads. */
  constructor(placement: Placement = alonePlacement(autoResetEventLayout)) {
    super(autoResetEventLayout.kind, placement);
    this.#state = new StateWord(placement.words, state, taskGate, this.platform);
    this.#blocked = new BlockedAttempt(this.#state, takeSet);
  }

  /** @throws as `segment.createStructure` does. */
  static create(segment: Segment, options: NameOptions): AutoResetEvent {
    return new AutoResetEvent(createPlacement(segment, autoResetEventLayout, options));
  }

  /** @throws as `segment.openStructure` does. */
  static open(segment: Segment, name: string): AutoResetEvent {
    return new AutoResetEvent(openPlacement(segment, autoResetEventLayout, name));
  }

  /** Attaches to the segment of the handle. @throws TypeError where it is none of such an event. */
  static from(handle: LockHandle): AutoResetEvent {
    return new AutoResetEvent(handlePlacement(handle, autoResetEventLayout));
  }

  /** Lets one waiter pass, the next who comes where nobody waits. Without effect where it is set. */
  set(): void {
    this.#state.wake(this.#state.update(set), 1);
  }

  /** Takes the pass back that nobody has taken. Without effect where it is not set. */
  reset(): void {
    this.tryWait();
  }

  get isSet(): boolean {
    return (this.#state.load() & VALUE_MASK) !== 0;
  }

  /** Takes the pass if there is one. Works on every thread. */
  tryWait(): boolean {
    return this.#state.attempt(takeSet) ?? false;
  }

  /**
   * Blocks until it can take a pass.
   *
   * @returns false when the time is up.
   * @throws HeddleError `ERR_HEDDLE_MUST_NOT_BLOCK` on a thread that must not block, also when it is set.
   */
  wait(options?: LockOptions): boolean {
    return this.#blocked.run(timeoutOf(options)) ?? false;
  }

  /** Waits on the event loop. @returns false when the time is up. @throws (rejects) with `signal.reason`. */
  async waitAsync(options: WaitAsyncOptions = {}): Promise<boolean> {
    return (await waitInTurn(this.#state, takeSet, options)) ?? false;
  }

  /** Wakes everyone who sleeps, after the death of a thread. */
  recover(): void {
    this.#state.wakeAll();
  }
}

registerRecovery(autoResetEventLayout, import.meta.url, (placement) => new AutoResetEvent(placement));
