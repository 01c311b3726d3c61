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
import { RawRecursiveMutex } from './raw-recursive-mutex.js';
import { recursiveMutexLayout } from './recursive-mutex.layout.js';

/**
 * A mutex that its owner may take again, and has to release as often: for code that calls itself under its lock.
 * `RawRecursiveMutex` tells how it works.
 *
 * It recurs for blocking calls. Tasks cannot be told apart, so a task that asks again waits for itself; pass the
 * guard on instead.
 *
 * **Cost**, in Atomics calls: the first `lock` 1 load and 1 CAS, the last `unlock` 1 CAS while nobody waits; in
 * between 1 load.
 *
 * **Not** where it can be avoided: a `Mutex` is cheaper, and says when a section is entered twice.
 */
export class RecursiveMutex extends ExclusiveLock<RawRecursiveMutex> {
  /** Makes a small segment of its own, for up to 64 threads: its `handle` is all that another thread needs. */
  constructor(placement: Placement = alonePlacement(recursiveMutexLayout)) {
    super(placement, new RawRecursiveMutex(placement.words, placement.token, placement.platform));
  }

  /** @throws as `segment.createStructure` does. */
  static create(segment: Segment, options: NameOptions): RecursiveMutex {
    return new RecursiveMutex(createPlacement(segment, recursiveMutexLayout, options));
  }

  /** @throws as `segment.openStructure` does. */
  static open(segment: Segment, name: string): RecursiveMutex {
    return new RecursiveMutex(openPlacement(segment, recursiveMutexLayout, name));
  }

  /** Attaches to the segment of the handle. @throws TypeError where it is none of a recursive mutex; as `Segment.attach`. */
  static from(handle: LockHandle): RecursiveMutex {
    return new RecursiveMutex(handlePlacement(handle, recursiveMutexLayout));
  }

  /** Over words of another structure, which recovers it by `core.recover`. */
  static over(words: Int32Array, options: OverOptions): RecursiveMutex {
    return new RecursiveMutex(overPlacement(words, recursiveMutexLayout, options));
  }
}

registerRecovery(
  recursiveMutexLayout,
  import.meta.url,
  (placement) => new RawRecursiveMutex(placement.words, placement.token, placement.platform),
);
