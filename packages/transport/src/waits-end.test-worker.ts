import { type MateData, runRole } from './mate.test-worker.js';

runRole<MateData>(import.meta.url, {
  /** Can be sent to, and never reads. */
  deaf(mate) {
    mate.announce(mate.context.createWorker());
    for (;;) Atomics.wait(mate.told, 0, -1);
  },
});
