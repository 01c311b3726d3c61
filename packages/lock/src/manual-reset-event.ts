import { type Segment, timeoutOf, type WaitAsyncOptions } from '@heddle/memory';
import { BlockedAttempt } from './blocked-attempt.js';
import { GENERATION_MASK, manualResetEventLayout, SET } from './event.layout.js';
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
import { type Attempt, EVERYONE, StateWord } from './state-word.js';
import { waitAsTask } from './waiting.js';

const { state, taskGate } = manualResetEventLayout.offsets;

/** Seeing the event set, or set again since the first look. */
export class SeenSet implements Attempt<true> {
  readonly shared = true;
  #generation = -1;

  /** For another wait. */
  restart(): void {
    this.#generation = -1;
  }

  take(found: number): number | undefined {
    const generation = found & GENERATION_MASK;
    if (this.#generation === -1) this.#generation = generation;
    return found & SET || generation !== this.#generation ? found : undefined;
  }

  result(): true {
    return true;
  }
}

const set = (word: number) => (word & SET ? undefined : ((word + 1) & GENERATION_MASK) | SET);

/**
 * A door: everyone passes while it is set, everyone waits while it is not.
 *
 * **Layout**: `event.layout.ts`. A set is counted, so whoever waits when it is set passes, also where it is reset
 * before they look.
 *
 * **Ordering**: E1: what was written before `set` ↔ the look that sees it set.
 *
 * **Death**: a waiter that dies takes nothing with it; recovery wakes everyone, and they look again.
 *
 * **Cost**, in Atomics calls: `wait` 1 load where it is set; `set` 1 load and 1 CAS, and 1 notify where somebody
 * sleeps.
 *
 * **Limit**: a thread that does not run for 2^23 sets, and wakes between a reset and the next set, waits on.
 */
export class ManualResetEvent extends SharedObject {
  readonly #state: StateWord;
  readonly #seen = new SeenSet();
  readonly #blocked: BlockedAttempt<true>;

  /** Makes a small segment of its own, for up to 64 threads. */
  constructor(placement: Placement = alonePlacement(manualResetEventLayout)) {
    super(manualResetEventLayout.kind, placement);
    this.#state = new StateWord(placement.words, state, taskGate, this.platform);
    this.#blocked = new BlockedAttempt(this.#state, this.#seen);
  }

  /** @throws as `segment.createStructure` does. */
  static create(segment: Segment, options: NameOptions): ManualResetEvent {
    return new ManualResetEvent(createPlacement(segment, manualResetEventLayout, options));
  }

  /** @throws as `segment.openStructure` does. */
  static open(segment: Segment, name: string): ManualResetEvent {
    return new ManualResetEvent(openPlacement(segment, manualResetEventLayout, name));
  }

  /** Attaches to the segment of the handle. @throws TypeError where it is none of such an event. */
  static from(handle: LockHandle): ManualResetEvent {
    return new ManualResetEvent(handlePlacement(handle, manualResetEventLayout));
  }

  /** Lets everyone pass, from now until {@link reset}. Without effect where it is set. */
  set(): void {
    this.#state.wake(this.#state.update(set), EVERYONE);
  }

  /** Makes everyone wait who comes from now on. Without effect where it is not set. */
  reset(): void {
    this.#state.atomics.and(this.#state.words, state, ~SET);
  }

  get isSet(): boolean {
    return (this.#state.load() & SET) !== 0;
  }

  /**
   * Blocks until it is set.
   *
   * @returns false when the time is up.
   * @throws HeddleError `ERR_HEDDLE_MUST_NOT_BLOCK` on a thread that must not block, also when it is set.
   */
  wait(options?: LockOptions): boolean {
    this.#seen.restart();
    return this.#blocked.run(timeoutOf(options)) ?? false;
  }

  /** Waits on the event loop. @returns false when the time is up. @throws (rejects) with `signal.reason`. */
  async waitAsync(options: WaitAsyncOptions = {}): Promise<boolean> {
    return (await waitAsTask(this.#state, new SeenSet(), options)) ?? false;
  }

  /** Wakes everyone who sleeps, after the death of a thread. */
  recover(): void {
    this.#state.wakeAll();
  }
}

registerRecovery(manualResetEventLayout, import.meta.url, (placement) => new ManualResetEvent(placement));
