import { defineModel, type SimulatedThread } from '@heddle/explore';
import { HeddleError, runBlocking, type Step, type Steps } from '@heddle/memory';
import { Completion } from './completion.js';
import { Connections } from './connections.js';
import {
  ADDRESS,
  closing,
  conserved,
  contextOf,
  LANE,
  LARGE,
  MEMORY,
  NOTES,
  prepare,
  RECEIVER,
  recovering,
} from './context.explore.js';
import { Doorbell } from './doorbell.js';
import { Endpoint } from './endpoint.js';

import { Loan } from './loan.js';
import type { MessageCursor } from './message.js';
import { type MessageData, statusOf } from './message-writer.js';
import { OutboundLane } from './outbound-lane.js';
import { Outstanding } from './outstanding.js';
import { ReceiveQueue } from './receive-queue.js';
import { record } from './record.js';
import { NO_ROOM, SENT } from './send-answer.js';
import { AttemptSteps } from './send-queue.js';
import { workerRowAt, workerRowLayout } from './transport.layout.js';
import { WaitingSend } from './waiting-send.js';

const { SLOT_BODY_BYTES } = record;

/** Endpoints and a receive queue, without the workers around them: what a sender waits for, and how it is told. */

const SENDER = { row: 1, generation: 1 };
const HINTED = { ...MEMORY, hints: ['lane.tail'] } as const;
const nothing = new Uint8Array(0);

const bellAt = (row: number) => workerRowAt(row) + workerRowLayout.offsets.doorbell;

/** Connects. Answers undefined where the receiver has closed. */
const connecting = (connections: Connections): Endpoint | undefined => {
  try {
    return connections.connect(ADDRESS, {});
  } catch (error) {
    if (error instanceof HeddleError && error.code === 'ERR_HEDDLE_CLOSED') return undefined;
    throw error;
  }
};

/** What became of a message that was asked about. */
interface Told {
  readonly sent: boolean;
  readonly ends: (string | undefined)[];
}

/** Sends a message and sleeps until its completion has told, as `wait` and `progress` do. Then it leaves. */
const asking = (thread: SimulatedThread): Told => {
  const { memory } = contextOf(thread);
  const connections = new Connections(memory, SENDER);
  const { outstanding } = connections;
  const endpoint = connecting(connections);
  if (!endpoint) return { sent: false, ends: [] };
  const { doorbell } = memory.row(SENDER.row);
  const ends: (string | undefined)[] = [];
  const completion = new Completion((error) => ends.push(error?.code));
  const sent = endpoint.trySend(1, nothing, nothing, completion) === 'sent';
  while (completion.pending > 0) {
    connections.report();
    outstanding.tell();
    if (completion.pending === 0) break;
    doorbell.fallAsleep();
    connections.report();
    if (outstanding.mayHaveNews) doorbell.ring();
    else thread.atomics.wait(thread.words, bellAt(SENDER.row), Doorbell.SLEEPING);
  }
  connections.close();
  return { sent, ends };
};

/** Polls until there were so many messages, sleeping in between. */
const receiving = (
  thread: SimulatedThread,
  count: number,
  handle: (message: MessageCursor) => void,
): void => {
  const { memory } = contextOf(thread);
  const { doorbell } = memory.row(RECEIVER.row);
  const queue = new ReceiveQueue(memory, RECEIVER);
  let handled = 0;
  for (;;) {
    if (queue.needsAttention) queue.attend();
    const now = queue.poll(handle, 1);
    handled += now;
    if (handled === count) return;
    if (now > 0) continue;
    if (!queue.arm()) continue;
    if (queue.needsAttention) doorbell.ring();
    else thread.atomics.wait(thread.words, bellAt(RECEIVER.row), Doorbell.SLEEPING);
  }
};

/** Looks once, and closes. */
const receivingOnce = (thread: SimulatedThread): void => {
  const { memory } = contextOf(thread);
  const queue = new ReceiveQueue(memory, RECEIVER);
  queue.attend();
  queue.poll(() => {
    thread.words[NOTES]!++;
  }, 1);
  closing(thread);
};

/** Each message that was sent ended once; well only where it was handled. */
const toldOnce = ({ results, words }: { results: readonly unknown[]; words: Int32Array }) => {
  const { sent, ends } = results[0] as Told;
  if (ends.length !== (sent ? 1 : 0)) return `sent ${sent}, told ${ends.length} times`;
  if (sent && ends[0] === undefined && words[NOTES] !== 1) return 'told to be done, and not handled';
  return undefined;
};

/** Asynchronous sends that wait for room, whose steps are driven one after the other, and what is sent around them. */
const throughTheQueue = (thread: SimulatedThread): string => {
  const { memory } = contextOf(thread);
  const lane = OutboundLane.open(memory, ADDRESS, SENDER);
  const { messages, queue, writer } = lane;
  const way = { memory, lane, messages, assertOpen: () => {}, assertMaySend: () => {} };
  const waiting = (id: number, data: MessageData) => {
    const write = (now: MessageData) => statusOf(messages.write(id, now, nothing, false));
    return { entry: {}, send: new WaitingSend(way, data, nothing, false, write) };
  };
  const loan = new Loan(memory, 1, memory.slots.of(1).tryGet()!, LARGE.length);
  writer.cork();
  const first = [1, 2, 3, 4].map((id) => messages.write(id, nothing, nothing, false));
  writer.uncork();
  // Full: the smaller one waits behind the larger one.
  const asynchronous = [waiting(5, loan), waiting(6, nothing)];
  for (const { entry } of asynchronous) queue.join(entry);
  for (const { entry, send } of asynchronous) {
    thread.drive(inLane(queue.turn(entry, () => {})));
    thread.drive(inLane(new AttemptSteps(send)));
    queue.leave(entry);
  }
  let last = NO_ROOM;
  const attempt = () => {
    last = messages.write(7, nothing, nothing, false);
    return last !== NO_ROOM;
  };
  const steps = new AttemptSteps({ attempt, sleep: () => writer.sleepUntilRoom(0) });
  runBlocking(steps, lane.lane.words, thread.platform);
  return [...first, last].every((answer) => answer === SENT) ? 'all sent' : 'not all sent';
};

