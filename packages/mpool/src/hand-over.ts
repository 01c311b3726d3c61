import { idOf } from '@heddle/memory';
import * as leases from './lease.js';
import * as links from './link-word.js';
import type { PoolWords } from './pool-words.js';

// A name of this module costs nothing in compiled code, an imported one is looked up and checked at each use.
const { generationOfLease, idOfLease, LEASE, leaseWord, stateOfLease } = leases;
const { gotByOf, linkWord } = links;

/** What came of giving a descriptor away: `gone` where the receiver is no more and the giver holds it still. */
type HandOver = 'given' | 'not held' | 'gone';

/**
 * Gives a descriptor away that travels by another way than this library's own: to the thread of the token `to`, or
 * with 0 to whoever adopts it first. From then on the receiver's death brings the slot back, or with 0 this thread's.
 *
 * The receiver may die in the same moment, and its recovery may have passed this slot already. So the giver looks
 * whether it lives after it has given, and takes the slot back if not; if recovery was quicker, the slot has come
 * back, as it does for a receiver that dies later.
 *
 * Cost, in Atomics calls: 1 CAS, and with a receiver two looks at the thread table.
 */
export function detach(pool: PoolWords, descriptor: number, to: number): HandOver {
  const { format, me, regions, words } = pool;
  const { atomics } = pool.platform;
  const at = regions.leases + format.slotOf(descriptor);
  const generation = format.generationOf(descriptor);
  const held = leaseWord(generation, LEASE.held, me.id);
  if (to === 0) {
    const detached = leaseWord(generation, LEASE.detached, me.id);
    return atomics.compareExchange(words, at, held, detached) === held ? 'given' : 'not held';
  }
  if (!pool.isAlive(to)) return 'gone';
  const sent = leaseWord(generation, LEASE.sent, idOf(to));
  if (atomics.compareExchange(words, at, held, sent) !== held) return 'not held';
  if (pool.isAlive(to)) return 'given';
  return atomics.compareExchange(words, at, sent, held) === sent ? 'gone' : 'given';
}

/**
 * Makes this thread the holder of a descriptor that was given away to it, or to anyone. Of several that try, one
 * succeeds.
 *
 * Cost: 1 load, 1 CAS; where the pool has magazines 1 CAS more.
 *
 * @returns false where it was not given away, or not to this thread. Nothing has changed then.
 */
export function adopt(pool: PoolWords, descriptor: number): boolean {
  const { format, me } = pool;
  const slot = format.slotOf(descriptor);
  const lease = pool.lease(slot);
  if (generationOfLease(lease) !== format.generationOf(descriptor)) return false;
  return isGivenTo(lease, me.id) && takeOver(pool, slot, lease);
}

/** Whether a slot was given away to this thread, or to anyone, and not adopted yet. */
export function isGivenTo(lease: number, threadId: number): boolean {
  const state = stateOfLease(lease);
  return state === LEASE.detached || (state === LEASE.sent && idOfLease(lease) === threadId);
}

/**
 * Makes this thread the holder of a slot whose lease word was `lease`; false where it has changed.
 *
 * Where there are lanes, the way to the holder changes too. It is read before, so that changing it fails where another
 * thread puts the descriptor meanwhile, which it must not.
 *
 * Cost, in Atomics calls: 1 CAS; where the pool has magazines 1 CAS more.
 */
export function takeOver(pool: PoolWords, slot: number, lease: number): boolean {
  const { me, regions, words } = pool;
  const { atomics } = pool.platform;
  const link = pool.shape.seats > 0 ? words[regions.links + slot]! : 0;
  const held = leaseWord(generationOfLease(lease), LEASE.held, me.id);
  if (atomics.compareExchange(words, regions.leases + slot, lease, held) !== lease) return false;
  if (link !== 0) atomics.compareExchange(words, regions.links + slot, link, linkWord(gotByOf(link), me.id));
  return true;
}
