import { defineModel, type SimulatedThread } from '@heddle/explore';
import { contextOf, LANE, MEMORY, NOTES, prepare, RECEIVER, useLane } from './context.explore.js';
import { Doorbell } from './doorbell.js';
import { laneLayout } from './lane.layout.js';
import { endLanesTo } from './lane-ends.js';
import { PHASE, phaseOf } from './lane-life.js';
import { LaneWriter } from './lane-writer.js';
import type { MessageCursor } from './message.js';
import { ReceiveQueue } from './receive-queue.js';
import { recoverContext } from './recovery.js';
import { THREAD_MODES } from './thread-mode.js';
import { workerRowAt, workerRowLayout } from './transport.layout.js';

const HINTED = { ...MEMORY, hints: ['lane.tail', 'lane.head'] } as const;

/** A worker of thread mode multi, whose owner and sender are no threads of the model, and a lane with two messages. */

const OTHER = { row: 1, generation: 1 };
const OWNER = 9;
const SENDER = 8;
const COUNT = 2;
/** Positions of an empty message. */
const RECORD = 4;
const BELL = workerRowAt(RECEIVER.row) + workerRowLayout.offsets.doorbell;
const HEAD = LANE + laneLayout.offsets.head;
const LAST = NOTES + COUNT;

const filled = (words: Int32Array): void => {
  prepare(OWNER, SENDER, THREAD_MODES.indexOf('multi'))(words);
  useLane(words, (1 << 27) | (SENDER << 3) | PHASE.open);
  words[LANE + laneLayout.offsets.receiverGeneration] = 1;
  words[LANE + laneLayout.offsets.tail] = COUNT * RECORD;
  for (let i = 0; i < COUNT; i++) words[LANE + laneLayout.wordCount + i * 2 + 1] = i + 1;
};

/** Reads until everything is handled, one message at a time, and sleeps while the other one is at the lane. */
const consuming = (thread: SimulatedThread): number => {
  const { memory } = contextOf(thread);
  const { doorbell } = memory.row(RECEIVER.row);
  const queue = new ReceiveQueue(memory, RECEIVER, true);
  const isDone = () => (thread.atomics.load(thread.words, HEAD) & ~3) === COUNT * RECORD;
  let handled = 0;
  queue.attend();
  for (;;) {
    handled += queue.poll((message) => {
      // A data race here is one thread too many at the lane.
      thread.words[NOTES + message.id - 1]!++;
      if (thread.words[LAST]! >= message.id) throw new Error('out of order');
      thread.words[LAST] = message.id;
    }, 1);
    if (isDone()) break;
    if (!queue.arm()) continue;
    if (!isDone()) thread.atomics.wait(thread.words, BELL, Doorbell.SLEEPING);
    else doorbell.ring();
  }
  doorbell.ring();
  return handled;
};

/** Closes the worker, as its owner or as who recovers that. */
const closing = (thread: SimulatedThread): void => {
  const { memory } = contextOf(thread);
  memory.row(RECEIVER.row).shut(RECEIVER.generation);
  endLanesTo(memory, RECEIVER);
};

/** Reads once, and goes away. */
const readingOnce =
  (budget = Number.POSITIVE_INFINITY) =>
  (thread: SimulatedThread): void => {
    const { memory } = contextOf(thread);
    const queue = new ReceiveQueue(memory, RECEIVER, true);
    queue.attend();
    queue.poll((message) => {
      thread.words[NOTES + message.id - 1]!++;
    }, budget);
  };

/** The lane was ended, once: its sender has not left, and can take it back. */
const ended = (words: Int32Array): string | undefined => {
  const state = words[LANE + laneLayout.offsets.state]!;
  return phaseOf(state) === PHASE.receiverGone ? undefined : `the lane is in phase ${phaseOf(state)}`;
};

