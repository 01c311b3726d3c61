import type { WorkerAddress } from './address.js';
import { ALL, DATA, type MateData, runRole } from './mate.test-worker.js';

interface Data extends MateData {
  readonly address: WorkerAddress;
}

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
});