/** Steps that sleep on words of the lane, as steps that sleep on words of the model. */
const inLane = (steps: Steps<boolean>): Steps<boolean> => {
  const placed = (step: Step<boolean>) => (step.done ? step : { ...step, index: LANE + step.index });
  return {
    begin: () => placed(steps.begin()),
    onWake: () => placed(steps.onWake()),
    onTimeout: () => placed(steps.onTimeout()),
    onAbort: () => steps.onAbort(),
  };
};

export default [
  defineModel({
    name: 'sending: order through the pending path, inline, as a loan of the larger size, and around it',
    ...HINTED,
    init: prepare(),
    threads: {
      sender: throughTheQueue,
      receiver: (thread) => {
        const ids: number[] = [];
        receiving(thread, 7, (message) => ids.push(message.id));
        return ids;
      },
    },
    search: { strategy: 'pct', schedules: 150 },
    deep: { search: { schedules: 20_000 } },
    check: ({ results }) =>
      results[0] === 'all sent' && JSON.stringify(results[1]) === '[1,2,3,4,5,6,7]'
        ? undefined
        : `${results[0]}, received ${JSON.stringify(results[1])}`,
  }),
  defineModel({
    name: 'sending: many at once, more than there is room for, against a receiver that sleeps',
    ...HINTED,
    init: prepare(),
    threads: {
      sender: (thread) => {
        const { memory } = contextOf(thread);
        const lane = OutboundLane.open(memory, ADDRESS, SENDER);
        const endpoint = new Endpoint(memory, lane, new Outstanding(), ADDRESS, {}, () => {});
        const all = [nothing, nothing, nothing, nothing, LARGE, nothing];
        let sent = 0;
        const attempt = () => {
          sent += endpoint.sendMany(1, all.slice(sent));
          return sent === all.length;
        };
        const sleep = () => lane.writer.sleepUntilRoom(all[sent] === LARGE ? SLOT_BODY_BYTES : 0);
        runBlocking(new AttemptSteps({ attempt, sleep }), lane.lane.words, thread.platform);
      },
      receiver: (thread) => {
        const sizes: number[] = [];
        receiving(thread, 6, (message) => sizes.push(message.byteLength));
        return sizes;
      },
    },
    search: { strategy: 'pct', schedules: 150 },
    deep: { search: { schedules: 20_000 } },
    check: ({ results }) =>
      JSON.stringify(results[1]) === '[0,0,0,0,16,0]' ? undefined : `received ${JSON.stringify(results[1])}`,
  }),
  defineModel({
    name: 'completion: the handler returns: the sender is woken, and told once',
    ...HINTED,
    init: prepare(),
    threads: {
      sender: asking,
      receiver: (thread) =>
        receiving(thread, 1, () => {
          thread.words[NOTES]!++;
        }),
    },
    search: { preemptions: 3 },
    deep: { search: { preemptions: 6 } },
    check: toldOnce,
  }),
  defineModel({
    name: 'completion: kept and released after the handler: the sender is woken, and told once',
    ...HINTED,
    init: prepare(),
    threads: {
      sender: asking,
      receiver: (thread) => {
        let release = () => {};
        receiving(thread, 1, (message) => {
          const lease = message.keep();
          release = () => lease.release();
        });
        thread.words[NOTES]!++;
        release();
      },
    },
    search: { preemptions: 2 },
    deep: { search: { preemptions: 5 } },
    check: toldOnce,
  }),
  defineModel({
    name: 'completion: against a receiver that looks once and closes: told once, done only where it was handled',
    ...HINTED,
    init: prepare(),
    threads: { sender: asking, receiver: receivingOnce },
    search: { preemptions: 3 },
    deep: { search: { preemptions: 6 } },
    check: toldOnce,
    conserve: conserved,
  }),
  defineModel({
    name: 'completion: the receiver dies anywhere: told once, done only where it was handled',
    ...HINTED,
    init: prepare(),
    threads: { sender: asking, receiver: receivingOnce },
    killable: ['receiver'],
    kills: 1,
    recover: recovering(true),
    search: { preemptions: 1 },
    deep: { search: { preemptions: 3 } },
    check: toldOnce,
    conserve: conserved,
  }),
  defineModel({
    name: 'completion: the sender dies anywhere: nothing leaks',
    ...HINTED,
    init: prepare(),
    threads: { sender: asking, receiver: receivingOnce },
    killable: ['sender'],
    kills: 1,
    recover: recovering(true),
    search: { preemptions: 1 },
    deep: { search: { preemptions: 3 } },
    conserve: conserved,
  }),
];
