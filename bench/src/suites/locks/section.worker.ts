import type { DrivingWorkload, ThreadContext } from '../../core/workload.js';
import { court } from './court.layout.js';
import { steps } from './steps.js';
import { openLock, type SharedLock } from './strategies.js';

const { value, sections, claimed, present } = court.offsets;

/** What the threads of a variant share. */
export interface Arena extends SharedLock {
  readonly court: SharedArrayBuffer;
}

/** Every so many sections a wait for the lock is timed: reading the clock twice costs as much as a short section. */
const TIMED_EVERY = 16;

/**
 * Sections between two looks at the end of the round. A lock that goes from a hundred sections a millisecond to
 * thousands, when the first thread is through, would have the others do large batches at another speed.
 */
const MAX_BATCH = 64;

/**
 * Sections one after the other: so many steps inside of the lock, over a value that it guards, and so many outside.
 *
 * Those at the beginning of a round, until each thread has been in one, are not counted: a thread that is alone until
 * the system lets the others run does as many in a millisecond as under contention in a tenth of a second, and
 * fairness would be that of the start.
 *
 * Parameters: `inside`, `outside`.
 */
export async function section({
  shared,
  index,
  threads,
  parameters,
}: ThreadContext<Arena>): Promise<DrivingWorkload> {
  const lock = await openLock(shared);
  const words = new Int32Array(shared.court);
  const inside = parameters['inside'] as number;
  const outside = parameters['outside'] as number;
  let own = index + 1;
  let done = 0;
  let longestWaitMs = 0;
  let awaited = 0;
  let entered = false;

  const timedEnter = () => {
    const before = performance.now();
    lock.enter();
    const waitedMs = performance.now() - before;
    if (waitedMs > longestWaitMs) longestWaitMs = waitedMs;
  };

  const play = (count: number) => {
    for (let i = 0; i < count; i++) {
      if (i % TIMED_EVERY === 0) timedEnter();
      else lock.enter();
      words[value] = steps(words[value]!, inside);
      words[sections]! += 1;
      lock.leave();
      own = steps(own, outside);
    }
    done += count;
  };

  const meetTheOthers = () => {
    play(1);
    Atomics.add(words, present, 1);
    while (((Atomics.load(words, present) - awaited) | 0) < 0) play(1);
    longestWaitMs = 0;
    entered = true;
  };

  return {
    maxBatch: MAX_BATCH,
    begin() {
      awaited = (awaited + threads) | 0;
      entered = false;
    },
    batch(operations) {
      if (!entered) meetTheOthers();
      play(operations);
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
