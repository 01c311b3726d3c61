import { Mpool, type MpoolHandle, type MpoolOptions, type PolicyName, Segment } from '@heddle/mpool';
import { createLanes, EMPTY, LaneReceiver, LaneSender } from './lane.js';
import { ELEM_SIZE, ELEMS_PER_CHUNK, MAX_ELEMS } from './sizes.js';

/** A pool as one thread calls it. */
export interface Pool {
  /** A descriptor, or null where all are out. */
  tryGet(): number | null;
  put(descriptor: number): void;
  /** Sends off what this thread keeps back. */
  flush?(): void;
}

/** A way to have a pool: made once, opened by every thread with its number. */
export interface PoolStrategy {
  create(threads: number): unknown;
  open(shared: never, thread: number): Pool;
}

const sizes = { name: 'measured', elemSize: ELEM_SIZE, maxElems: MAX_ELEMS, elemsPerChunk: ELEMS_PER_CHUNK };

/** A pool that any thread uses. */
function shared(options: Pick<MpoolOptions, 'policy' | 'lock'>) {
  return {
    create(threads: number): MpoolHandle {
      const segment = Segment.create({ maxThreads: 2 ** Math.ceil(Math.log2(threads + 1)) });
      return Mpool.create(segment, { ...sizes, ...options }).handle;
    },
    open: (handle: MpoolHandle): Pool => Mpool.from(handle),
  };
}

/** A pool for the thread that makes it. */
function own(policy: PolicyName) {
  return {
    create: () => undefined,
    open: (): Pool => Mpool.create(Segment.create(), { ...sizes, policy }),
  };
}

/**
 * A free list as everybody has it in an ordinary program: an array of the one thread that gets. What another thread
 * is done with comes back through a lane made for it.
 */
const array = {
  create: () => createLanes(1),
  open: (lanes: SharedArrayBuffer, thread: number): Pool => (thread === 0 ? getter(lanes) : putter(lanes)),
};

/** Slots that are returned are sent in batches, as the pools of Heddle do. */
const RETURN_BATCH = 32;

function getter(lanes: SharedArrayBuffer): Pool {
  const free = Array.from({ length: MAX_ELEMS }, (_, slot) => slot);
  const returned = new LaneReceiver(lanes, 0, RETURN_BATCH);
  const refill = () => {
    for (let slot = returned.receive(); slot !== EMPTY; slot = returned.receive()) free.push(slot);
    return free.pop() ?? null;
  };
  return {
    tryGet: () => (free.length > 0 ? free.pop()! : refill()),
    put: (slot) => void free.push(slot),
  };
}

function putter(lanes: SharedArrayBuffer): Pool {
  const returning = new LaneSender(lanes, 0, RETURN_BATCH);
  return {
    tryGet: () => null,
    // Never full: it has room for every slot there is.
    put: (slot) => void returning.send(slot),
    flush: () => returning.publish(),
  };
}

const strategies = {
  array,
  sharded: shared({ policy: 'sharded' }),
  serialized: shared({ policy: 'serialized' }),
  owner: own('owner'),
  unsafe: own('unsafe'),
  locked: shared({ policy: 'locked' }),
  'locked-mutex': shared({ policy: 'locked', lock: 'mutex' }),
  'locked-spinlock': shared({ policy: 'locked', lock: 'spinlock' }),
  'locked-ticket': shared({ policy: 'locked', lock: 'ticket' }),
  'locked-mcs': shared({ policy: 'locked', lock: 'mcs' }),
};

export type PoolName = keyof typeof strategies;

/** The fix that people first reach for, under its own latch and under each lock. */
export const lockedPools = [
  'locked',
  'locked-mutex',
  'locked-spinlock',
  'locked-ticket',
  'locked-mcs',
] as const satisfies readonly PoolName[];

/** A pool on its way to a thread. */
export interface SharedPool {
  readonly strategy: PoolName;
  readonly pool: unknown;
}

export function sharePool(strategy: PoolName, threads: number): SharedPool {
  return { strategy, pool: strategies[strategy].create(threads) };
}

export function openPool({ strategy, pool }: SharedPool, thread: number): Pool {
  return (strategies[strategy] as PoolStrategy).open(pool as never, thread);
}
