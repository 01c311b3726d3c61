import type {
  AsyncDrivingWorkload,
  DrivingWorkload,
  ServingWorkload,
  StopSignal,
  ThreadContext,
} from './workload.js';

/** Workloads for the tests of the thread group. */

type Context = ThreadContext<SharedArrayBuffer, string>;

export function counting({ shared, index }: Context): DrivingWorkload {
  const words = new Int32Array(shared);
  let longest = 0;
  return {
    maxBatch: 1000,
    batch(operations) {
      for (let i = 0; i < operations; i++) Atomics.add(words, index, 1);
      longest = Math.max(longest, operations);
      return operations;
    },
    figures: () => ({ longest, index }),
  };
}

/** Operations come in pairs. */
export function paired(): DrivingWorkload {
  return {
    minBatch: 2,
    batch(operations) {
      if (operations % 2 !== 0) throw new RangeError(`half a pair: ${operations}`);
      return operations;
    },
  };
}

export function awaiting({ shared, index }: Context): AsyncDrivingWorkload {
  const words = new Int32Array(shared);
  return {
    async batchAsync(operations) {
      for (let i = 0; i < operations; i++) {
        await null;
        words[index]!++;
      }
      return operations;
    },
  };
}

export function polling(): ServingWorkload {
  return {
    serve(stop: StopSignal) {
      let polls = 1;
      while (!stop.requested()) polls++;
      return polls;
    },
  };
}

export function listening(): ServingWorkload {
  return {
    async serve(stop: StopSignal) {
      await stop.promise;
      return stop.requested() ? 1 : 0;
    },
  };
}

export function echoing({ own, parameters }: Context): DrivingWorkload {
  throw new Error(`own ${own}, parameters ${JSON.stringify(parameters)}`);
}

export function exiting(): DrivingWorkload {
  return { batch: () => process.exit(7) };
}

export function throwing({ shared }: Context): DrivingWorkload {
  let rounds = 0;
  return {
    begin() {
      if (rounds++ > 0) throw new Error(`round ${rounds} broke`);
    },
    batch: (operations) => operations + shared.byteLength,
  };
}