export default [
  defineModel({
    name: 'multi: two threads read one lane: one at a time, each message once, in order, and none sleeps for ever',
    ...MEMORY,
    hints: ['lane.head'],
    init: filled,
    threads: [consuming, consuming],
    search: { preemptions: 4 },
    deep: { search: { preemptions: Number.POSITIVE_INFINITY } },
    check: ({ results, words }) => {
      const seen = [...words.subarray(NOTES, NOTES + COUNT)];
      const handled = (results[0] as number) + (results[1] as number);
      return seen.every((times) => times === 1) && handled === COUNT
        ? undefined
        : `${seen}, ${handled} handled`;
    },
  }),
  defineModel({
    name: 'multi: a thread that reads one message and goes away leaves nobody asleep',
    ...MEMORY,
    hints: ['lane.head'],
    init: filled,
    threads: {
      once: (thread) => {
        readingOnce(1)(thread);
        const { doorbell } = contextOf(thread).memory.row(RECEIVER.row);
        // Else the other one would wait for the end, of which nobody tells.
        if ((thread.atomics.load(thread.words, HEAD) & ~3) === COUNT * RECORD) doorbell.ring();
      },
      consumer: consuming,
    },
    check: ({ words }) => {
      const seen = [...words.subarray(NOTES, NOTES + COUNT)];
      return seen.every((times) => times === 1) ? undefined : `handled ${seen} times`;
    },
  }),
  defineModel({
    name: 'multi: a thread of the group dies anywhere: nothing is repeated, the other one goes on',
    ...MEMORY,
    hints: ['lane.head'],
    init: filled,
    threads: { one: consuming, other: consuming },
    killable: ['one'],
    kills: 1,
    search: { preemptions: 3 },
    deep: { search: { preemptions: Number.POSITIVE_INFINITY } },
    recover: (thread, dead) => recoverContext(contextOf(thread, [dead + 1]).memory, dead + 1),
    check: ({ words, dead }) => {
      const seen = [...words.subarray(NOTES, NOTES + COUNT)];
      if (seen.some((times) => times > 1)) return `handled ${seen} times`;
      const missing = seen.filter((times) => times === 0).length;
      return missing > (dead[0] === true ? 1 : 0) ? `${missing} are missing` : undefined;
    },
  }),
  defineModel({
    name: 'multi: closing while another thread reads: whoever is last at the lane ends it',
    ...HINTED,
    init: filled,
    threads: { closer: closing, reader: readingOnce(), other: readingOnce() },
    check: ({ words }) => ended(words),
  }),
  defineModel({
    name: 'multi: closing while another thread reads, and either dies anywhere: the lane is ended',
    ...HINTED,
    init: (words) => {
      filled(words);
      // The closer owns the worker.
      words[workerRowAt(RECEIVER.row) + workerRowLayout.offsets.owner] = 1;
    },
    threads: { closer: closing, reader: readingOnce() },
    kills: 1,
    recover: (thread, dead) => recoverContext(contextOf(thread, [dead + 1]).memory, dead + 1),
    // Where the recovery died there is another one to come.
    check: ({ words, dead }) => (dead[2] === true ? undefined : ended(words)),
  }),
  defineModel({
    name: 'multi: a thread of two workers finds a lane of one, which another thread ended, as one of the other',
    ...HINTED,
    init: filled,
    threads: {
      both: (thread) => {
        const { memory } = contextOf(thread);
        const one = new ReceiveQueue(memory, RECEIVER, true);
        const other = new ReceiveQueue(memory, OTHER, true);
        one.attend();
        const seen: number[] = [];
        const see = (message: MessageCursor): number => seen.push(message.id);
        one.poll(see, 1);
        one.attend();
        other.attend();
        other.poll(() => {}, 1);
        one.poll(see, COUNT);
        return seen;
      },
      colleague: (thread) => {
        const { memory } = contextOf(thread);
        const lane = memory.lane(0);
        lane.life.leaveAsSender(memory.token, lane.life.state);
        const queue = new ReceiveQueue(memory, RECEIVER, true);
        queue.attend();
        queue.poll(() => {}, COUNT);
        if (!lane.life.claim(memory.token)) return;
        lane.life.open(OTHER, OTHER);
        const writer = new LaneWriter(lane.words, lane.bytes, { ring: () => {} }, memory.platform);
        for (let id = 7; id < 9; id++) writer.writeInline(id, new Uint8Array(0), new Uint8Array(0));
      },
    },
    check: ({ results }) =>
      (results[0] as number[]).every((id) => id <= COUNT) ? undefined : `worker 1 saw ${results[0]}`,
    search: { preemptions: 3 },
    deep: { search: { preemptions: 4 } },
  }),
  defineModel({
    name: 'multi: a thread enters a lane that is used again, to a worker that closes at that moment: it is ended',
    ...HINTED,
    init: filled,
    threads: {
      reader: readingOnce(),
      successor: (thread) => {
        const { memory } = contextOf(thread);
        const { life, entry } = memory.lane(0);
        life.leaveAsSender(memory.token, life.state);
        // As a colleague of the reader that has read everything.
        if (!entry.takeToClose(() => true)) return;
        if (life.leaveAsReceiver(RECEIVER, memory.token)) life.free();
        life.claim(memory.token);
        life.open(OTHER, OTHER);
        memory.row(OTHER.row).shut(OTHER.generation);
        endLanesTo(memory, OTHER);
      },
    },
    check: ({ words }) => {
      const isOpen = phaseOf(words[LANE + laneLayout.offsets.state]!) === PHASE.open;
      return isOpen ? 'the lane leads to a closed worker, and nobody ends it' : undefined;
    },
  }),
];
