/** Most looks at a lock before a thread parks, unless told otherwise. About a microsecond and a half. */
const DEFAULT_MAX_SPINS = 128;

/**
 * How long one thread looks at one lock before it parks: a little more than what was enough of late.
 *
 * After the adaptive mutex of glibc: twice the running average of looks that were needed, plus 10.
 */
export class SpinBudget {
  readonly #most: number;
  #average = 0;

  constructor(most = DEFAULT_MAX_SPINS) {
    this.#most = most;
  }

  /** Looks that the next wait may take. */
  get next(): number {
    return Math.min(this.#most, 2 * this.#average + 10) | 0;
  }

  /** Notes how many looks a wait took, whether or not it was enough. */
  note(looks: number): void {
    this.#average += (looks - this.#average) / 8;
  }
}
