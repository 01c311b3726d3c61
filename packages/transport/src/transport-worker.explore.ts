import { defineModel, type SimulatedThread } from '@heddle/explore';
import { HeddleError } from '@heddle/memory';
import { ADDRESS, contextOf, MEMORY, NOTES, prepare, RECEIVER, recovering } from './context.explore.js';
import { Idle } from './idle.js';
import type { WorkerPlace } from './lane-life.js';
import { THREAD_MODES } from './thread-mode.js';
import { workerRowAt, workerRowLayout } from './transport.layout.js';
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

/** Token of a thread that was declared dead. */
const DECLARED = NOTES;

/** Uses a worker that another thread made, and closes its use. */
const visiting = (thread: SimulatedThread): void => {
  const { words, atomics } = thread;
  const gone = { includes: (token: number) => atomics.load(words, DECLARED) === token };
  const { memory } = contextOf(thread, gone);
  const worker = new TransportWorker(memory, RECEIVER, { idle: Idle.park() }, () => {});
  try {
    worker.progress();
  } catch (error) {
    if (!(error instanceof HeddleError)) throw error;
  }
  worker.close();
};

const owning = (thread: SimulatedThread): void => {
  const worker = workerOf(thread, RECEIVER);
  try {
    worker.progress();
  } catch (error) {
    if (!(error instanceof HeddleError)) throw error;
  }
};

const trafficModels = THREAD_MODES.map((threadMode, mode) =>
  defineModel({
    name: `worker: connect, send more than there is room for, close, against progress and wait, ${threadMode}`,
    ...MEMORY,
    hints: ['lane.tail', 'lane.head', 'receiver.attention'],
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

export default [
  ...trafficModels,
  defineModel({
    name: 'worker: the owner of a serialized worker dies while a thread that used it leaves, and whoever recovers dies: it ends',
    ...MEMORY,
    hints: ['lane.tail', 'receiver.attention'],
    init: (words) => {
      prepare(1, 9, THREAD_MODES.indexOf('serialized'))(words);
    },
    threads: { owner: owning, visitor: visiting },
    killable: ['owner'],
    kills: 2,
    recover: (thread, dead) => {
      thread.atomics.store(thread.words, DECLARED, dead + 1);
      recovering(true)(thread, dead);
    },
    check: ({ words, dead }) => {
      if (dead[0] !== true) return undefined;
      const at = workerRowAt(RECEIVER.row);
      const owner = words[at + workerRowLayout.offsets.owner];
      const state = words[at + workerRowLayout.offsets.state];
      return owner === 0 && state === 2 ? undefined : `the worker is left to ${owner}, in state ${state}`;
    },
  }),
];
