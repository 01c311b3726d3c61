import type { StateVector } from './state-vector.js';

/**
 * Who sleeps on which address, in the order of arrival: the queues that `Atomics.wait` and `notify` share.
 *
 * An entry is a thread's own (its index), or one that its abandoned asynchronous wait left behind (its index plus
 * the number of threads). State: two words an entry.
 *
 * | word | meaning |
 * |---|---|
 * | place | 0: not queued; else the address + 1 |
 * | rank | 1 for the first of its address, 2 for the next, … |
 *
 * Ranks count within one address, so that the order of arrival at different addresses tells no states apart.
 */
export class WaitQueues {
  readonly #state: StateVector;
  readonly #entryCount: number;
  readonly #place: number;
  readonly #rank: number;

  constructor(state: StateVector, threadCount: number) {
    this.#state = state;
    this.#entryCount = threadCount * 2;
    this.#place = state.allocate(this.#entryCount);
    this.#rank = state.allocate(this.#entryCount);
  }

  /** The address on which an entry waits, -1 where it does not. */
  addressOf(entry: number): number {
    return this.#state.values[this.#place + entry]! - 1;
  }

  join(entry: number, address: number): void {
    let last = 0;
    const { values } = this.#state;
    for (let other = 0; other < this.#entryCount; other++) {
      if (values[this.#place + other] === address + 1) last = Math.max(last, values[this.#rank + other]!);
    }
    this.#state.put(this.#place + entry, address + 1);
    this.#state.put(this.#rank + entry, last + 1);
  }

  leave(entry: number): void {
    const { values } = this.#state;
    const place = values[this.#place + entry]!;
    const rank = values[this.#rank + entry]!;
    if (place === 0) return;
    this.#state.put(this.#place + entry, 0);
    this.#state.put(this.#rank + entry, 0);
    for (let other = 0; other < this.#entryCount; other++) {
      if (values[this.#place + other] === place && values[this.#rank + other]! > rank) {
        this.#state.put(this.#rank + other, values[this.#rank + other]! - 1);
      }
    }
  }

  /** Puts `heir` where `entry` is in its queue. */
  replace(entry: number, heir: number): void {
    const { values } = this.#state;
    const place = values[this.#place + entry]!;
    const rank = values[this.#rank + entry]!;
    this.#state.put(this.#place + entry, 0);
    this.#state.put(this.#rank + entry, 0);
    this.#state.put(this.#place + heir, place);
    this.#state.put(this.#rank + heir, rank);
  }

  /** The entry that has waited longest on an address, -1 where nobody waits. */
  first(address: number): number {
    const { values } = this.#state;
    for (let entry = 0; entry < this.#entryCount; entry++) {
      if (values[this.#place + entry] === address + 1 && values[this.#rank + entry] === 1) return entry;
    }
    return -1;
  }
}
