import { LEASE_GENERATION_BITS } from './lease.js';

/** Bits of a descriptor: it is never negative and stays a small integer of the engine, which no operation allocates. */
const DESCRIPTOR_BITS = 31;

/** Most slots of a pool: enough bits are left for 128 generations. */
export const MAX_SLOTS = 2 ** 24;

/** What stands for no descriptor inside of this package. Never given to a caller. */
export const NONE = -1;
/** What is got from a pool that is closed, or being closed. */
export const NOT_OPEN = -2;

/**
 * How a number names a slot and a generation of it: `generation << slotBits | slot`.
 *
 * The split follows the number of slots: a pool of up to 4096 slots has 19 bits for the generation, one of a
 * million has 11. A descriptor that is used again after exactly `generations` re-uses of its slot passes as the
 * new one; that is the limit of every check of a number.
 */
export class DescriptorFormat {
  readonly slotBits: number;
  readonly slotMask: number;
  /** How many generations a slot has before they repeat. */
  readonly generations: number;
  readonly generationMask: number;
  readonly #slotCapacity: number;
  readonly #most: number;

  /** @param slotCapacity number of slots, 1 to {@link MAX_SLOTS}. */
  constructor(slotCapacity: number) {
    // Integer operators throughout: a mask that the engine keeps as a float costs every get and put a conversion.
    this.slotBits = Math.max(32 - Math.clz32(slotCapacity - 1), 1);
    this.slotMask = (1 << this.slotBits) - 1;
    this.generations = 1 << Math.min(LEASE_GENERATION_BITS, DESCRIPTOR_BITS - this.slotBits);
    this.generationMask = this.generations - 1;
    this.#slotCapacity = slotCapacity;
    this.#most = this.descriptor(this.slotMask, this.generationMask);
  }

  descriptor(slot: number, generation: number): number {
    return (generation << this.slotBits) | slot;
  }

  slotOf(descriptor: number): number {
    return descriptor & this.slotMask;
  }

  generationOf(descriptor: number): number {
    return descriptor >>> this.slotBits;
  }

  /** The generation after this one. */
  next(generation: number): number {
    return (generation + 1) & this.generationMask;
  }

  /** The generation before this one. */
  before(generation: number): number {
    return (generation - 1) & this.generationMask;
  }

  /** Whether a value has the form of a descriptor of this pool, whoever got it. */
  isDescriptor(value: unknown): value is number {
    return (
      typeof value === 'number' &&
      (value | 0) === value &&
      value >= 0 &&
      value <= this.#most &&
      (value & this.slotMask) < this.#slotCapacity
    );
  }
}
