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
import { RawTicketLock } from './raw-line-locks.js';
import { ticketLockLayout } from './ticket-lock.layout.js';

/**
 * A lock that threads get in the order in which they came. `TicketLine` tells how they stand in line, `LineLock` how the
 * first of them gets it.
 *
 * **Cost**, in Atomics calls: `lock` 1 CAS, `unlock` 1 CAS, while nobody waits.
 *
 * **Not** where throughput under contention matters: each section then costs the wake of a thread. A `Mutex` lets a
 * running thread go first for a millisecond.
 */
export class TicketLock extends ExclusiveLock<RawTicketLock> {
  /** Makes a small segment of its own, for up to 64 threads: its `handle` is all that another thread needs. */
  constructor(placement: Placement = alonePlacement(ticketLockLayout)) {
    super(placement, new RawTicketLock(placement.words, placement.token, placement.platform));
  }

  /** @throws as `segment.createStructure` does. */
  static create(segment: Segment, options: NameOptions): TicketLock {
    return new TicketLock(createPlacement(segment, ticketLockLayout, options));
  }

  /** @throws as `segment.openStructure` does. */
  static open(segment: Segment, name: string): TicketLock {
    return new TicketLock(openPlacement(segment, ticketLockLayout, name));
  }

  /** Attaches to the segment of the handle. @throws TypeError where it is none of a ticket lock; as `Segment.attach`. */
  static from(handle: LockHandle): TicketLock {
    return new TicketLock(handlePlacement(handle, ticketLockLayout));
  }

  /** Over words of another structure, which recovers it by `core.recover`. */
  static over(words: Int32Array, options: OverOptions): TicketLock {
    return new TicketLock(overPlacement(words, ticketLockLayout, options));
  }
}

registerRecovery(
  ticketLockLayout,
  import.meta.url,
  (placement) => new RawTicketLock(placement.words, placement.token, placement.platform),
);
