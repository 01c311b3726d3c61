/** What stands in guards, and in elements that were put. Neither is likely to be written by chance. */
const GUARD = 0xfb;
const POISON = 0xd6;

/** The memory of elements, as debug mode watches it. */
export interface WatchedElements {
  /** Finds out whether the bytes around an element were written, and mends them. */
  damage(slot: number): 'overrun' | 'underrun' | undefined;
  /** Overwrites an element, so that who uses it still can be found out. */
  poison(slot: number): void;
  isPoisoned(slot: number): boolean;
}

/**
 * Elements with guards before and after each:
 *
 * ```
 *  | padding | guard | element | guard | rest of the stride | guard | element | guard | …
 * ```
 */
export class GuardedElements implements WatchedElements {
  readonly #bytesAt: (byteOffset: number, byteLength: number) => Uint8Array;
  readonly #offsetOf: (slot: number) => number;
  readonly #elemSize: number;
  readonly #guard: Uint8Array;
  /** Private: shared memory is filled many times faster by a copy. */
  readonly #poison: Uint8Array;

  constructor(
    bytesAt: (byteOffset: number, byteLength: number) => Uint8Array,
    offsetOf: (slot: number) => number,
    { elemSize, guardBytes }: { readonly elemSize: number; readonly guardBytes: number },
  ) {
    this.#bytesAt = bytesAt;
    this.#offsetOf = offsetOf;
    this.#elemSize = elemSize;
    this.#guard = new Uint8Array(guardBytes).fill(GUARD);
    this.#poison = new Uint8Array(elemSize).fill(POISON);
  }

  /** Writes the guards of a new element. */
  guard(byteOffset: number): void {
    this.#before(byteOffset).set(this.#guard);
    this.#after(byteOffset).set(this.#guard);
  }

  damage(slot: number): 'overrun' | 'underrun' | undefined {
    const byteOffset = this.#offsetOf(slot);
    const overrun = !isAll(this.#after(byteOffset), GUARD);
    const underrun = !isAll(this.#before(byteOffset), GUARD);
    if (!overrun && !underrun) return undefined;
    this.guard(byteOffset);
    return overrun ? 'overrun' : 'underrun';
  }

  poison(slot: number): void {
    this.#bytesAt(this.#offsetOf(slot), this.#elemSize).set(this.#poison);
  }

  isPoisoned(slot: number): boolean {
    return isAll(this.#bytesAt(this.#offsetOf(slot), this.#elemSize), POISON);
  }

  #before(byteOffset: number): Uint8Array {
    return this.#bytesAt(byteOffset - this.#guard.length, this.#guard.length);
  }

  #after(byteOffset: number): Uint8Array {
    return this.#bytesAt(byteOffset + this.#elemSize, this.#guard.length);
  }
}

function isAll(bytes: Uint8Array, value: number): boolean {
  for (let i = 0; i < bytes.length; i++) if (bytes[i] !== value) return false;
  return true;
}
