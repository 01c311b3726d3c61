import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import type {
  AsyncDrivingWorkload,
  DrivingWorkload,
  ServingWorkload,
  StopSignal,
  ThreadContext,
} from '../../core/workload.js';
import { messageOf } from '../messages/link.js';

/** The same by `postMessage`, between two ports. */

type Context = ThreadContext<SharedArrayBuffer, MessagePort>;
type Bytes = Uint8Array<ArrayBuffer>;

/** Bytes of messages that may be on their way: without a limit the queue eats the memory. */
const IN_FLIGHT_BYTES = 8 * 1024 * 1024;
const MOST_IN_FLIGHT = 4096;

const bytesIn = ({ parameters }: Context) => parameters['messageBytes'] as number;

/** Sends a message each time the one before has come back. */
function roundTrips({ own: port }: Context, post: (last: Bytes) => void, first: Bytes): AsyncDrivingWorkload {
  let arrived = (_message: Bytes) => {};
  port.on('message', (message: Bytes) => arrived(message));
  let last = first;
  let sum = 0;
  return {
    async batchAsync(operations) {
      for (let i = 0; i < operations; i++) {
        const answer = new Promise<Bytes>((resolve) => {
          arrived = resolve;
        });
        post(last);
        last = await answer;
        sum = (sum + last[0]!) | 0;
      }
      return sum;
    },
  };
}

export function roundTripClone(context: Context): AsyncDrivingWorkload {
  const message = messageOf(bytesIn(context));
  return roundTrips(context, () => context.own.postMessage(message), message);
}

/** One buffer goes there and back. */
export function roundTripTransfer(context: Context): AsyncDrivingWorkload {
  const post = (last: Bytes) => context.own.postMessage(last, [last.buffer]);
  return roundTrips(context, post, messageOf(bytesIn(context)));
}

function answering({ own: port }: Context, answer: (message: Bytes) => void): ServingWorkload {
  let served = 0;
  port.on('message', (message: Bytes) => {
    served++;
    answer(message);
  });
  return {
    begin: () => {
      served = 0;
    },
    async serve(stop: StopSignal) {
      await stop.promise;
      return served;
    },
  };
}

export const answerClone = (context: Context) =>
  answering(context, (message) => context.own.postMessage(message));

export const answerTransfer = (context: Context) =>
  answering(context, (message) => context.own.postMessage(message, [message.buffer]));

/** Looks for the answer without a turn of the event loop, so that nobody sleeps. */
export function roundTripPolled(context: Context): DrivingWorkload {
  const { own: port } = context;
  const message = messageOf(bytesIn(context));
  return {
    batch(operations) {
      let sum = 0;
      for (let i = 0; i < operations; i++) {
        port.postMessage(message);
        let answer = receiveMessageOnPort(port);
        while (!answer) answer = receiveMessageOnPort(port);
        sum += (answer.message as Bytes)[0]!;
      }
      return sum;
    },
  };
}

export function answerPolled({ own: port }: Context): ServingWorkload {
  return {
    serve(stop: StopSignal) {
      for (let served = 0; ; ) {
        const received = receiveMessageOnPort(port);
        if (received) {
          port.postMessage(received.message);
          served++;
        } else if (stop.requested()) return served;
      }
    },
  };
}

/** Keeps a core from falling asleep. */
export function keepAwake(): ServingWorkload {
  return {
    serve(stop: StopSignal) {
      let looks = 0;
      while (!stop.requested()) looks++;
      return looks;
    },
  };
}

/** Sends as fast as the other thread takes. */
function posting({ shared, parameters }: Context, post: () => void): DrivingWorkload {
  const received = new Int32Array(shared);
  const inFlight = Math.min(MOST_IN_FLIGHT, IN_FLIGHT_BYTES / (parameters['messageBytes'] as number));
  let posted = 0;
  return {
    batch(operations) {
      for (let i = 0; i < operations; i++) {
        let seen = Atomics.load(received, 0);
        while (((posted - seen) | 0) >= inFlight) {
          Atomics.wait(received, 0, seen);
          seen = Atomics.load(received, 0);
        }
        post();
        posted = (posted + 1) | 0;
      }
      return posted;
    },
  };
}

export function postClones(context: Context): DrivingWorkload {
  const message = messageOf(bytesIn(context));
  return posting(context, () => context.own.postMessage(message));
}

/** A new buffer for each, filled and given away. */
export function postTransfers(context: Context): DrivingWorkload {
  const message = messageOf(bytesIn(context));
  return posting(context, () => {
    const copy = new Uint8Array(message.length);
    copy.set(message);
    context.own.postMessage(copy, [copy.buffer]);
  });
}

export function takePosted({ shared, own: port }: Context): ServingWorkload {
  const received = new Int32Array(shared);
  let served = 0;
  port.on('message', (message: Bytes) => {
    served += message[0]!;
    Atomics.add(received, 0, 1);
    Atomics.notify(received, 0);
  });
  return {
    begin() {
      served = 0;
    },
    async serve(stop: StopSignal) {
      await stop.promise;
      return served;
    },
  };
}
