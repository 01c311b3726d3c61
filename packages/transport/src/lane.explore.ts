import { defineModel, type SimulatedThread } from '@heddle/explore';
import { runBlocking } from '@heddle/memory';
import { Doorbell } from './doorbell.js';
import { laneLayout, POSITION_FLAGS } from './lane.layout.js';
import { LaneLife } from './lane-life.js';
import { LaneReader } from './lane-reader.js';
import { LaneWriter } from './lane-writer.js';
import { record } from './record.js';
import { LANE_CLOSED, SENT } from './send-answer.js';
import { AttemptSteps } from './send-queue.js';

const { idOfRecord } = record;

/** A lane of two empty records and the doorbell of its receiver, without what is around them. */

const SPACE_BYTES = 16;
const { tail, head, begun, adopted } = laneLayout.offsets;
const SPACE = laneLayout.wordCount;
const BELL = SPACE + SPACE_BYTES / 4;
const NOTES = BELL + 1;

const nothing = new Uint8Array(0);

const MEMORY = {
  layout: [{ layout: laneLayout, at: 0 }],
  names: { space: [SPACE, SPACE_BYTES / 4], doorbell: BELL, notes: [NOTES, 4] },
  words: NOTES + 4,
} as const;

/** Positions from which a lane starts: just before they wrap at 2^32 (TR-01). */
const from = (start: number) => (words: Int32Array) => {
  for (const word of [tail, head, begun, adopted]) words[word] = start;
};

const bellOf = (thread: SimulatedThread) => new Doorbell(thread.words, BELL, thread.platform);

/** Sends empty messages with ids that count up; parks while there is no room. Answers how many. */
const sending =
  (count: number, { thenClose = false } = {}) =>
  (thread: SimulatedThread): number => {
    const bytes = thread.view(Uint8Array, SPACE * 4, SPACE_BYTES);
    const writer = new LaneWriter(thread.words, bytes, bellOf(thread), thread.platform);
    let sent = 0;
    let closed = false;
    while (sent < count && !closed) {
      const steps = new AttemptSteps({
        attempt: () => {
          const answer = writer.writeInline(sent + 1, nothing, nothing);
          closed = answer === LANE_CLOSED;
          if (answer === SENT) sent++;
          return closed || answer === SENT;
        },
        sleep: () => writer.sleepUntilRoom(0),
      });
      runBlocking(steps, thread.words, thread.platform);
    }
    if (thenClose && !closed) closing(thread);
    return sent;
  };

/** Receives until `count` messages or the close, sleeping in between. Answers ids; `note` counts each id in a word. */
const receiving =
  (count = Number.POSITIVE_INFINITY, { note = false } = {}) =>
  (thread: SimulatedThread): number[] => {
    let skipped = 0;
    const reader = new LaneReader(thread.words, SPACE_BYTES, thread.platform, () => skipped++);
    reader.resume();
    const bell = bellOf(thread);
    const ids: number[] = [];
    while (ids.length < count) {
      const closed = (thread.atomics.load(thread.words, tail) & 2) !== 0;
      if (reader.look()) {
        while (reader.hasKnown) {
          const id = idOfRecord(thread.words[SPACE + reader.begin() + 1]!);
          reader.noteAdopted();
          if (note) thread.words[NOTES + id - 1]!++;
          ids.push(id);
        }
        reader.release();
      } else if (closed) {
        break;
      } else if ((bell.fallAsleep() & Doorbell.SIGNALLED) === 0) {
        if (reader.arm() && (thread.atomics.load(thread.words, tail) & 2) === 0) {
          thread.atomics.wait(thread.words, BELL, Doorbell.SLEEPING);
        } else {
          bell.ring();
        }
      }
    }
    return note ? [skipped] : ids;
  };

/** Closes the lane, then rings, as a shutdown does. */
const closing = (thread: SimulatedThread): void => {
  new LaneLife(thread.words, thread.platform).close();
  bellOf(thread).ring();
};

const inOrder = (ids: unknown, count: number) =>
  JSON.stringify(ids) === JSON.stringify(Array.from({ length: count }, (_, i) => i + 1))
    ? undefined
    : `received ${JSON.stringify(ids)}, sent ${count}`;

