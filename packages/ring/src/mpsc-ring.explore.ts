import { defineModel, type End, type SimulatedThread } from '@heddle/explore';
import { HeddleError } from '@heddle/memory';
import { closeMpsc } from './mpsc-close.js';
import { MpscConsumer } from './mpsc-consumer.js';
import { MpscProducer } from './mpsc-producer.js';
import { recoverMpsc } from './mpsc-recovery.js';
import { MpscRing } from './mpsc-ring.js';
import {
  LOCK_TOKEN,
  mpscByteLength,
  mpscRingLayout,
  mpscSlotLayout,
  slotAt,
  spaceAt,
} from './mpsc-ring.layout.js';
import { FLAGS } from './position.js';

const PRODUCERS = 2;
const CAPACITY = 16;
const SPACE = spaceAt(PRODUCERS);
const WORDS = mpscByteLength(PRODUCERS, CAPACITY) / 4;
const { lock, next, headSeen, tail, head, begun } = mpscRingLayout.offsets;
const { holder, claim } = mpscSlotLayout.offsets;

/** A ring of 16 bytes: two records of none. Producers have the tokens 1 and 2, the consumer 3. */
function ring({ start = 0, notes = 0 } = {}) {
  return {
    layout: [
      { layout: mpscRingLayout, at: 0 },
      { layout: mpscSlotLayout, at: slotAt(0), label: 'first' },
      { layout: mpscSlotLayout, at: slotAt(1), label: 'second' },
    ],
    names: { space: [SPACE, CAPACITY / 4] as const, ...(notes > 0 && { read: [WORDS, notes] as const }) },
    words: WORDS + notes,
    init: (words: Int32Array) => {
      MpscRing.initialise(words, { capacityBytes: CAPACITY, maxProducers: PRODUCERS });
      for (const word of [next, headSeen, tail, head, begun]) words[word] = start;
      for (const token of [1, 2]) words[slotAt(token - 1) + holder] = token;
    },
  };
}

const memoryOf = (thread: SimulatedThread) =>
  thread.view(Uint8Array, SPACE * 4, CAPACITY) as Uint8Array as Uint8Array<SharedArrayBuffer>;
const wordsOf = (thread: SimulatedThread) => thread.words.subarray(0, WORDS);
const producerOf = (thread: SimulatedThread, token: number) =>
  new MpscProducer(
    wordsOf(thread),
    memoryOf(thread),
    { slot: token - 1, token, spaceAt: SPACE, looks: 0 },
    thread.platform,
  );
const consumerOf = (thread: SimulatedThread) =>
  new MpscConsumer(wordsOf(thread), memoryOf(thread), SPACE, thread.platform);

/** Many steps: the quick run switches away from a thread that could go on three times, the deep one more often. */
const bounded = {
  search: { preemptions: 3 },
  deep: { search: { preemptions: 5, maxMs: 300_000 } },
} as const;

const empty = new Uint8Array(0);
const waiting = { spins: 0 };
const isClosed = (error: unknown) => error instanceof HeddleError && error.code === 'ERR_HEDDLE_CLOSED';

/** Writes `count` records with tags of its own, blocking. Answers how many. */
const write =
  (token: number, count: number, { thenClose = false } = {}) =>
  (thread: SimulatedThread): number => {
    const producer = producerOf(thread, token);
    let written = 0;
    try {
      while (written < count && producer.write(empty, { ...waiting, tag: token * 10 + written })) written++;
      if (thenClose) closeMpsc(wordsOf(thread), thread.platform.atomics);
    } catch (error) {
      if (!isClosed(error)) throw error;
    }
    return written;
  };

/** Reads `count` records, blocking, or to the end. Answers their tags. */
const read =
  (count = Number.POSITIVE_INFINITY) =>
  (thread: SimulatedThread): number[] => {
    const consumer = consumerOf(thread);
    const tags: number[] = [];
    try {
      while (tags.length < count) tags.push(consumer.read(waiting)!.tag);
      consumer.release();
    } catch (error) {
      if (!isClosed(error)) throw error;
    }
    return tags;
  };

const recover = (thread: SimulatedThread, token: number) =>
  recoverMpsc(wordsOf(thread), token, thread.platform.atomics);

/** Nothing is left behind: no lock, no claim, and everything read. */
const conserve = ({ words }: End) => {
  if ((words[lock]! & LOCK_TOKEN) !== 0) return `the lock is held by ${words[lock]! & LOCK_TOKEN}`;
  if (words[slotAt(0) + claim] !== 0 || words[slotAt(1) + claim] !== 0) return 'a claim is open';
  const position = words[tail]! & ~FLAGS;
  if (words[next] !== position) return 'next is not tail';
  return (words[head]! & ~FLAGS) === position ? undefined : 'not everything was read';
};

/** What the next consumer reads of a ring at rest. */
const tagsIn = (words: Int32Array): number[] => {
  const memory = new Uint8Array(words.buffer as SharedArrayBuffer, SPACE * 4, CAPACITY);
  const tags: number[] = [];
  new MpscConsumer(words.subarray(0, WORDS), memory, SPACE).drain((record) => tags.push(record.tag));
  return tags;
};

