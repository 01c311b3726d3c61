import type { DrivingWorkload, ServingWorkload, StopSignal, ThreadContext } from '../../core/workload.js';
import { messageOf } from '../messages/link.js';
import { joinContext, MESSAGE, type SharedContext } from './thread-of-context.js';

/** Many threads send to the last one. All sleep where there is nothing to do. */

type Context = ThreadContext<SharedContext>;

/** Wakes the receiver at the end of a round. */
const OVER = 2;

export function send({ shared, index, threads, parameters }: Context): DrivingWorkload {
  const endpoint = joinContext(shared, index).connect(threads - 1);
  const message = messageOf(parameters['messageBytes'] as number);
  return {
    batch(operations) {
      for (let i = 0; i < operations; i++) endpoint.send(MESSAGE, message);
      return operations;
    },
    // Of the last one: when it comes, the round is over.
    end: () => endpoint.send(OVER),
  };
}

export function receive({ shared, index }: Context): ServingWorkload {
  const { worker } = joinContext(shared, index);
  let served = 0;
  worker.on(MESSAGE, ({ memory, byteOffset }) => {
    served += memory[byteOffset]!;
  });
  worker.on(OVER, () => {});
  return {
    begin() {
      served = 0;
    },
    serve(stop: StopSignal) {
      for (;;) {
        if (worker.progress() > 0) continue;
        if (stop.requested()) return served;
        worker.wait();
      }
    },
  };
}
