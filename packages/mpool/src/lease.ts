import { MAX_THREADS } from '@heddle/memory';

/**
 * The lease word of a slot: who has it, and in which generation. The truth for reports and recovery; free lists
 * and magazines are only ways to find slots quickly and are rebuilt from these words.
 *
 * ```
 *  generation (19 bits) << 13 | state (3 bits) << 10 | id (10 bits)
 * ```
 *
 * | state    | id            | meaning                                                                      |
 * |----------|---------------|------------------------------------------------------------------------------|
 * | free     | shard         | on the free list of that shard                                               |
 * | cached   | thread        | in the magazine of that thread, not handed out                               |
 * | held     | thread        | got by that thread, or adopted by it                                         |
 * | detached | thread        | given away by that thread, to whoever adopts it first                        |
 * | sent     | thread        | given away to that thread, which has not adopted it yet                      |
 *
 * In every state but free, the id is that of the thread **whose death brings the slot back**. The generation
 * goes up when a slot is put, so what was put once is refused from then on.
 *
 * A new slot is free in shard 0, in the first generation of its pool.
 */
export const LEASE = { free: 0, cached: 1, held: 2, detached: 3, sent: 4 } as const;

export type LeaseState = keyof typeof LEASE;

const ID_BITS = 10;
const STATE_BITS = 3;
const ID_MASK = 2 ** ID_BITS - 1;
/** Every bit of a state. */
export const STATE_MASK = 2 ** STATE_BITS - 1;
const GENERATION_SHIFT = ID_BITS + STATE_BITS;
const HELD_BITS = LEASE.held << ID_BITS;

/** Most bits of a generation: what a lease word has room for. */
export const LEASE_GENERATION_BITS = 32 - GENERATION_SHIFT;

const STATE_NAMES = Object.keys(LEASE) as LeaseState[];

if (MAX_THREADS > ID_MASK) throw new Error('A lease word has room for 10 bits of a thread id');

export function leaseWord(generation: number, state: number, id: number): number {
  return (generation << GENERATION_SHIFT) | (state << ID_BITS) | id;
}

/**
 * The descriptor of a slot in the generation that its lease word says. No other number is equal to it, so comparing it
 * checks a number whole.
 */
export function descriptorOfLease(lease: number, slot: number, slotBits: number): number {
  return ((lease >>> GENERATION_SHIFT) << slotBits) | slot;
}

/** State and id of a lease word, without its generation. */
export function withoutGeneration(lease: number): number {
  return lease & ((STATE_MASK << ID_BITS) | ID_MASK);
}

/** The generation at its place in a lease word. */
export function generationBits(generation: number): number {
  return generation << GENERATION_SHIFT;
}

export function generationOfLease(lease: number): number {
  return lease >>> GENERATION_SHIFT;
}

export function stateOfLease(lease: number): number {
  return (lease >>> ID_BITS) & STATE_MASK;
}

/** The thread whose death brings the slot back; the shard, where it is free. */
export function idOfLease(lease: number): number {
  return lease & ID_MASK;
}

/** Whether the slot is held, by whomever, in this generation. */
export function isHeldIn(lease: number, generation: number): boolean {
  return (lease & ~ID_MASK) === ((generation << GENERATION_SHIFT) | HELD_BITS);
}

export function stateNameOf(lease: number): LeaseState {
  return STATE_NAMES[stateOfLease(lease)] ?? 'free';
}

/** Whether the slot is out: got and not put again. */
export function isOut(lease: number): boolean {
  return stateOfLease(lease) >= LEASE.held;
}
