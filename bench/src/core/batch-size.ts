/** A batch is to last this long: thousands of clock steps, and far less than a time slice. */
const TARGET_NS = 50_000;

const LARGEST = 2 ** 24;

/**
 * How many operations are timed together.
 *
 * Operations of a few nanoseconds cannot be timed one by one: reading the clock costs more than they do. The
 * size doubles or halves until a batch lasts between half the target and four times the target; compiled code
 * becomes faster while it warms up, so it is watched all the time.
 */
export class BatchSize {
  readonly #largest: number;
  #operations = 1;

  constructor(largest: number = LARGEST) {
    if (!Number.isInteger(largest) || largest < 1) {
      throw new RangeError(`A batch has a whole number of operations from 1, not ${largest}`);
    }
    this.#largest = largest;
  }

  get operations(): number {
    return this.#operations;
  }

  /** Takes note of how long a batch of the present size took. Returns whether the size was right. */
  adjust(tookNs: number): boolean {
    const before = this.#operations;
    if (tookNs < TARGET_NS / 2) this.#operations = Math.min(this.#largest, before * 2);
    else if (tookNs > TARGET_NS * 4) this.#operations = Math.max(1, before >> 1);
    return this.#operations === before;
  }
}
