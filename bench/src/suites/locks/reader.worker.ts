import type { DrivingWorkload, ServingWorkload, StopSignal, ThreadContext } from '../../core/workload.js';
import type { SharedReadWrite } from './read-write.js';
import { steps } from './steps.js';
import { openLock } from './strategies.js';

/**
 * Sections of readers, and of writers in between.
 *
 * Parameters: `inside`, steps in a section; `writeEvery`, every so many sections one writes, 0 for none.
 */
export async function reader({
  shared,
  index,
  parameters,
}: ThreadContext<SharedReadWrite>): Promise<DrivingWorkload> {
  const read = await openLock(shared.read);
  const write = await openLock(shared.write);
  const inside = parameters['inside'] as number;
  const writeEvery = parameters['writeEvery'] as number;
  let value = index + 1;
  let untilWrite = writeEvery;
  return {
    batch(operations) {
      for (let i = 0; i < operations; i++) {
        if (writeEvery > 0 && --untilWrite === 0) {
          untilWrite = writeEvery;
          write.enter();
          value = steps(value, inside);
          write.leave();
        } else {
          read.enter();
          value = steps(value, inside);
          read.leave();
        }
      }
      return value;
    },
  };
}

/** Keeps a reader that is to be alone company, so that it is timed as several are. */
export function asleep(): ServingWorkload {
  return {
    async serve(stop: StopSignal) {
      await stop.promise;
      return 0;
    },
  };
}