/** Tags of each producer in its order, `counts` of them. */
const eachInOrder = (tags: readonly number[], counts: readonly number[]) => {
  for (const [i, count] of counts.entries()) {
    const own = tags.filter((tag) => Math.floor(tag / 10) === i + 1);
    const want = Array.from({ length: count }, (_, n) => (i + 1) * 10 + n);
    if (own.join() !== want.join()) return `of producer ${i + 1}: ${own} instead of ${want}`;
  }
  return undefined;
};

export default [
  defineModel({
    name: 'mpsc ring: two producers and a consumer, all park',
    ...ring(),
    ...bounded,
    threads: { first: write(1, 1), second: write(2, 1), consumer: read(2) },
    check: ({ results }) => eachInOrder(results[2] as number[], [1, 1]),
    conserve,
  }),

  defineModel({
    name: 'mpsc ring: full and empty, both sides park, across 2^32, with stray wakes',
    ...ring({ start: -12 }),
    threads: { first: write(1, 3), consumer: read(3) },
    ...bounded,
    strayWakes: 1,
    check: ({ results }) => eachInOrder(results[1] as number[], [3]),
    conserve,
  }),

  defineModel({
    name: 'mpsc ring: two producers wait for room of one consumer (TR-12)',
    ...ring(),
    ...bounded,
    search: { preemptions: 2 },
    init: (words, platform) => {
      ring().init(words);
      for (const token of [1, 2]) {
        const memory = new Uint8Array(words.buffer, SPACE * 4, CAPACITY);
        const place = { slot: token - 1, token, spaceAt: SPACE };
        new MpscProducer(words.subarray(0, WORDS), memory, place, platform).tryWrite(empty, token * 10);
      }
    },
    threads: {
      first: (thread) => producerOf(thread, 1).write(empty, { ...waiting, tag: 11 }),
      second: (thread) => producerOf(thread, 2).write(empty, { ...waiting, tag: 21 }),
      consumer: (thread) => {
        const consumer = consumerOf(thread);
        const tags: number[] = [];
        while (tags.length < 4) {
          if (consumer.wait(waiting)) consumer.drain((record) => tags.push(record.tag));
        }
        return tags;
      },
    },
    check: ({ results }) => eachInOrder(results[2] as number[], [2, 2]),
    conserve,
  }),

  defineModel({
    name: 'mpsc ring: a producer dies anywhere, exactly its claim is gone past, a slow living one is waited for',
    ...ring({ start: -12 }),
    ...bounded,
    search: { preemptions: 2 },
    threads: { first: write(1, 1), second: write(2, 1, { thenClose: true }), consumer: read() },
    killable: ['first'],
    kills: 1,
    recover: (thread) => recover(thread, 1),
    check: ({ results, dead }) => {
      const tags = results[2] as number[];
      const first = tags.filter((tag) => tag === 10).length;
      if (dead[0] !== true && first !== results[0]) return `written ${results[0]}, read ${tags}`;
      return first > 1
        ? 'read twice'
        : eachInOrder(
            tags.filter((tag) => tag !== 10),
            [0, 1],
          );
    },
    conserve,
  }),

  defineModel({
    name: 'mpsc ring: a producer and the one that recovers it die anywhere',
    ...ring(),
    ...bounded,
    search: { preemptions: 2 },
    threads: { first: write(1, 1, { thenClose: true }), consumer: read() },
    killable: ['first'],
    kills: 2,
    recover: (thread) => {
      recover(thread, 1);
      closeMpsc(wordsOf(thread), thread.platform.atomics);
    },
    check: ({ results, dead }) => {
      const tags = (results[1] as number[]).join();
      return tags === '10' || (tags === '' && dead[0] === true) ? undefined : `read ${tags}`;
    },
    conserve,
  }),

  defineModel({
    name: 'mpsc ring: full of a dead claim, producers that wait for room go on (TR-05)',
    ...ring(),
    ...bounded,
    init: (words, platform) => {
      ring().init(words);
      const memory = new Uint8Array(words.buffer, SPACE * 4, CAPACITY);
      const place = { slot: 0, token: 1, spaceAt: SPACE };
      const dead = new MpscProducer(words.subarray(0, WORDS), memory, place, platform);
      dead.tryWrite(empty, 10);
      dead.tryClaim(0);
    },
    threads: { recoverer: (thread) => recover(thread, 1), second: write(2, 1), consumer: read(2) },
    check: ({ results }) => eachInOrder(results[2] as number[], [1, 1]),
    conserve,
  }),

  defineModel({
    name: 'mpsc ring: close against a consumer and a producer about to sleep (TR-11)',
    ...ring(),
    threads: {
      first: write(1, 1),
      consumer: read(),
      closer: (thread) => closeMpsc(wordsOf(thread), thread.platform.atomics),
    },
    strayWakes: 1,
    check: ({ results }) => eachInOrder(results[1] as number[], [results[0] as number]),
    conserve,
  }),

  defineModel({
    name: 'mpsc ring: the consumer dies anywhere, the next one reads nothing twice and skips at most one',
    ...ring({ notes: 2 }),
    ...bounded,
    threads: { first: write(1, 2, { thenClose: true }), consumer: note },
    killable: ['consumer'],
    kills: 1,
    recover: (thread) => {
      recover(thread, 3);
      return note(thread);
    },
    check: ({ words, dead, recoveries }) => {
      const times = [...words.subarray(WORDS, WORDS + 2)];
      const missing = times.filter((count) => count === 0).length;
      if (times.some((count) => count > 1)) return `read ${times} times`;
      if (missing > (dead[1] === true ? 1 : 0)) return `${missing} were not read`;
      return missing > Number(recoveries[0] ?? 0) ? 'a record is missing and was not counted' : undefined;
    },
    conserve,
  }),

  defineModel({
    name: 'mpsc ring: one producer, one record, a consumer that parks',
    ...ring({ start: -4 }),
    threads: { first: write(1, 1), consumer: read(1) },
    strayWakes: 1,
    check: ({ results }) => eachInOrder(results[1] as number[], [1]),
    conserve,
  }),

  defineModel({
    name: 'mpsc ring: claim and abort, claim and commit shorter, against a consumer that parks',
    ...ring({ start: -8 }),
    threads: {
      first: (thread) => {
        const producer = producerOf(thread, 1);
        producer.tryClaim(0, 9);
        producer.abort();
        producer.tryClaim(0, 10);
        producer.commit(0);
      },
      consumer: read(1),
    },
    check: ({ results }) => eachInOrder(results[1] as number[], [1]),
    conserve,
  }),

  defineModel({
    name: 'mpsc ring: two producers and the lock',
    ...ring(),
    threads: { first: write(1, 1), second: write(2, 1) },
    strayWakes: 1,
    check: ({ words }) => eachInOrder(tagsIn(words), [1, 1]),
  }),

  defineModel({
    name: 'mpsc ring: a producer and the one that recovers it die anywhere, one that waits for the lock goes on',
    ...ring({ start: -4 }),
    threads: { first: write(1, 1), second: write(2, 1) },
    killable: ['first'],
    kills: 2,
    recover: (thread) => recover(thread, 1),
    check: ({ words, results }) => {
      const read = tagsIn(words);
      return results[1] === 1 && read.filter((tag) => tag === 20).length === 1
        ? undefined
        : `written ${read}`;
    },
  }),

  defineModel({
    name: 'mpsc ring: the only producer dies anywhere, a consumer that parks goes on',
    ...ring({ start: -4 }),
    threads: { first: write(1, 1), consumer: read(1) },
    killable: ['first'],
    kills: 1,
    deep: { kills: 2 },
    recover: (thread) => {
      recover(thread, 1);
      closeMpsc(wordsOf(thread), thread.platform.atomics);
    },
    check: ({ results, dead }) => {
      const tags = String(results[1]);
      return tags === '10' || (tags === '' && dead[0] === true) ? undefined : `read ${tags}`;
    },
  }),

  defineModel({
    name: 'mpsc ring: the consumer dies anywhere around one record',
    ...ring({ notes: 1 }),
    threads: { first: write(1, 1, { thenClose: true }), consumer: note },
    killable: ['consumer'],
    kills: 2,
    recover: (thread) => {
      recover(thread, 3);
      return note(thread);
    },
    check: ({ words, dead, recoveries }) => {
      const times = words[WORDS]!;
      return times === 1 || (times === 0 && dead[1] === true && (recoveries[0] as number) <= 1)
        ? undefined
        : `read ${times} times`;
    },
    conserve,
  }),

  defineModel({
    name: 'mpsc ring: room for the next comes while its producer is about to sleep',
    ...ring({ start: -4 }),
    init: (words, platform) => {
      ring({ start: -4 }).init(words);
      const memory = new Uint8Array(words.buffer, SPACE * 4, CAPACITY);
      const place = { slot: 0, token: 1, spaceAt: SPACE };
      const before = new MpscProducer(words.subarray(0, WORDS), memory, place, platform);
      for (const tag of [10, 11]) before.tryWrite(empty, tag);
    },
    threads: { second: write(2, 1), consumer: (thread) => consumerOf(thread).drain(() => {}) },
    strayWakes: 1,
    check: ({ results }) => (String(results) === '1,2' ? undefined : `written and read ${results}`),
  }),
];

/** Notes each record in a word of its own before anything else, as a handler that has an effect does. */
function note(thread: SimulatedThread): number {
  const consumer = consumerOf(thread);
  try {
    for (;;) {
      if (consumer.wait(waiting)) consumer.drain((record) => thread.words[WORDS + (record.tag % 10)]!++, 2);
    }
  } catch (error) {
    if (!isClosed(error)) throw error;
  }
  return consumer.skippedRecords;
}
