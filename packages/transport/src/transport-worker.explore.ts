import { defineModel, type SimulatedThread } from '@heddle/explore';
import { ADDRESS, contextOf, MEMORY, prepare, RECEIVER } from './context.explore.js';
import { Idle } from './idle.js';
import type { WorkerPlace } from './lane-life.js';
import { THREAD_MODES } from './thread-mode.js';
import { TransportWorker } from './transport-worker.js';

/** Whole workers and endpoints: too long to look at every schedule, so at many random ones. */

/** The lane of the models has room for four. */
const IDS = [1, 2, 3, 4, 5];
const SENDER: WorkerPlace = { row: 1, generation: 1 };

const workerOf = (thread: SimulatedThread, place: WorkerPlace): TransportWorker =>
  new TransportWorker(contextOf(thread).memory, place, { idle: Idle.park() }, () => {});

const sending = (thread: SimulatedThread): void => {
  const endpoint = workerOf(thread, SENDER).connect(ADDRESS);
  for (const id of IDS) endpoint.send(id);
  endpoint.close();
};

const receiving = (thread: SimulatedThread): number[] => {
  const worker = workerOf(thread, RECEIVER);
  const ids: number[] = [];
  for (const id of IDS) worker.on(id, (message) => ids.push(message.id));
  while (ids.length < IDS.length) if (worker.progress() === 0) worker.wait();
  return ids;
};

export default THREAD_MODES.map((threadMode, mode) =>
  defineModel({
    name: `worker: connect, send more than there is room for, close, against progress and wait, ${threadMode}`,
    ...MEMORY,
    hints: ['lane.tail', 'receiver.attention'],
    init: prepare(2, 1, mode),
    threads: { sender: sending, receiver: receiving },
    strayWakes: 1,
    search: { strategy: 'pct', schedules: 150, seed: mode },
    deep: { search: { schedules: 20_000 } },
    check: ({ results }) =>
      JSON.stringify(results[1]) === JSON.stringify(IDS)
        ? undefined
        : `received ${JSON.stringify(results[1])}`,
  }),
);
