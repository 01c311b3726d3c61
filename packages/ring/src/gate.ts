import type { AtomicsLike, Step } from '@heddle/memory';
import type { AttemptingSteps } from './attempt-steps.js';

/** Set in the word while somebody sleeps at the gate, or is about to. */
const SLEEPING = 1;

/**
 * A word at which any number of threads sleep until something changes elsewhere: the flag that elides notifies, and
 * a count that makes each wake a change.
 *
 * ```
 *  bit 31 ............ 1   0
 *     | wakes           | sleeping |
 * ```
 *
 * **Protocol.** A sleeper announces itself, looks again at what it waits for, and then sleeps on the value that
 * `announce` gave. Who changes what others wait for does so first, and then wakes. **Ordering**: G1: the change,
 * before the load in `wake` ↔ the CAS in `announce`, before the sleeper's second look. One of the two sees the other.
 *
 * Everyone is woken; who finds nothing announces itself again. So no wake is given to one thread in place of another.
 *
 * **Death** of a waker between its two steps: recovery calls `wakeAll`.
 *
 * **Cost**, in Atomics calls: `wake` 1 load; 1 CAS and 1 notify more where somebody sleeps.
 */
export class Gate {
  readonly index: number;
  readonly #words: Int32Array;
  readonly #atomics: AtomicsLike;

  constructor(words: Int32Array, index: number, atomics: AtomicsLike) {
    this.index = index;
    this.#words = words;
    this.#atomics = atomics;
  }

  /** @returns the value to sleep on. */
  announce(): number {
    const word = this.#atomics.load(this.#words, this.index);
    if (word & SLEEPING) return word;
    // Where it fails, somebody else announced, and perhaps was woken: then the sleep does not begin.
    this.#atomics.compareExchange(this.#words, this.index, word, word | SLEEPING);
    return word | SLEEPING;
  }

  wake(): void {
    const word = this.#atomics.load(this.#words, this.index);
    if ((word & SLEEPING) === 0) return;
    // Adding 1 takes the flag off and counts. Where it fails, another waker did it for these sleepers.
    if (this.#atomics.compareExchange(this.#words, this.index, word, (word + 1) | 0) === word) {
      this.#atomics.notify(this.#words, this.index);
    }
  }

  /** Wakes also those whose waker died between its two steps. */
  wakeAll(): void {
    this.wake();
    this.#atomics.notify(this.#words, this.index);
  }
}

/** The steps of an attempt that is repeated after each wake at a gate. */
export class GateSteps implements AttemptingSteps {
  readonly #gate: Gate;
  readonly attempt: () => boolean;

  constructor(gate: Gate, attempt: () => boolean) {
    this.#gate = gate;
    this.attempt = attempt;
  }

  begin(): Step<boolean> {
    const expected = this.#gate.announce();
    if (this.attempt()) return { done: true, value: true };
    return { done: false, index: this.#gate.index, expected };
  }

  onWake(): Step<boolean> {
    return this.begin();
  }

  onTimeout(): Step<boolean> {
    return { done: true, value: this.attempt() };
  }

  onAbort(): void {}
}
