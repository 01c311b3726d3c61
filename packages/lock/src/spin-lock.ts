import type { Segment } from '@heddle/memory';
import { ExclusiveLock } from './exclusive-lock.js';
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
import { RawSpinLock } from './raw-spin-lock.js';
import { spinLockLayout } from './spin-lock.layout.js';

/**
 * A lock for sections of a few steps, between threads that have a core each: it looks again and again before it
 * sleeps. `RawSpinLock` tells how it works.
 *
 * **Cost**, in Atomics calls: `lock` 1 CAS, `unlock` 1 CAS, while nobody waits.
 *
 * **Not** with more threads than cores, nor where each has to get its turn: take a `Mutex`.
 */
export class SpinLock extends ExclusiveLock<RawSpinLock> {
  /** Makes a small segment of its own, for up to 64 threads: its `handle` is all that another thread needs. */
  constructor(placement: Placement = alonePlacement(spinLockLayout)) {
    super(placement, new RawSpinLock(placement.words, placement.token, placement.platform));
  }

  /** @throws as `segment.createStructure` does. */
  static create(segment: Segment, options: NameOptions): SpinLock {
    return new SpinLock(createPlacement(segment, spinLockLayout, options));
  }

  /** @throws as `segment.openStructure` does. */
  static open(segment: Segment, name: string): SpinLock {
    return new SpinLock(openPlacement(segment, spinLockLayout, name));
  }

  /** Attaches to the segment of the handle. @throws TypeError where it is none of a spin lock; as `Segment.attach`. */
  static from(handle: LockHandle): SpinLock {
    return new SpinLock(handlePlacement(handle, spinLockLayout));
  }

  /** Over words of another structure, which recovers it by `core.recover`. */
  static over(words: Int32Array, options: OverOptions): SpinLock {
    return new SpinLock(overPlacement(words, spinLockLayout, options));
  }
}

registerRecovery(
  spinLockLayout,
  import.meta.url,
  (placement) => new RawSpinLock(placement.words, placement.token, placement.platform),
);
