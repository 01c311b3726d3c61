import type { Segment } from '@heddle/memory';
import { ExclusiveLock } from './exclusive-lock.js';
import { mutexLayout } from './mutex.layout.js';
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
import { RawMutex } from './raw-mutex.js';

/**
 * The lock to take where nothing speaks for another one: fast while nobody waits, asleep while it has to wait,
 * fair within about a millisecond for each thread in line, and robust. `RawMutex` tells how it works.
 *
 * **Cost**, in Atomics calls: `lock` 1 CAS, `unlock` 1 CAS, while nobody waits.
 *
 * **Not** where a strict order of arrival is needed (`TicketLock`, `McsLock`), nor for data that is read much more
 * often than written (`RwLock`, `SeqLock`).
 */
export class Mutex extends ExclusiveLock<RawMutex> {
  /** Makes a small segment of its own, for up to 64 threads: `mutex.handle` is all that another thread needs. */
  constructor(placement: Placement = alonePlacement(mutexLayout)) {
    super(placement, new RawMutex(placement.words, placement.token, placement.platform));
  }

  /** @throws as `segment.createStructure` does. */
  static create(segment: Segment, options: NameOptions): Mutex {
    return new Mutex(createPlacement(segment, mutexLayout, options));
  }

  /** @throws as `segment.openStructure` does. */
  static open(segment: Segment, name: string): Mutex {
    return new Mutex(openPlacement(segment, mutexLayout, name));
  }

  /** Attaches to the segment of the handle. @throws TypeError where it is none of a mutex; as `Segment.attach`. */
  static from(handle: LockHandle): Mutex {
    return new Mutex(handlePlacement(handle, mutexLayout));
  }

  /** Over words of another structure, which recovers it by `core.recover`. */
  static over(words: Int32Array, options: OverOptions): Mutex {
    return new Mutex(overPlacement(words, mutexLayout, options));
  }
}

registerRecovery(
  mutexLayout,
  import.meta.url,
  (placement) => new RawMutex(placement.words, placement.token, placement.platform),
);
