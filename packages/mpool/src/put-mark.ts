import { generationOfLease, idOfLease, isHeldIn, leaseWord, stateOfLease } from './lease.js';
import { NOTE_MARK } from './mpool.layout.js';
import type { PoolWords } from './pool-words.js';

/**
 * The mark of a slot: which generation of it was put last, and by which thread. Laid out as a lease word, with this
 * in place of a state; 0 where nothing is known.
 */
const PUT = 1;

export function putMark(generation: number, threadId: number): number {
  return leaseWord(generation, PUT, threadId);
}

/** Whether a mark says that this generation was put. */
export function isPutIn(mark: number, generation: number): boolean {
  return stateOfLease(mark) === PUT && generationOfLease(mark) === generation;
}

/** Index of the mark of a slot. */
export function markOf(pool: PoolWords, slot: number): number {
  return pool.noteOf(slot) + NOTE_MARK;
}

/**
 * Takes back the marks of a dead thread whose puts it did not get to: to the pool they did not happen. Its puts that
 * were on their way must have been done. Can be repeated.
 *
 * Cost: 2 loads a slot.
 */
export function undoPuts(pool: PoolWords, deadId: number): void {
  if (pool.shape.noteWords === 0) return;
  const { atomics } = pool.platform;
  const slots = pool.slotCount();
  for (let slot = 0; slot < slots; slot++) {
    const mark = atomics.load(pool.words, markOf(pool, slot));
    if (stateOfLease(mark) !== PUT || idOfLease(mark) !== deadId) continue;
    if (!isHeldIn(pool.lease(slot), generationOfLease(mark))) continue;
    atomics.compareExchange(pool.words, markOf(pool, slot), mark, 0);
  }
}

/** For new slots, and those that come back with other memory: nobody has put them. Before they can be got. */
export function forgetPuts(pool: PoolWords, firstSlot: number, end: number): void {
  if (pool.shape.noteWords === 0) return;
  for (let slot = firstSlot; slot < end; slot++) pool.words[markOf(pool, slot)] = 0;
}
