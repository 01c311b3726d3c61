import { defineModel, type SimulatedThread } from '@heddle/explore';
import { contextOf, LANE, MEMORY, prepare, RECEIVER, useLane } from './context.explore.js';
import { Doorbell } from './doorbell.js';
import { laneLayout } from './lane.layout.js';
import { PHASE } from './lane-life.js';
import { LaneWriter } from './lane-writer.js';
import { ReceiveQueue } from './receive-queue.js';
import { workerRowAt, workerRowLayout } from './transport.layout.js';

/** A receiver that looks at no lane unless the doorbell says that it is ready: the armed word and its bits. */

const HINTED = { ...MEMORY, hints: ['lane.tail'] } as const;
const BELL = workerRowAt(RECEIVER.row) + workerRowLayout.offsets.doorbell;
/** Token of a sender that is no thread of the model. */
const SENDER = 8;

const open = (words: Int32Array): void => {
  prepare(2, SENDER)(words);
  useLane(words, (1 << 27) | (SENDER << 3) | PHASE.open);
  words[LANE + laneLayout.offsets.receiverGeneration] = 1;
};

const nothing = new Uint8Array(0);

const sending =
  (count: number) =>
  (thread: SimulatedThread): void => {
    const { memory } = contextOf(thread);
    const lane = memory.lane(0);
    const bell = memory.row(RECEIVER.row).doorbell.ofLane(0);
    const writer = new LaneWriter(lane.words, lane.bytes, bell, memory.platform);
    for (let id = 1; id <= count; id++) writer.writeInline(id, nothing, nothing);
  };

/** Receives until there were so many, asleep or polling in between: all lanes are cold after a sleep. */
const receiving =
  (count: number, polls = 1) =>
  (thread: SimulatedThread): number[] => {
    const { memory } = contextOf(thread);
    const queue = new ReceiveQueue(memory, RECEIVER, false, 0);
    queue.attend();
    const ids: number[] = [];
    while (ids.length < count) {
      if (queue.needsAttention) queue.attend();
      for (let i = 0; i < polls; i++) queue.poll((message) => ids.push(message.id), 8);
      if (ids.length < count && queue.arm()) {
        if (queue.needsAttention) memory.row(RECEIVER.row).doorbell.ring();
        else thread.atomics.wait(thread.words, BELL, Doorbell.SLEEPING);
      }
    }
    return ids;
  };

const inOrder = (ids: unknown, count: number) =>
  JSON.stringify(ids) === JSON.stringify(Array.from({ length: count }, (_, i) => i + 1))
    ? undefined
    : `received ${JSON.stringify(ids)}`;

export default [
  defineModel({
    name: 'ready: messages to a lane that nobody looks at, against a receiver that polls and sleeps (TR-12)',
    ...HINTED,
    init: open,
    threads: { sender: sending(2), receiver: receiving(2) },
    strayWakes: 1,
    check: ({ results }) => inOrder(results[1], 2),
  }),
  defineModel({
    name: 'ready: a signal against the bit of a lane: neither is lost',
    ...HINTED,
    init: open,
    threads: {
      sender: sending(1),
      receiver: receiving(1),
      signaller: (thread) => contextOf(thread).memory.row(RECEIVER.row).doorbell.signal(),
    },
    check: ({ results }) => inOrder(results[1], 1),
  }),
  defineModel({
    name: 'ready: the sender dies between its record and the bit: recovery makes the receiver look at all lanes',
    ...HINTED,
    init: open,
    threads: { sender: sending(1), receiver: receiving(1) },
    killable: ['sender'],
    kills: 1,
    recover: (thread) => {
      // What it had not sent somebody else sends, so that the receiver ends.
      const { memory } = contextOf(thread);
      memory.row(RECEIVER.row).wakeAfterDeath();
      const tail = thread.atomics.load(thread.words, LANE + laneLayout.offsets.tail);
      if (tail < 4) sending(1)(thread);
    },
    check: ({ results, dead }) => (dead[2] === true ? undefined : inOrder(results[1], 1)),
  }),
];
