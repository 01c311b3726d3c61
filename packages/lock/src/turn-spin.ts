import type { StateWord } from './state-word.js';

/**
 * How long a thread in line looks before it sleeps, in milliseconds: about twice what it takes until a thread that
 * sleeps runs again. With less, two threads that each have a core stay asleep in turn once one of them has slept.
 */
const MAX_SPIN_MS = 0.1;
/** Looks between two looks at the clock. */
const LOOKS = 64;
/** Ends a spin where the clock stands still. */
const MAX_CLOCK_READS = 1024;
/** Most waits in a row without a spin. */
const MAX_GAP = 255;

/**
 * Looks at a word before parking, for as long as the wake of a sleeper takes, while that is of use.
 *
 * With a core for each thread nearly every spin ends with the turn of the thread. With more threads than cores it
 * takes the core from those in front, and in vain: so after each one in vain twice as many waits go without, up to 255,
 * and what is left costs less than the hundredth part of the time. One that is of use ends that.
 *
 * One thread's object for one lock. The idea is the exponential backoff of Ethernet, on spins in place of sends.
 */
export class TurnSpin {
  readonly #maxMs: number;
  /** Waits without a spin after the next one in vain, and of these those to come. */
  #gap = 0;
  #left = 0;

  /** @param maxMs 0 never spins. */
  constructor(maxMs: number = MAX_SPIN_MS) {
    this.#maxMs = maxMs;
  }

  /** Whether the next wait is to spin. */
  isDue(): boolean {
    if (this.#maxMs === 0) return false;
    if (this.#left === 0) return true;
    this.#left--;
    return false;
  }

  /** Whether the word has changed from `expected` after a moment. A hint. Cost: 1 load a look. */
  seesChange(state: StateWord, index: number, expected: number): boolean {
    const changed = this.#look(state, index, expected);
    this.#gap = changed ? 0 : Math.min(2 * this.#gap + 1, MAX_GAP);
    this.#left = this.#gap;
    return changed;
  }

  #look({ atomics, words, platform }: StateWord, index: number, expected: number): boolean {
    let deadline = Infinity;
    for (let reads = 0; reads < MAX_CLOCK_READS; reads++) {
      for (let looks = 0; looks < LOOKS; looks++) {
        if (atomics.load(words, index) !== expected) return true;
        platform.pause();
      }
      const now = platform.now();
      if (now >= deadline) return false;
      if (deadline === Infinity) deadline = now + this.#maxMs;
    }
    return false;
  }
}
