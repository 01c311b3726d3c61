import type { Growth } from './growth.js';
import { holdingAll } from './holding-all.js';
import { IdBits } from './id-bits.js';
import { generationOfLease, isOut, LEASE, stateOfLease } from './lease.js';
import { CLOSED, CLOSING, mpoolLayout } from './mpool.layout.js';
import type { PoolWords } from './pool-words.js';
import { collectPuts } from './seat.js';
import type { Shard } from './shard.js';

const { cleaner, closed, closedHint, closers, released } = mpoolLayout.offsets;

interface Parts {
  readonly pool: PoolWords;
  readonly shards: readonly Shard[];
  readonly growth: Growth;
}

/**
 * Closes a pool, where nothing is out.
 *
 * All latches are held: no slot can be put, or taken from a list. Puts that wait in the seats of other threads count
 * as put, and are done here; whoever wanted to send them off finds them stale and a closed pool, and says nothing.
 *
 * **One commit**: the store of `closed`. What was done before it is what a put does.
 *
 * @param beforeRelease runs under no latch, on the one thread that closed the pool, before its memory is given back. What
 *   it throws comes through when all is done.
 * @param force closes it also where something is out: that can be put still.
 * @returns false where something is out; nothing has changed then.
 */
export function closePool(
  { pool, shards, growth }: Parts,
  beforeRelease?: () => void,
  force = false,
): boolean {
  if (pool.isClosed()) return true;
  const came = holdingAll(shards, () => commit(pool, shards, force));
  if (came === 'out') return false;
  pool.wakeAll();
  try {
    if (came === 'closed') beforeRelease?.();
  } finally {
    if (came === 'closed') pool.platform.atomics.store(pool.words, cleaner, 0);
    releaseIfUnused({ pool, shards, growth });
  }
  return true;
}

/**
 * Notes that a thread waits until it can close the pool, or waits no more. While any does, nothing is given out, and who
 * waits for an element is told.
 *
 * **One commit**: the store of `closed`. **Death** of who waits leaves its bit, which recovery takes out: then the pool
 * is open again, unless somebody else waits. Can be repeated.
 */
export function noteCloser(pool: PoolWords, shards: readonly Shard[], id: number, waits: boolean): void {
  holdingAll(shards, () => setCloser(pool, id, waits));
  if (waits) pool.wakeAll();
}

/** The same where all latches are held. */
export function setCloser(pool: PoolWords, id: number, waits: boolean): void {
  const ids = new IdBits(pool, closers);
  const state = pool.words[closed];
  if (waits) {
    ids.add(id);
    if (state !== CLOSED) setState(pool, CLOSING);
  } else {
    ids.delete(id);
    if (state === CLOSING && ids.ids().length === 0) setState(pool, 0);
  }
}

/** All latches must be held. */
function setState({ platform, words }: PoolWords, state: number): void {
  platform.atomics.store(words, closed, state);
  platform.atomics.store(words, closedHint, state);
}

/** All latches must be held. */
function commit(pool: PoolWords, shards: readonly Shard[], force: boolean): 'closed' | 'was closed' | 'out' {
  if (pool.isClosed()) return 'was closed';
  const unsent = new Set(collectPuts(pool, shards));
  const slots = pool.slotCount();
  const toPut: number[] = [];
  for (let slot = 0; slot < slots; slot++) {
    const lease = pool.lease(slot);
    if (!isOut(lease)) continue;
    const descriptor = pool.format.descriptor(slot, generationOfLease(lease));
    if (unsent.has(descriptor)) toPut.push(descriptor);
    else if (!force) return 'out';
  }
  pool.platform.atomics.store(pool.words, cleaner, pool.me.token);
  setState(pool, CLOSED);
  for (const descriptor of toPut) {
    shards[0]!.free(pool.format.slotOf(descriptor), pool.format.next(pool.format.generationOf(descriptor)));
    shards[0]!.countPut(1, 0);
  }
  return 'closed';
}

/**
 * Gives the memory of the elements of a closed pool back, once nothing is out, no magazine holds anything (a thread
 * that gets from its magazine does not ask whether the pool is closed in the same instant), and who closed it has ended
 * them all, or died. Can be repeated.
 *
 * @returns where the elements are: all `free`, then their memory is back; some `kept` by a thread; some `out`. Undefined
 *   where the pool is open.
 */
export function releaseIfUnused({ pool, shards, growth }: Parts): 'free' | 'kept' | 'out' | undefined {
  if (!pool.isClosed()) return undefined;
  const use = holdingAll(shards, () => {
    for (const shard of shards) shard.returns.drain();
    const slots = pool.slotCount();
    const ends = pool.platform.atomics.load(pool.words, cleaner);
    let kept = ends !== 0 && pool.isAlive(ends);
    for (let slot = 0; slot < slots; slot++) {
      const lease = pool.lease(slot);
      if (isOut(lease)) return 'out';
      if (stateOfLease(lease) !== LEASE.free) kept = true;
    }
    return kept ? 'kept' : 'free';
  });
  if (use !== 'free') return use;
  growth.releaseChunks();
  pool.platform.atomics.store(pool.words, released, 1);
  return use;
}
