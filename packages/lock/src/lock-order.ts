import { HeddleError, type Segment } from '@heddle/memory';
import {
  heldOf,
  lockOrderLayout,
  MAX_ORDERS,
  orderIndex,
  PAIR_BEING_WRITTEN,
  PAIR_EMPTY,
  PLACE_WORDS,
  pairOf,
  takenOf,
} from './lock-order.layout.js';
import {
  createPlacement,
  handlePlacement,
  type LockHandle,
  type NameOptions,
  openPlacement,
  type Placement,
  registerRecovery,
} from './placement.js';
import { SharedObject } from './shared-object.js';

interface Order {
  readonly pair: number;
  readonly place: string;
}

/**
 * For debugging: in which order the threads of a segment take its locks, and an error where two orders contradict
 * each other, before they meet in a deadlock.
 *
 * ```ts
 * const order = LockOrder.create(segment, { name: 'order' });
 * accounts.checkOrder(order);
 * ```
 *
 * Every thread opens one of its own, and uses it for all the locks that it wants to have checked. It sees blocking
 * calls; tasks of one thread have no order among each other.
 *
 * **Layout**: `lock-order.layout.ts`. An order is recorded before it is checked, so of two threads that come with
 * opposite orders at a time at least one is told.
 *
 * **One commit**: the store of `pair`, after the place is written. **Death** before that loses a line of the record.
 *
 * **Cost**: a look at the call stack for each `lock`; where an order is new, a pass over all that are recorded.
 */
export class LockOrder extends SharedObject {
  readonly #words: Int32Array;
  readonly #segment: Segment;
  /** What this thread holds, the last taken last. */
  readonly #held: { readonly id: number; readonly place: string }[] = [];
  readonly #known = new Set<number>();

  private constructor(placement: Placement) {
    super(lockOrderLayout.kind, placement);
    this.#words = placement.words;
    this.#segment = placement.segment!;
  }

  /** @throws as `segment.createStructure` does. */
  static create(segment: Segment, options: NameOptions): LockOrder {
    return new LockOrder(createPlacement(segment, lockOrderLayout, options));
  }

  /** @throws as `segment.openStructure` does. */
  static open(segment: Segment, name: string): LockOrder {
    return new LockOrder(openPlacement(segment, lockOrderLayout, name));
  }

  /** Attaches to the segment of the handle. @throws TypeError where it is none of a lock order. */
  static from(handle: LockHandle): LockOrder {
    return new LockOrder(handlePlacement(handle, lockOrderLayout));
  }

  /**
   * Notes that this thread is going to block for a lock.
   *
   * @param id slot of the lock in the directory, plus 1.
   * @throws HeddleError `ERR_HEDDLE_LOCK_ORDER` where some thread, this one included, has taken what is held now
   *   while it held that lock, directly or over others; `ERR_HEDDLE_EXHAUSTED` where no more orders can be recorded.
   */
  check(id: number, place: string): void {
    for (const held of this.#held) {
      const pair = pairOf(held.id, id);
      if (held.id === id || this.#known.has(pair)) continue;
      this.#record(pair, place);
      const contrary = this.#path(id, held.id);
      if (contrary) throw this.#contradiction(held, id, place, contrary);
      this.#known.add(pair);
    }
  }

  /** Notes that this thread has got a lock. */
  got(id: number, place: string): void {
    this.#held.push({ id, place });
  }

  /** Notes that this thread has released a lock. */
  released(id: number): void {
    const index = this.#held.findLastIndex((held) => held.id === id);
    if (index >= 0) this.#held.splice(index, 1);
  }

  /** Nothing to take back: a record that was not finished is not read. */
  recover(): void {}

  #record(pair: number, place: string): void {
    const { atomics } = this.platform;
    for (let order = 0; order < MAX_ORDERS; order++) {
      const at = orderIndex(order);
      const found = atomics.compareExchange(this.#words, at, PAIR_EMPTY, PAIR_BEING_WRITTEN);
      if (found === pair) return;
      if (found !== PAIR_EMPTY) continue;
      encodePlace(place).forEach((word, i) => {
        atomics.store(this.#words, at + 1 + i, word);
      });
      atomics.store(this.#words, at, pair);
      return;
    }
    throw new HeddleError(
      'ERR_HEDDLE_EXHAUSTED',
      `More than ${MAX_ORDERS} orders of locks cannot be recorded`,
    );
  }

  /** The orders that lead from a lock to another, undefined where none do. */
  #path(from: number, to: number): Order[] | undefined {
    const orders = this.#recorded();
    const paths: Order[][] = [[]];
    const seen = new Set([from]);
    for (let path = paths.shift(); path; path = paths.shift()) {
      const end = path.length === 0 ? from : takenOf(path.at(-1)!.pair);
      if (end === to) return path;
      for (const order of orders) {
        if (heldOf(order.pair) !== end || seen.has(takenOf(order.pair))) continue;
        seen.add(takenOf(order.pair));
        paths.push([...path, order]);
      }
    }
    return undefined;
  }

  #recorded(): Order[] {
    const { atomics } = this.platform;
    const orders: Order[] = [];
    for (let order = 0; order < MAX_ORDERS; order++) {
      const at = orderIndex(order);
      const pair = atomics.load(this.#words, at);
      if (pair === PAIR_EMPTY) break;
      if (pair === PAIR_BEING_WRITTEN) continue;
      const words = Int32Array.from({ length: PLACE_WORDS }, (_, i) => atomics.load(this.#words, at + 1 + i));
      orders.push({ pair, place: decodePlace(words) });
    }
    return orders;
  }

  #contradiction(
    held: { readonly id: number; readonly place: string },
    id: number,
    place: string,
    contrary: readonly Order[],
  ): HeddleError {
    const [lock, other] = [this.#nameOf(id), this.#nameOf(held.id)];
    const others = contrary.map(
      (order) =>
        `${this.#nameOf(takenOf(order.pair))} was taken with ${this.#nameOf(heldOf(order.pair))} held at ${order.place}`,
    );
    return new HeddleError(
      'ERR_HEDDLE_LOCK_ORDER',
      `${lock} would be taken at ${place} with ${other} held since ${held.place}; but ${others.join(', ')}. Two threads that do so at a time wait for each other for ever: take them in one order everywhere`,
      { lock, held: other, place, heldSince: held.place, contrary: others },
    );
  }

  #nameOf(id: number): string {
    return `"${this.#segment.directory.at(id - 1)?.name ?? `lock ${id}`}"`;
  }
}

/** The end of the text, as UTF-8, where it is too long: it holds file, line and column. */
function encodePlace(place: string): Int32Array {
  const encoded = new TextEncoder().encode(place).slice(-PLACE_WORDS * 4);
  const bytes = new Uint8Array(PLACE_WORDS * 4);
  bytes.set(encoded);
  return new Int32Array(bytes.buffer);
}

function decodePlace(words: Int32Array): string {
  const text = new TextDecoder().decode(new Uint8Array(words.buffer));
  return text.replace(/\0+$/, '');
}

registerRecovery(lockOrderLayout, import.meta.url, () => ({ recover() {} }));
