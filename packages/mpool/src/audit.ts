import { readPlace } from './call-place.js';
import { type Damage, damageOf } from './damage-log.js';
import { holdingAll } from './holding-all.js';
import { type LateRefusal, lateRefusalsOf, refusedPuts } from './late-refusals.js';
import {
  generationOfLease,
  idOfLease,
  isOut,
  LEASE,
  type LeaseState,
  stateNameOf,
  stateOfLease,
} from './lease.js';
import { gotByOf } from './link-word.js';
import { NOTE_PLACE } from './mpool.layout.js';
import type { PoolWords } from './pool-words.js';
import { countMissedPuts } from './put-count.js';
import { collectPuts } from './seat.js';
import type { Shard, ShardCounts } from './shard.js';
import { ageOf } from './slot-times.js';

/** How often an audit looks at the leases before it says that they do not hold still. */
const TRIES = 4;

/** A slot that is out. */
export interface Holding {
  readonly descriptor: number;
  /** Id of the thread whose death brings it back: who holds it, sent it, or is to receive it. */
  readonly threadId: number;
  /** `held`; `detached` by that thread and not adopted yet; `sent` to that thread and not adopted yet. */
  readonly state: Exclude<LeaseState, 'free' | 'cached'>;
  /** Id of the thread that got it. */
  readonly gotBy: number;
  /** Milliseconds since it was got, where the pool was made with `debug` or `counters`. */
  readonly ageMs?: number;
  /** File, line and column where it was got, where the pool was made with `debug`. */
  readonly place?: string;
  /** The stack of the thread that got it: in debug mode, on that thread. */
  readonly stack?: string;
}

/** The state of a pool at one moment. */
export interface Audit {
  /** Slots got, ever: `put + recovered + outstanding`. */
  readonly got: number;
  /** Slots put, ever. One that comes back while its recoverer dies may count here instead of in `recovered`. */
  readonly put: number;
  /**
   * Of these, how many were put by another thread than the one that got them. Each death of a thread that was collecting
   * puts leaves out those of that batch, at most 4 magazines rounded up to a power of two.
   */
  readonly putAcrossThreads: number;
  /** Slots that dead threads had got and that came back, ever. */
  readonly recovered: number;
  /** Puts that were refused, ever. */
  readonly refused: number;
  /**
   * The last puts that were refused only when they were collected, by whom: because another thread had put the same
   * descriptor meanwhile, or it was sent to another thread that has not adopted it.
   */
  readonly putTwice: readonly LateRefusal[];
  /** The last damage that debug mode found. */
  readonly damage: readonly Damage[];
  /** Slots that are out: got, and not put. */
  readonly outstanding: number;
  /** Slots that any thread can get, those that the pool has not grown to yet included. */
  readonly free: number;
  /** Slots that a thread keeps in its magazine for itself. */
  readonly cached: number;
  /** Slots that were put, where the thread that put them has not sent that off yet. */
  readonly unsent: number;
  /** `outstanding + free + cached + unsent`: `maxElems`, and what magazines and unsent puts can hold back beyond it. */
  readonly capacity: number;
  /** Slots that exist by now. */
  readonly slots: number;
  readonly holders: readonly Holding[];
  /** Slots that are free and that nobody can get: always none, unless memory was overwritten. */
  readonly unreachable: readonly number[];
  /** Slots that are on a free list twice, or on one though they are not free: likewise. */
  readonly listedWrongly: readonly number[];
  /**
   * Whether this is a snapshot of one moment in which every slot was in exactly one place. False where threads
   * that get from their magazines did not hold still, and where a slot is unreachable or listed wrongly.
   */
  readonly consistent: boolean;
}

/**
 * Looks at every slot, while other threads go on.
 *
 * All latches are held for it, so that no slot moves between a list and a thread; leases that a thread changes
 * without a latch are read until two readings agree.
 *
 * Cost: 2 Atomics calls a shard and some for each slot; threads that need a latch wait meanwhile.
 *
 * @param stackOf where this thread got a descriptor, as far as it knows.
 */
