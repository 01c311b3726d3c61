import type { DrivingWorkload, ThreadContext } from '../../core/workload.js';
import { court } from './court.layout.js';
import { steps } from './steps.js';
import { openLock, type SharedLock } from './strategies.js';

const { value, sections, claimed } = court.offsets;

/** What the threads of a variant share. */
export interface Arena extends SharedLock {
  readonly court: SharedArrayBuffer;
}

/** Every so many sections a wait for the lock is timed: reading the clock twice costs as much as a short section. */
const TIMED_EVERY = 16;

/**
 * Sections one after the other: so many steps inside of the lock, over a value that it guards, and so many outside.
 *
 * Parameters: `inside`, `outside`.
 */
export async function section({ shared, index, parameters }: ThreadContext<Arena>): Promise<DrivingWorkload> {
  const lock = await openLock(shared);
  const words = new Int32Array(shared.court);
  const inside = parameters['inside'] as number;
  const outside = parameters['outside'] as number;
  let own = index + 1;
  let done = 0;
  let longestWaitMs = 0;

  const timedEnter = () => {
    const before = performance.now();
    lock.enter();
    const waitedMs = performance.now() - before;
    if (waitedMs > longestWaitMs) longestWaitMs = waitedMs;
  };

  return {
    begin() {
      longestWaitMs = 0;
    },
    batch(operations) {
      for (let i = 0; i < operations; i++) {
        if (i % TIMED_EVERY === 0) timedEnter();
        else lock.enter();
        words[value] = steps(words[value]!, inside);
        words[sections]! += 1;
        lock.leave();
        own = steps(own, outside);
      }
      done += operations;
      return own;
    },
    end() {
      Atomics.add(words, claimed, done);
      done = 0;
    },
    figures: () => ({ longestWaitNs: longestWaitMs * 1e6 }),
  };
}

/** Nothing but entering and leaving. */
export async function empty({ shared }: ThreadContext<SharedLock>): Promise<DrivingWorkload> {
  const lock = await openLock(shared);
  return {
    batch(operations) {
      let entered = 0;
      for (let i = 0; i < operations; i++) {
        lock.enter();
        entered = (entered + i) | 0;
        lock.leave();
      }
      return entered;
    },
  };
}
