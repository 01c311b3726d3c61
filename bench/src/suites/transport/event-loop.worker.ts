import type {
  AsyncDrivingWorkload,
  ServingWorkload,
  StopSignal,
  ThreadContext,
} from '../../core/workload.js';
import { messageOf } from '../messages/link.js';
import { joinContext, MESSAGE, type SharedContext } from './thread-of-context.js';

/** Both threads live on their event loops, and receive by `worker.run`. */

type Context = ThreadContext<SharedContext>;

const bytesIn = ({ parameters }: Context) => parameters['messageBytes'] as number;

/** Sends as fast as there is room. */
export function send(context: Context): AsyncDrivingWorkload {
  const { shared, index } = context;
  const endpoint = joinContext(shared, index).connect(1 - index);
  const message = messageOf(bytesIn(context));
  return {
    async batchAsync(operations) {
      for (let i = 0; i < operations; i++) {
        if (endpoint.trySend(MESSAGE, message) !== 'sent') await endpoint.sendAsync(MESSAGE, message);
      }
      return operations;
    },
  };
}

export function receive({ shared, index }: Context): ServingWorkload {
  const { worker } = joinContext(shared, index);
  let served = 0;
  worker.on(MESSAGE, ({ memory, byteOffset }) => {
    served += memory[byteOffset]!;
  });
  return {
    begin() {
      served = 0;
    },
    async serve(stop: StopSignal) {
      const end = new AbortController();
      void stop.promise.then(() => end.abort());
      await worker.run({ signal: end.signal });
      while (worker.progress() > 0) {
        // What came after the last look.
      }
      return served;
    },
  };
}

/** Sends a message each time the one before has come back. */
export function roundTrip(context: Context): AsyncDrivingWorkload {
  const { shared, index } = context;
  const { worker, connect } = joinContext(shared, index);
  const endpoint = connect(1 - index);
  const message = messageOf(bytesIn(context));
  let arrived = (_number: number) => {};
  worker.on(MESSAGE, ({ memory, byteOffset }) => arrived(memory[byteOffset]!));
  void worker.run();
  return {
    async batchAsync(operations) {
      let sum = 0;
      for (let i = 0; i < operations; i++) {
        const answer = new Promise<number>((resolve) => {
          arrived = resolve;
        });
        endpoint.trySend(MESSAGE, message);
        sum += await answer;
      }
      return sum;
    },
  };
}

export function answer(context: Context): ServingWorkload {
  const { shared, index } = context;
  const { worker, connect } = joinContext(shared, index);
  const endpoint = connect(1 - index);
  const message = messageOf(bytesIn(context));
  let served = 0;
  worker.on(MESSAGE, () => {
    served++;
    endpoint.trySend(MESSAGE, message);
  });
  return {
    begin() {
      served = 0;
    },
    async serve(stop: StopSignal) {
      const end = new AbortController();
      void stop.promise.then(() => end.abort());
      await worker.run({ signal: end.signal });
      return served;
    },
  };
}
