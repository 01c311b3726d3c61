import {
  HeddleError,
  runAsync,
  runBlocking,
  type Segment,
  timeoutOf,
  type WaitAsyncOptions,
  WORD_BYTES,
} from '@heddle/memory';
import { barrierLayout, MAX_PARTIES } from './barrier.layout.js';
import { type BarrierOutcome, BarrierSteps, later } from './barrier-steps.js';
import type { LockOptions } from './exclusive-lock.js';
import { timedOutError } from './lock-errors.js';
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
import { StateWord } from './state-word.js';
import { POISONED } from './word-flags.js';

const { state, taskGate, parties, members } = barrierLayout.offsets;

export interface BarrierOptions {
  /** How many threads make a round: 1 to 512. */
  readonly parties: number;
}

/**
 * A place where a fixed number of threads wait for each other, round after round.
 *
 * **Layout**: `barrier.layout.ts`. **States** of `state`: POISONED, broken; else the round and how many are there.
 * **Invariant**: arrived < parties; the arrival that makes them equal begins the next round in the same step, so a
 * fast thread that comes back finds a fresh round and disturbs nobody who is still leaving the last one.
 *
 * **Ordering**: B1: what was written before an arrival ↔ the last arrival, and the look that sees the next round.
 *
 * **Ownership**: a place in `members` by CAS from 0, then that of its thread, until it leaves or is recovered.
 *
 * **Death** of a thread that has taken part, at whatever point: the round cannot be completed any more, so the
 * barrier breaks, and everyone who waits or comes gets `ERR_HEDDLE_POISONED` until somebody calls {@link reset}.
 * A thread that ends for good calls {@link leave} first. One that has never arrived cannot be missed; use a timeout.
 *
 * **Cost**, in Atomics calls: `wait` 1 load and 1 CAS to arrive, and for the last one 1 notify.
 */
export class Barrier extends SharedObject {
  readonly #state: StateWord;
  readonly #parties: number;
  readonly #token: number;
  #joined = false;
  #waiting = false;

  /** Makes a small segment of its own, for up to 64 threads. @throws RangeError for a bad number of parties. */
  constructor(options: BarrierOptions | Placement) {
    const placement =
      'words' in options
        ? options
        : alonePlacement(barrierLayout, initialised(options), byteLengthFor(options.parties));
    super(barrierLayout.kind, placement);
    this.#token = placement.token;
    this.#state = new StateWord(placement.words, state, taskGate, this.platform);
    this.#parties = this.#state.atomics.load(placement.words, parties);
  }

  /** @throws RangeError for a bad number of parties; as `segment.createStructure` does. */
  static create(segment: Segment, options: NameOptions & BarrierOptions): Barrier {
    const init = initialised(options);
    return new Barrier(
      createPlacement(segment, barrierLayout, options, init, byteLengthFor(options.parties)),
    );
  }

  /** @throws as `segment.openStructure` does. */
  static open(segment: Segment, name: string): Barrier {
    return new Barrier(openPlacement(segment, barrierLayout, name));
  }

  /** Attaches to the segment of the handle. @throws TypeError where it is none of a barrier. */
  static from(handle: LockHandle): Barrier {
    return new Barrier(handlePlacement(handle, barrierLayout));
  }

  /** How many threads make a round. */
  get parties(): number {
    return this.#parties;
  }

  /**
   * Arrives, and blocks until all parties have. One of them gets `'last'`.
   *
   * @throws HeddleError `ERR_HEDDLE_TIMED_OUT`, the arrival having been taken back; `ERR_HEDDLE_POISONED` where
   *   the barrier is broken; `ERR_HEDDLE_RELOCK` where a task of this thread waits there; `ERR_HEDDLE_EXHAUSTED` where more threads take part than there are parties;
   *   `ERR_HEDDLE_MUST_NOT_BLOCK`.
   */
  wait(options: LockOptions = {}): BarrierOutcome {
    const steps = this.#arrival(false);
    try {
      return this.#ended(runBlocking(steps, this.#state.words, this.platform, timeoutOf(options)), options);
    } finally {
      this.#waiting = false;
    }
  }

  /** The same on the event loop. @throws (rejects) with `signal.reason` when aborted, the arrival taken back. */
  async waitAsync(options: WaitAsyncOptions = {}): Promise<BarrierOutcome> {
    const steps = this.#arrival(true);
    try {
      return this.#ended(await runAsync(steps, this.#state.words, this.platform, options), options);
    } finally {
      this.#waiting = false;
    }
  }

  /** Gives this thread's place to another one: what it does from now on breaks nothing. */
  leave(): void {
    const { atomics, words } = this.#state;
    for (let i = 0; i < this.#parties; i++) atomics.compareExchange(words, members + i, this.#token, 0);
    this.#joined = false;
  }

  /** Whether a thread that takes part has died, and nobody has called {@link reset} since. */
  get broken(): boolean {
    return (this.#state.load() & POISONED) !== 0;
  }

  /** Begins a new round with nobody there; who waits in a broken one has been told. Without effect where it is whole. */
  reset(): void {
    this.#state.update((word) => (word & POISONED ? later(word, 2) : undefined));
  }

  /** Breaks the barrier where the dead thread takes part in it, and wakes everyone who sleeps. */
  recover(deadToken: number): void {
    const { atomics, words } = this.#state;
    for (let i = 0; i < this.#parties; i++) {
      if (atomics.load(words, members + i) !== deadToken) continue;
      atomics.or(words, state, POISONED);
      atomics.compareExchange(words, members + i, deadToken, 0);
    }
    this.#state.wakeAll();
  }

  #arrival(asTask: boolean): BarrierSteps {
    if (this.#waiting) {
      throw new HeddleError(
        'ERR_HEDDLE_RELOCK',
        'A task of this thread waits at the barrier already: a thread is one party, whatever its tasks do',
      );
    }
    if (!this.#joined) this.#join();
    this.#waiting = true;
    return new BarrierSteps(this.#state, this.#parties, asTask);
  }

  /** Takes a place among the members, where this thread has none. */
  #join(): void {
    const { atomics, words } = this.#state;
    for (let i = 0; i < this.#parties && !this.#joined; i++) {
      this.#joined = atomics.load(words, members + i) === this.#token;
    }
    for (let i = 0; i < this.#parties && !this.#joined; i++) {
      this.#joined = atomics.compareExchange(words, members + i, 0, this.#token) === 0;
    }
    if (this.#joined) return;
    throw new HeddleError(
      'ERR_HEDDLE_EXHAUSTED',
      `The barrier is for ${this.#parties} threads, and as many take part already: create it with more parties, or let one leave`,
      { parties: this.#parties },
    );
  }

  #ended(outcome: BarrierOutcome | null, options: { readonly timeout?: number | undefined }): BarrierOutcome {
    if (outcome === null) throw timedOutError('Waiting for the other parties', options.timeout);
    return outcome;
  }
}

function byteLengthFor(partyCount: number): number {
  return (members + partyCount) * WORD_BYTES;
}

function initialised({ parties: partyCount }: BarrierOptions): (words: Int32Array) => void {
  if (!Number.isInteger(partyCount) || partyCount < 1 || partyCount > MAX_PARTIES) {
    throw new RangeError(
      `The parties of a barrier are a whole number from 1 to ${MAX_PARTIES}, not ${partyCount}`,
    );
  }
  return (words) => {
    words[parties] = partyCount;
  };
}

registerRecovery(barrierLayout, import.meta.url, (placement) => new Barrier(placement));
