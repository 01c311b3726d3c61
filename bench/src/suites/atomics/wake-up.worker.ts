import type { MessagePort } from 'node:worker_threads';
import type {
  AsyncDrivingWorkload,
  DrivingWorkload,
  ServingWorkload,
  StopSignal,
  ThreadContext,
} from '../../core/workload.js';
import { court } from './court.layout.js';

/**
 * A ball that goes to the other thread and back, four ways.
 *
 * `ball` counts up on the way there, `echo` on the way back: each word has one writer, so a thread sleeps on the
 * word that the other changes. The end of a round is a ball of its own, {@link OUT}: a partner that sleeps is woken
 * by it and needs no timeout.
 */

type Shared = SharedArrayBuffer;
type Context = ThreadContext<Shared, MessagePort>;

const { ball, echo } = court.offsets;
const OUT = -1;

const view = (context: Context) => new Int32Array(context.shared);

/** Between rounds all threads are at rest, so one of them may put both words back. */
function serveFirst(words: Int32Array): void {
  Atomics.store(words, ball, 0);
  Atomics.store(words, echo, 0);
}

/** The next number, never {@link OUT}. */
const next = (count: number) => (count + 1) & 0x3fff_ffff;

export function spinDriver(context: Context): DrivingWorkload {
  const words = view(context);
  return {
    maxBatch: 1024,
    begin: () => serveFirst(words),
    batch(operations) {
      let count = Atomics.load(words, echo);
      for (let i = 0; i < operations; i++) {
        count = next(count);
        Atomics.store(words, ball, count);
        while (Atomics.load(words, echo) !== count) {
          // The partner answers, or the round has failed and the thread is ended from outside.
        }
      }
      return count;
    },
    end: () => void Atomics.store(words, ball, OUT),
  };
}

export function spinPartner(context: Context): ServingWorkload {
  const words = view(context);
  return {
    serve() {
      let served = 0;
      let last = 0;
      for (;;) {
        const count = Atomics.load(words, ball);
        if (count === OUT) return served;
        if (count === last) continue;
        last = count;
        Atomics.store(words, echo, count);
        served++;
      }
    },
  };
}

/** Blocks until the word is no longer `old`, and returns what it is. */
function park(words: Int32Array, index: number, old: number): number {
  for (;;) {
    const value = Atomics.load(words, index);
    if (value !== old) return value;
    Atomics.wait(words, index, old);
  }
}

function pass(words: Int32Array, index: number, value: number): void {
  Atomics.store(words, index, value);
  Atomics.notify(words, index, 1);
}

export function waitDriver(context: Context): DrivingWorkload {
  const words = view(context);
  return {
    maxBatch: 1,
    begin: () => serveFirst(words),
    batch(operations) {
      let count = Atomics.load(words, echo);
      for (let i = 0; i < operations; i++) {
        const old = count;
        count = next(count);
        pass(words, ball, count);
        park(words, echo, old);
      }
      return count;
    },
    end: () => pass(words, ball, OUT),
  };
}

export function waitPartner(context: Context): ServingWorkload {
  const words = view(context);
  return {
    serve() {
      let last = 0;
      for (let served = 0; ; served++) {
        last = park(words, ball, last);
        if (last === OUT) return served;
        pass(words, echo, last);
      }
    },
  };
}

/** As {@link park}, in the event loop. */
async function parkAsync(words: Int32Array, index: number, old: number): Promise<number> {
  for (;;) {
    const value = Atomics.load(words, index);
    if (value !== old) return value;
    const wait = Atomics.waitAsync(words, index, old);
    if (wait.async) await wait.value;
  }
}

export function waitAsyncDriver(context: Context): AsyncDrivingWorkload {
  const words = view(context);
  return {
    maxBatch: 1,
    begin: () => serveFirst(words),
    async batchAsync(operations) {
      let count = Atomics.load(words, echo);
      for (let i = 0; i < operations; i++) {
        const old = count;
        count = next(count);
        pass(words, ball, count);
        await parkAsync(words, echo, old);
      }
      return count;
    },
    end: () => pass(words, ball, OUT),
  };
}

export function waitAsyncPartner(context: Context): ServingWorkload {
  const words = view(context);
  return {
    async serve() {
      let last = 0;
      for (let served = 0; ; served++) {
        last = await parkAsync(words, ball, last);
        if (last === OUT) return served;
        pass(words, echo, last);
      }
    },
  };
}

export function messageDriver({ own: port }: Context): AsyncDrivingWorkload {
  let arrived = (_count: number) => {};
  port.on('message', (count: number) => arrived(count));
  let count = 0;
  return {
    maxBatch: 1,
    async batchAsync(operations) {
      for (let i = 0; i < operations; i++) {
        count = next(count);
        const answer = new Promise<number>((resolve) => {
          arrived = resolve;
        });
        port.postMessage(count);
        await answer;
      }
      return count;
    },
  };
}

export function messagePartner({ own: port }: Context): ServingWorkload {
  let served = 0;
  port.on('message', (count: number) => {
    served++;
    port.postMessage(count);
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
