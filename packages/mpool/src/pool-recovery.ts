import { setCloser } from './close-pool.js';
import { giveNow } from './give-now.js';
import { holdingAll } from './holding-all.js';
import { generationOfLease, idOfLease, isOut, LEASE, leaseWord, stateOfLease } from './lease.js';
import { mpoolLayout } from './mpool.layout.js';
import type { PoolWords } from './pool-words.js';
import { countMissedPuts } from './put-count.js';
import { undoPuts } from './put-mark.js';
import { Seat } from './seat.js';
import type { Shard } from './shard.js';

const { out: outCount } = mpoolLayout.offsets;

/**
 * Brings back what a dead thread had, once each: the puts that it had not sent off; slots that it held or kept, that it
 * gave away to nobody in particular and nobody adopted, and that were sent to it. What it had handed over stays with its
 * new holder. It does not wait any more until it can close the pool.
 *
 * **One commit** a slot: a CAS of its lease word from what it says of the dead thread to free. A recoverer that dies
 * after it leaves a slot that is free and not listed, and the shard's latch held: the next holder repairs the list.
 * So all of this can be repeated, and run while a receiver adopts: one of the two has the slot.
 *
 * Every sleeper is woken, since one that was woken and died before it looked has eaten a wake.
 *
 * Cost: a load for each slot.
 */
export function recoverPool(
  pool: PoolWords,
  shards: readonly Shard[],
  dead: { readonly id: number; readonly token: number },
): void {
  for (const shard of shards) shard.recover(dead.token);
  for (const seat of Seat.all(pool)) {
    if (seat.owner() !== dead.token) continue;
    for (const lane of seat.lanes()) lane.publishAll();
    // Before the seat is somebody else's.
    holdingAll(shards, () => drain(shards));
    for (const descriptor of seat.own()) giveNow(pool, shards, descriptor);
    seat.leave(dead.token);
  }
  undoPuts(pool, dead.id);
  // All latches: what is held and listed holds still, but for what a receiver adopts.
  const home = shards[dead.id & (shards.length - 1)]!;
  holdingAll(shards, () => {
    setCloser(pool, dead.id, false);
    // Puts that are underway are done first: they are no leases of the dead any more.
    drain(shards);
    const slots = pool.slotCount();
    for (let slot = 0; slot < slots; slot++) bringBack(pool, home, slot, dead.id);
    countMissedPuts(pool, shards);
  });
  pool.wakeAll();
}

function drain(shards: readonly Shard[]): void {
  for (const shard of shards) shard.returns.drain();
}

function bringBack(pool: PoolWords, home: Shard, slot: number, deadId: number): void {
  const { format, regions, words } = pool;
  const lease = pool.lease(slot);
  if (stateOfLease(lease) === LEASE.free || idOfLease(lease) !== deadId) return;
  const generation = generationOfLease(lease);
  // Nobody has seen the descriptor of what it kept in its magazine: that was not got, and is none that came back.
  const free = leaseWord(isOut(lease) ? format.next(generation) : generation, LEASE.free, home.number);
  if (pool.platform.atomics.compareExchange(words, regions.leases + slot, lease, free) === lease) {
    home.link(slot);
    if (!isOut(lease)) return;
    home.countRecovered(1);
    if (pool.shape.counterRows > 0) pool.platform.atomics.sub(words, outCount, 1);
  }
}