export function auditPool(
  pool: PoolWords,
  shards: readonly Shard[],
  stackOf?: (descriptor: number) => string | undefined,
): Audit {
  const { seen, still, counts, lists, gotBy } = holdingAll(shards, () => lookUntilStill(pool, shards));
  const { leases } = seen;
  const unsent = new Set(
    seen.unsent.filter((descriptor) => {
      const lease = leases[pool.format.slotOf(descriptor)] ?? 0;
      return isOut(lease) && generationOfLease(lease) === pool.format.generationOf(descriptor);
    }),
  );
  const holders: Holding[] = [];
  for (const [slot, lease] of leases.entries()) {
    const descriptor = pool.format.descriptor(slot, generationOfLease(lease));
    if (!isOut(lease) || unsent.has(descriptor)) continue;
    const state = stateNameOf(lease) as Holding['state'];
    const origin = originOf(pool, slot, stackOf?.(descriptor));
    holders.push({ descriptor, threadId: idOfLease(lease), state, gotBy: gotBy[slot]!, ...origin });
  }
  const cached = leases.filter((lease) => stateOfLease(lease) === LEASE.cached).length;
  const { unreachable, listedWrongly } = compareLists(leases, lists);
  const sum = (key: keyof ShardCounts) => counts.reduce((total, count) => total + count[key], 0);
  const put = sum('put') + unsent.size;
  const recovered = sum('recovered');
  return {
    got: put + recovered + holders.length,
    put,
    putAcrossThreads: sum('putAcrossThreads'),
    recovered,
    refused: refusedPuts(pool),
    putTwice: lateRefusalsOf(pool),
    damage: damageOf(pool),
    outstanding: holders.length,
    free: pool.shape.slotCapacity - holders.length - cached - unsent.size,
    cached,
    unsent: unsent.size,
    capacity: pool.shape.slotCapacity,
    slots: leases.length,
    holders,
    unreachable,
    listedWrongly,
    consistent: still && unreachable.length === 0 && listedWrongly.length === 0,
  };
}

/** When and where a slot was got, as far as that was noted. */
function originOf(
  pool: PoolWords,
  slot: number,
  stack: string | undefined,
): Pick<Holding, 'ageMs' | 'place' | 'stack'> {
  const ageMs = ageOf(pool, slot);
  const place =
    pool.shape.noteWords > NOTE_PLACE ? readPlace(pool.words, pool.noteOf(slot) + NOTE_PLACE) : '';
  return { ...(ageMs !== undefined && { ageMs }), ...(place && { place }), ...(stack && { stack }) };
}

/** The latches must be held. */
function lookUntilStill(pool: PoolWords, shards: readonly Shard[]) {
  let seen = look(pool, shards);
  countMissedPuts(pool, shards);
  let still = false;
  for (let tries = 0; tries < TRIES && !still; tries++) {
    const again = look(pool, shards);
    still = sameNumbers(again.leases, seen.leases) && sameNumbers(again.unsent, seen.unsent);
    seen = again;
  }
  const counts = shards.map((shard) => shard.counts());
  const lists = shards.map((shard) => shard.listed());
  const { links } = pool.regions;
  const gotBy = Array.from(seen.leases, (_, slot) => gotByOf(pool.words[links + slot]!));
  return { seen, still, counts, lists, gotBy };
}

interface Look {
  readonly leases: readonly number[];
  /** Descriptors in seats. Some may have been sent off already: their leases say so. */
  readonly unsent: readonly number[];
}

function look(pool: PoolWords, shards: readonly Shard[]): Look {
  const unsent = collectPuts(pool, shards);
  const leases = Array.from({ length: pool.slotCount() }, (_, slot) => pool.lease(slot));
  return { leases, unsent };
}

function sameNumbers(one: readonly number[], other: readonly number[]): boolean {
  return one.length === other.length && one.every((value, i) => value === other[i]);
}

/** Compares what lease words say with where slots are: each free one exactly once on the list of its shard. */
function compareLists(leases: readonly number[], lists: readonly number[][]) {
  const listedOn = new Map<number, number>();
  const listedWrongly: number[] = [];
  for (const [shard, list] of lists.entries()) {
    for (const slot of list) {
      const lease = leases[slot];
      const right = lease !== undefined && stateOfLease(lease) === LEASE.free && idOfLease(lease) === shard;
      if (!right || listedOn.has(slot)) listedWrongly.push(slot);
      listedOn.set(slot, shard);
    }
  }
  const unreachable: number[] = [];
  for (const [slot, lease] of leases.entries()) {
    if (stateOfLease(lease) === LEASE.free && !listedOn.has(slot)) unreachable.push(slot);
  }
  return { unreachable, listedWrongly };
}
