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
  readonly #least: number;
  readonly #largest: number;
  #operations: number;

  constructor(largest: number = LARGEST, least: number = 1) {
    for (const limit of [least, largest]) {
      if (Number.isInteger(limit) && limit >= 1) continue;
      throw new RangeError(`A batch has a whole number of operations from 1, not ${limit}`);
    }
    this.#largest = largest;
    this.#least = this.#operations = least;
  }

  get operations(): number {
    return this.#operations;
  }

  /** Takes note of how long a batch of the present size took. Returns whether the size was right. */
  adjust(tookNs: number): boolean {
    const before = this.#operations;
    if (tookNs < TARGET_NS / 2) this.#operations = Math.min(this.#largest, before * 2);
    else if (tookNs > TARGET_NS * 4) this.#operations = Math.max(this.#least, before >> 1);
    return this.#operations === before;
  }
}
