import type { Endpoint } from './endpoint.js';
import { DATA, die, type Ending, type Mate, type MateData, runRole, TELL } from './mate.test-worker.js';

export interface FamilyData extends MateData {
  readonly file: string;
  /** Row of the thread that dies. */
  readonly child: number;
  readonly ending: Ending;
  /** Rows of threads to start below this one. */
  readonly below: readonly number[];
}

/** Word that tells a thread to die. */
export const DIE = TELL.first;
/** Word in which a survivor tells that it knows. */
export const KNOWS = TELL.first + 1;
/** Word in which a survivor tells how many messages were reported as unread. */
export const UNREAD = TELL.first + 2;

/** Receives nothing, and dies when it is told to. */
function child(mate: Mate, { ending }: FamilyData): void {
  const worker = mate.context.createWorker({ name: 'child' });
  mate.announce(worker);
  mate.phase('receiving');
  mate.waitFor(DIE, 1);
  die(ending);
}

/** Parks in a wait for messages that never come. */
function parked(mate: Mate): void {
  const worker = mate.context.createWorker({ name: 'parked' });
  mate.announce(worker);
  mate.phase('receiving');
  for (;;) worker.wait();
}

/** Starts threads, and gives its event loop no turn from then on. */
function parent(mate: Mate, data: FamilyData): void {
  for (const row of data.below) {
    const role = row === data.child ? 'child' : 'parked';
    const { heddle: _, ...rest } = data;
    mate.context.spawn(new URL(import.meta.url), { workerData: { ...rest, role, row }, stderr: true });
  }
  mate.phase('receiving');
  for (;;) mate.waitFor(DIE, 1);
}

/** Sends what fits to the child, then goes on in some way; tells when it learns that the child is gone. */
async function survive(
  mate: Mate,
  data: FamilyData,
  goOn: (endpoint: Endpoint) => void | Promise<void>,
): Promise<void> {
  const worker = mate.context.createWorker({ name: data.role });
  let unread = -1;
  const endpoint = worker.connect(mate.addressOf(data.child), {
    onClosed: (report) => {
      unread = report.unread;
    },
  });
  while (endpoint.trySend(DATA) === 'sent') mate.add(TELL.sent);
  mate.phase('sending');
  try {
    await goOn(endpoint);
    throw new Error(`${data.role} ended, and the child is not gone`);
  } catch (error) {
    if ((error as { code?: string }).code !== 'ERR_HEDDLE_CLOSED') throw error;
  }
  while (unread < 0) if (worker.progress() === 0 && unread < 0) worker.wait();
  mate.set(UNREAD, unread);
  mate.set(KNOWS, 1);
  await mate.leave();
}

const blockedSend = (mate: Mate, data: FamilyData) => survive(mate, data, (endpoint) => endpoint.send(DATA));
const blockedFlush = (mate: Mate, data: FamilyData) => survive(mate, data, (endpoint) => endpoint.flush());
const asyncSend = (mate: Mate, data: FamilyData) =>
  survive(mate, data, (endpoint) => endpoint.sendAsync(DATA));
const polling = (mate: Mate, data: FamilyData) =>
  survive(mate, data, (endpoint) => {
    while (endpoint.trySend(DATA) === 'no-resource');
    // It ends with `closed`, which is an error for those who do not ask.
    endpoint.send(DATA);
  });

/** What the survivors of a family do when the child dies. */
export const SURVIVORS = ['blockedSend', 'blockedFlush', 'asyncSend', 'polling'] as const;

runRole<FamilyData>(import.meta.url, {
  child,
  parked,
  parent,
  blockedSend,
  blockedFlush,
  asyncSend,
  polling,
});
