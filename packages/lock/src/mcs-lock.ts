import type { Segment } from '@heddle/memory';
import { ExclusiveLock } from './exclusive-lock.js';
import { DEFAULT_THREADS, mcsByteLength, mcsLockLayout } from './mcs-lock.layout.js';
import {
  alonePlacement,
  createPlacement,
  handlePlacement,
  type LockHandle,
  type NameOptions,
  type OverOptions,
  openPlacement,
  overPlacement,
  type Placement,
  registerRecovery,
} from './placement.js';
import { RawMcsLock } from './raw-line-locks.js';

export interface McsLockOptions {
  /** Highest id of a thread that may use it, as of `segment.thread.id`: 1 to 512. Default 64. A line of memory each. */
  readonly maxThreads?: number | undefined;
}

/**
 * A lock that threads get in the order in which they came, each waiting on a line of memory of its own. `McsLine` tells
 * how they stand in line, `LineLock` how the first of them gets it.
 *
 * **Cost**, in Atomics calls: `lock` 1 CAS, `unlock` 1 CAS, while nobody waits.
 *
 * **Not** where throughput under contention matters: each section then costs the wake of a thread. A `Mutex` lets a
 * running thread go first for a millisecond.
 */
export class McsLock extends ExclusiveLock<RawMcsLock> {
  /** Makes a small segment of its own, for up to 64 threads: its `handle` is all that another thread needs. */
  constructor(
    placement: Placement = alonePlacement(mcsLockLayout, undefined, mcsByteLength(DEFAULT_THREADS)),
  ) {
    super(placement, new RawMcsLock(placement.words, placement.token, placement.platform));
  }

  /** @throws RangeError for a bad number of threads; as `segment.createStructure` does. */
  static create(segment: Segment, options: NameOptions & McsLockOptions): McsLock {
    const byteLength = mcsByteLength(options.maxThreads ?? DEFAULT_THREADS);
    return new McsLock(createPlacement(segment, mcsLockLayout, options, undefined, byteLength));
  }

  /** @throws as `segment.openStructure` does. */
  static open(segment: Segment, name: string): McsLock {
    return new McsLock(openPlacement(segment, mcsLockLayout, name));
  }

  /** Attaches to the segment of the handle. @throws TypeError where it is none of a queue lock; as `Segment.attach`. */
  static from(handle: LockHandle): McsLock {
    return new McsLock(handlePlacement(handle, mcsLockLayout));
  }

  /** Over words of another structure, which recovers it by `core.recover`. */
  static over(words: Int32Array, options: OverOptions): McsLock {
    return new McsLock(overPlacement(words, mcsLockLayout, options));
  }
}

registerRecovery(
  mcsLockLayout,
  import.meta.url,
  (placement) => new RawMcsLock(placement.words, placement.token, placement.platform),
);
