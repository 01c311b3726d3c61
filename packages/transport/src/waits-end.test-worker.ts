import type { WorkerAddress } from './address.js';
import { Completion } from './completion.js';
import { Idle } from './idle.js';
import { ALL, DATA, type MateData, runRole } from './mate.test-worker.js';
import type { TransportWorker } from './transport-worker.js';

interface Data extends MateData {
  readonly address: WorkerAddress;
  readonly sleep: keyof typeof SLEEPS;
  readonly end: 'worker' | 'context';
}

/** Every way to sleep on the event loop until there is something to receive. */
export const SLEEPS = {
  run: (worker: TransportWorker) => worker.run(),
  messages: (worker: TransportWorker) => worker.messages().next(),
  waitAsync: (worker: TransportWorker) => worker.waitAsync(),
};

runRole<Data>(import.meta.url, {
  /** Can be sent to, and never reads. */
  deaf(mate) {
    mate.announce(mate.context.createWorker());
    for (;;) Atomics.wait(mate.told, ALL.stop, 0);
  },

  /** Receives on the worker of another thread. */
  member(mate, { address }) {
    const worker = mate.context.openWorker(address);
    worker.on(DATA, () => {});
    mate.add(ALL.ready, 1, 0);
    while (mate.get(ALL.stop, 0) === 0) if (worker.progress() === 0) worker.wait({ timeout: 100 });
    worker.close();
    mate.context[Symbol.dispose]();
  },

  /** Has what waits of a worker of its own, and ends its use of the context while another thread is inside of that. */
  async owner(mate, { address }) {
    const worker = mate.context.createWorker({ threadMode: 'serialized' });
    const endpoint = worker.connect(address);
    const completion = new Completion();
    endpoint.send(DATA, undefined, undefined, { completion });
    const outcome = endpoint.flushAsync().then(
      () => 'done',
      ({ code }) => code,
    );
    mate.announce(worker);
    mate.waitFor(ALL.stop, 1, 0);
    mate.context[Symbol.dispose]();
    const ends = [worker.closed, endpoint.closed, completion.pending, completion.failed, await outcome];
    const expected = [true, true, 0, 1, 'ERR_HEDDLE_CLOSED'];
    if (String(ends) !== String(expected)) throw new Error(`It ended with ${ends}`);
    mate.phase('done');
  },

  /** Sleeps on the event loop at the worker of another thread, and closes its use of that meanwhile. */
  async leaver({ context }, { address, sleep, end }) {
    const worker = context.openWorker(address, { idle: Idle.park({ looks: 0 }) });
    const outcome = SLEEPS[sleep](worker).then(
      () => 'done',
      ({ code }) => code,
    );
    await new Promise(setImmediate);
    if (end === 'worker') worker.close();
    else context[Symbol.dispose]();
    const expected = sleep === 'waitAsync' ? 'ERR_HEDDLE_CLOSED' : 'done';
    const ended = await outcome;
    if (ended !== expected) throw new Error(`It ended with ${ended}`);
    context[Symbol.dispose]();
  },
});
