import type { DrivingWorkload, ServingWorkload, StopSignal, ThreadContext } from '../../core/workload.js';
import { type Link, type LinkKind, type LinkParameters, messageOf } from './link.js';

type Context = ThreadContext<never>;

/** Both ends poll. A thread is given the name of its link's kind in `parameters`. */
export function linkWorkloads(kinds: Readonly<Record<string, LinkKind>>) {
  function open({ shared, index, parameters }: Context): Promise<Link> | Link {
    const given = parameters as unknown as LinkParameters & { readonly kind: string };
    return kinds[given.kind]!.open(shared, index, messageOf(given.messageBytes), given);
  }

  /** Sends one message after the other, each when the one before has come back. */
  function roundTrips(link: Link, count: number): number {
    for (let i = 0; i < count; i++) {
      link.send(1);
      while (link.poll() === 0) {
        // The partner answers, or the round has failed and the thread is ended from outside.
      }
    }
    return link.sum;
  }

  return {
    /** An operation is a message, on its way there or back. */
    async oneWay(context: Context): Promise<DrivingWorkload> {
      const link = await open(context);
      return { minBatch: 2, batch: (operations) => roundTrips(link, operations >> 1) };
    },

    async roundTrip(context: Context): Promise<DrivingWorkload> {
      const link = await open(context);
      return { batch: (operations) => roundTrips(link, operations) };
    },

    /** Sends back what it gets. */
    async answer(context: Context): Promise<ServingWorkload> {
      const link = await open(context);
      return { serve: (stop) => take(link, stop, (count) => link.send(count)) };
    },

    /** Sends as fast as it can, in batches. */
    async pour(context: Context): Promise<DrivingWorkload> {
      const link = await open(context);
      const { batch = 1 } = context.parameters as unknown as LinkParameters;
      return {
        minBatch: batch,
        batch(operations) {
          for (let left = operations; left > 0; left -= batch) link.send(Math.min(left, batch));
          return operations;
        },
      };
    },

    /** Takes what comes. */
    async drain(context: Context): Promise<ServingWorkload> {
      const link = await open(context);
      return {
        serve(stop) {
          const before = link.sum;
          take(link, stop, () => {});
          // Every message adds one.
          return (link.sum - before) | 0;
        },
      };
    },
  };
}

/** Looks for messages until the round is over. Returns how many there were. */
function take(link: Link, stop: StopSignal, taken: (count: number) => void): number {
  let over = false;
  for (let served = 0; ; ) {
    const count = link.poll();
    if (count > 0) {
      served += count;
      taken(count);
      continue;
    }
    // Nothing once more after the end: something may have come between the two looks.
    if (over) return served;
    over = stop.requested();
  }
}