export default [
  defineModel({
    name: 'lane: two messages against a receiver that sleeps, across 2^32: no wake is lost (TR-01, TR-12)',
    ...MEMORY,
    init: from(-4),
    threads: { sender: sending(2), receiver: receiving(2) },
    strayWakes: 1,
    check: ({ results }) => inOrder(results[1], 2),
  }),
  defineModel({
    name: 'lane: three messages through room for two, both sides park (TR-12)',
    ...MEMORY,
    init: from(-8),
    threads: { sender: sending(3), receiver: receiving(3) },
    check: ({ results }) => inOrder(results[1], 3),
  }),
  defineModel({
    name: 'lane: of two that sleep on one bell one gives up: the other is still rung for',
    ...MEMORY,
    threads: {
      sender: sending(1),
      receiver: receiving(1),
      other: (thread) => {
        const bell = bellOf(thread);
        bell.fallAsleep();
        thread.atomics.wait(thread.words, BELL, Doorbell.SLEEPING, 10);
        bell.ring();
      },
    },
    check: ({ results }) => inOrder(results[1], 1),
  }),
  defineModel({
    name: 'lane: the positions of a sender that waits for the handling of what it sent',
    ...MEMORY,
    threads: {
      sender: (thread) => {
        sending(1)(thread);
        const bytes = thread.view(Uint8Array, SPACE * 4, SPACE_BYTES);
        const writer = new LaneWriter(thread.words, bytes, bellOf(thread), thread.platform);
        const { written } = writer;
        const flush = {
          attempt: () => writer.handled >= written,
          sleep: () => writer.sleepUntilHandled(written),
        };
        runBlocking(new AttemptSteps(flush), thread.words, thread.platform);
        return thread.words[head]! & ~POSITION_FLAGS;
      },
      receiver: receiving(1),
    },
    check: ({ results }) => (results[0] === 4 ? undefined : `handled up to ${results[0]}`),
  }),
  defineModel({
    name: 'lane: a signal against a receiver about to sleep is not lost',
    ...MEMORY,
    threads: {
      signaller: (thread) => bellOf(thread).signal(),
      receiver: (thread) => {
        const bell = bellOf(thread);
        // Sleeps until it was signalled once.
        while (!bell.takeSignal()) {
          if ((bell.fallAsleep() & Doorbell.SIGNALLED) !== 0) return;
          thread.atomics.wait(thread.words, BELL, Doorbell.SLEEPING);
        }
      },
    },
    strayWakes: 1,
  }),
  defineModel({
    name: 'lane: close by a third thread against both sides about to sleep (TR-11)',
    ...MEMORY,
    threads: { sender: sending(1), receiver: receiving(), closer: closing },
    check: ({ results }) => inOrder(results[1], results[0] as number),
  }),
  defineModel({
    name: 'lane: close by a third thread against a sender that waits for room (TR-11)',
    ...MEMORY,
    threads: { sender: sending(3), closer: closing },
    check: ({ results }) => ((results[0] as number) <= 2 ? undefined : 'sent more than there is room for'),
  }),
  defineModel({
    name: 'lane: the sender dies anywhere: what it published is received, recovery wakes the receiver',
    ...MEMORY,
    threads: { sender: sending(2, { thenClose: true }), receiver: receiving() },
    killable: ['sender'],
    kills: 1,
    recover: (thread) => {
      new LaneLife(thread.words, thread.platform).close();
      bellOf(thread).ringAfterDeath();
    },
    check: ({ results, dead }) => {
      const ids = results[1] as number[];
      return inOrder(ids, dead[0] === true ? ids.length : 2);
    },
  }),
  defineModel({
    name: 'lane: a thread of the receiver dies anywhere, the next one repeats nothing and skips at most one',
    ...MEMORY,
    threads: { sender: sending(1, { thenClose: true }), receiver: receiving(undefined, { note: true }) },
    deep: {
      threads: { sender: sending(2, { thenClose: true }), receiver: receiving(undefined, { note: true }) },
    },
    killable: ['receiver'],
    kills: 1,
    recover: (thread) => {
      bellOf(thread).ring();
      return receiving(undefined, { note: true })(thread);
    },
    check: ({ words, dead, results, recoveries }) => {
      const seen = [...words.subarray(NOTES, NOTES + 2)];
      const missing = (results[0] as number) - seen.filter((times) => times > 0).length;
      const skipped = (recoveries[0] as number[] | undefined)?.[0] ?? 0;
      if (seen.some((times) => times > 1)) return `handled ${seen} times`;
      return missing > (dead[1] === true ? skipped : 0)
        ? `${missing} are missing, ${skipped} counted`
        : undefined;
    },
  }),
];
