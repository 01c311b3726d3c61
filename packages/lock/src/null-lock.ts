import type { Segment } from '@heddle/memory';
import { ExclusiveLock } from './exclusive-lock.js';
import { nullLockLayout } from './null-lock.layout.js';
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
import { RawNullLock } from './raw-null-lock.js';

/**
 * No lock at all, for what one thread uses: it checks that this is so, and keeps the tasks of that thread apart.
 * `RawNullLock` tells how it works.
 *
 * Any other thread gets `ERR_HEDDLE_WRONG_THREAD` from every call. It never blocks, so it works on every thread.
 *
 * **Cost**: no Atomics call after the first use.
 */
export class NullLock extends ExclusiveLock<RawNullLock> {
  /** Makes a small segment of its own, for up to 64 threads: its `handle` is all that another thread needs. */
  constructor(placement: Placement = alonePlacement(nullLockLayout)) {
    super(placement, new RawNullLock(placement.words, placement.token, placement.platform));
  }

  /** @throws as `segment.createStructure` does. */
  static create(segment: Segment, options: NameOptions): NullLock {
    return new NullLock(createPlacement(segment, nullLockLayout, options));
  }

  /** @throws as `segment.openStructure` does. */
  static open(segment: Segment, name: string): NullLock {
    return new NullLock(openPlacement(segment, nullLockLayout, name));
  }

  /** Attaches to the segment of the handle. @throws TypeError where it is none of a null lock; as `Segment.attach`. */
  static from(handle: LockHandle): NullLock {
    return new NullLock(handlePlacement(handle, nullLockLayout));
  }

  /** Over words of another structure, which recovers it by `core.recover`. */
  static over(words: Int32Array, options: OverOptions): NullLock {
    return new NullLock(overPlacement(words, nullLockLayout, options));
  }
}

registerRecovery(
  nullLockLayout,
  import.meta.url,
  (placement) => new RawNullLock(placement.words, placement.token, placement.platform),
);
