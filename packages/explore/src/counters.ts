import type { StateVector } from './state-vector.js';

/** The simulated clock counts whole milliseconds of 31 bits. */
const MAX_TIME = 2 ** 31 - 1;

/** What the state vector holds of the schedule as a whole: time, and how much of each budget is spent. */
export class Counters {
  readonly #state: StateVector;
  readonly #clock: number;
  readonly #kills: number;
  readonly #jumps: number;
  readonly #preemptions: number;
  readonly #last: number;

  constructor(state: StateVector) {
    this.#state = state;
    this.#clock = state.allocate(1);
    this.#kills = state.allocate(1);
    this.#jumps = state.allocate(1);
    this.#preemptions = state.allocate(1);
    this.#last = state.allocate(1);
  }

  /** Simulated time in milliseconds. */
  get time(): number {
    return this.#state.values[this.#clock]!;
  }

  setTime(time: number): void {
    this.#state.put(this.#clock, clampTime(time));
  }

  /** Deaths so far. */
  get kills(): number {
    return this.#state.values[this.#kills]!;
  }

  addKill(): void {
    this.#state.put(this.#kills, this.kills + 1);
  }

  /** Jumps of the clock so far. */
  get jumps(): number {
    return this.#state.values[this.#jumps]!;
  }

  addJump(): void {
    this.#state.put(this.#jumps, this.jumps + 1);
  }

  /** Switches away from a thread that could go on. Counted under a bound only. */
  get preemptions(): number {
    return this.#state.values[this.#preemptions]!;
  }

  addPreemption(): void {
    this.#state.put(this.#preemptions, this.preemptions + 1);
  }

  /** The thread that did the last step, -1 before the first. Kept under a bound only. */
  get lastThread(): number {
    return this.#state.values[this.#last]! - 1;
  }

  setLastThread(thread: number): void {
    this.#state.put(this.#last, thread + 1);
  }
}

/** A time as the clock can hold it. */
export function clampTime(time: number): number {
  return Math.min(Math.ceil(time), MAX_TIME);
}
