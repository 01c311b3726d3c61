import { defineModel, type SimulatedThread, type Steps } from '@heddle/explore';
import { HeddleError } from '@heddle/memory';
import { AttemptSteps } from './attempt-steps.js';
import { ReadEnd } from './read-end.js';
import { claimSide, releaseSide } from './side.js';
import { closeSpsc, recoverSpsc } from './spsc-close.js';
import { SpscConsumer } from './spsc-consumer.js';
import { SpscProducer } from './spsc-producer.js';
import { SpscRing } from './spsc-ring.js';
import { spscRingLayout } from './spsc-ring.layout.js';

const { producer: producerSide, consumer: consumerSide, tail, head, begun } = spscRingLayout.offsets;
const SPACE = spscRingLayout.wordCount;

/** A ring of `capacityBytes`, and after it a word per record for what its readers note. */
function ring(capacityBytes: number, { start = 0, notes = 0 } = {}) {
  const space = capacityBytes / 4;
  return {
    layout: spscRingLayout,
    words: SPACE + space + notes,
    names:
      notes > 0
        ? { space: [SPACE, space] as const, read: [SPACE + space, notes] as const }
        : { space: [SPACE, space] as const },
    init: (words: Int32Array) => {
      SpscRing.initialise(words, capacityBytes);
      for (const word of [tail, head, begun]) words[word] = start;
    },
  };
}

const wordsOf = (thread: SimulatedThread, capacityBytes: number) =>
  thread.words.subarray(0, SPACE + capacityBytes / 4);
const memoryOf = (thread: SimulatedThread, capacityBytes: number) =>
  thread.view(Uint8Array, SPACE * 4, capacityBytes) as Uint8Array as Uint8Array<SharedArrayBuffer>;
const writerOf = (thread: SimulatedThread, capacityBytes: number) =>
  new SpscProducer(wordsOf(thread, capacityBytes), memoryOf(thread, capacityBytes), thread.platform);
const readerOf = (thread: SimulatedThread, capacityBytes: number) =>
  new SpscConsumer(wordsOf(thread, capacityBytes), memoryOf(thread, capacityBytes), thread.platform);

const empty = new Uint8Array(0);
const waiting = { spins: 0 };

const isClosed = (error: unknown) => error instanceof HeddleError && error.code === 'ERR_HEDDLE_CLOSED';

/** Writes records of no bytes whose tags count up, blocking. Answers how many. */
const writeTags =
  (capacityBytes: number, count: number, { thenClose = false } = {}) =>
  (thread: SimulatedThread): number => {
    const producer = writerOf(thread, capacityBytes);
    let written = 0;
    try {
      while (written < count && producer.write(empty, { ...waiting, tag: written + 1 })) written++;
      if (thenClose) closeSpsc(wordsOf(thread, capacityBytes), thread.platform.atomics);
    } catch (error) {
      if (!isClosed(error)) throw error;
    }
    return written;
  };

/** Reads `count` records, blocking, or until the ring is closed. Answers their tags. */
const readTags =
  (capacityBytes: number, count = Number.POSITIVE_INFINITY) =>
  (thread: SimulatedThread): number[] => {
    const consumer = readerOf(thread, capacityBytes);
    const tags: number[] = [];
    try {
      while (tags.length < count) tags.push(consumer.read(waiting)!.tag);
      consumer.release();
    } catch (error) {
      if (!isClosed(error)) throw error;
    }
    return tags;
  };

const closer =
  (capacityBytes: number) =>
  (thread: SimulatedThread): void =>
    closeSpsc(wordsOf(thread, capacityBytes), thread.platform.atomics);

const countingUp = (tags: unknown, count: number) =>
  JSON.stringify(tags) === JSON.stringify(Array.from({ length: count }, (_, i) => i + 1))
    ? undefined
    : `read ${JSON.stringify(tags)}, written 1 to ${count}`;

/** Notes each record in a word of its own before anything else, as a handler that has an effect does. */
const noteTags =
  (capacityBytes: number) =>
  (thread: SimulatedThread): number => {
    const consumer = readerOf(thread, capacityBytes);
    const notes = SPACE + capacityBytes / 4;
    try {
      for (;;) {
        if (consumer.wait(waiting)) consumer.drain((record) => thread.words[notes + record.tag - 1]!++, 2);
      }
    } catch (error) {
      if (!isClosed(error)) throw error;
    }
    return consumer.skippedRecords;
  };

export default [
  defineModel({
    name: 'spsc ring: two records of room, three records, both sides park, across 2^32',
    ...ring(16, { start: -4 }),
    threads: { writer: writeTags(16, 3), reader: readTags(16, 3) },
    strayWakes: 1,
    check: ({ results }) => countingUp(results[1], 3),
  }),

  defineModel({
    name: 'spsc ring: payloads of 4 and 12 bytes through 32 bytes, with padding of its own',
    ...ring(32),
    threads: {
      writer: (thread) => {
        const producer = writerOf(thread, 32);
        for (const [i, length] of [4, 12].entries()) {
          producer.write(new Uint8Array(length).fill(i + 1), waiting);
        }
      },
      reader: (thread) => {
        const consumer = readerOf(thread, 32);
        const read: number[][] = [];
        while (read.length < 2) {
          const target = new Uint8Array(12);
          const length = consumer.read(waiting)!.copyTo(target);
          read.push([length, target[0]!, target[length - 1]!]);
        }
        consumer.release();
        return read;
      },
    },
    check: ({ results }) =>
      JSON.stringify(results[1]) === '[[4,1,1],[12,2,2]]' ? undefined : JSON.stringify(results[1]),
  }),

  defineModel({
    name: 'spsc ring: claim, abort, claim, commit shorter, corked, against a drain',
    ...ring(64),
    threads: {
      writer: (thread) => {
        const producer = writerOf(thread, 64);
        producer.tryClaim(8, 7);
        producer.abort();
        producer.cork();
        producer.tryClaim(16, 1);
        producer.commit(0);
        producer.tryWriteWords(2, 5);
        producer.uncork();
      },
      reader: (thread) => {
        const consumer = readerOf(thread, 64);
        const tags: number[] = [];
        for (let i = 0; i < 2; i++) consumer.drain((record) => tags.push(record.tag));
        return tags;
      },
    },
    // Corked records are published by one instruction: none, or both.
    check: ({ results }) =>
      ['[]', '[1,2]'].includes(JSON.stringify(results[1])) ? undefined : JSON.stringify(results[1]),
  }),

  defineModel({
    name: 'spsc ring: close by a third thread against a reader about to sleep (TR-11)',
    ...ring(16),
    threads: { writer: writeTags(16, 1), reader: readTags(16), closer: closer(16) },
    strayWakes: 1,
    check: ({ results }) => countingUp(results[1], results[0] as number),
  }),

  defineModel({
    name: 'spsc ring: close by a third thread against a writer about to sleep (TR-11)',
    ...ring(16),
    threads: { writer: writeTags(16, 3), reader: readTags(16, 1), closer: closer(16) },
    check: ({ results }) => {
      const read = (results[1] as number[]).length;
      return (
        countingUp(results[1], Math.min(1, results[0] as number)) ?? (read > 1 ? 'read too much' : undefined)
      );
    },
  }),

  defineModel({
    name: 'spsc ring: a release publishes what is held back, or finds the ring closed, and gives the side back',
    ...ring(16),
    init: (words) => {
      ring(16).init(words);
      words[producerSide] = 1;
    },
    threads: {
      writer: (thread) => {
        const words = wordsOf(thread, 16);
        const giveBack = () => releaseSide(words, producerSide, 1, thread.platform.atomics);
        const producer = new SpscProducer(words, memoryOf(thread, 16), thread.platform, giveBack);
        producer.cork();
        producer.tryWriteWords(1);
        producer.release();
      },
      reader: readTags(16),
      closer: closer(16),
    },
    check: ({ results, words }) =>
      words[producerSide] === 0
        ? countingUp(results[1], (results[1] as number[]).length)
        : 'the side is held',
  }),

  defineModel({
    name: 'spsc ring: timed forms give up, and what they did not write is not read',
    ...ring(16),
    threads: {
      writer: (thread) => {
        const producer = writerOf(thread, 16);
        let written = 0;
        for (let i = 0; i < 2; i++) {
          if (producer.write(empty, { ...waiting, tag: written + 1, timeout: 10 })) written++;
        }
        closeSpsc(wordsOf(thread, 16), thread.platform.atomics);
        return written;
      },
      reader: (thread) => {
        const consumer = readerOf(thread, 16);
        const tags: number[] = [];
        try {
          const record = consumer.read({ ...waiting, timeout: 10 });
          if (record) tags.push(record.tag);
          for (;;) tags.push(consumer.read(waiting)!.tag);
        } catch (error) {
          if (!isClosed(error)) throw error;
        }
        return tags;
      },
    },
    check: ({ results }) => countingUp(results[1], results[0] as number),
  }),

  defineModel({
    name: 'spsc ring: an aborted asynchronous read swallows no wake of the next read',
    ...ring(16),
    threads: {
      writer: writeTags(16, 2),
      reader: (thread) => {
        const end = new ReadEnd(wordsOf(thread, 16), thread.platform);
        const steps = new AttemptSteps({
          attempt: () => end.hasMore(),
          lookBeforeSleep: () => end.lookBeforeSleep(),
        });
        const abortable: Steps<boolean> = {
          begin: () => steps.begin(),
          onWake: () => steps.onWake(),
          onAbort: () => {
            steps.onAbort();
            // What the shell of promises does when it gives a wait up.
            thread.atomics.notify(thread.words, tail);
            return { done: true, value: false };
          },
        };
        thread.drive(abortable, { abortable: true });
        return readTags(16, 2)(thread);
      },
    },
    check: ({ results }) => countingUp(results[1], 2),
  }),

  defineModel({
    name: 'spsc ring: the writer dies anywhere, the next one goes on',
    ...ring(16),
    threads: { writer: writeTags(16, 2, { thenClose: true }), reader: readTags(16) },
    killable: ['writer'],
    kills: 1,
    recover: (thread) => {
      const words = wordsOf(thread, 16);
      recoverSpsc(words, 1, thread.platform.atomics);
      try {
        writerOf(thread, 16).write(empty, { ...waiting, tag: 9 });
      } catch (error) {
        if (!isClosed(error)) throw error;
      }
      closeSpsc(words, thread.platform.atomics);
    },
    check: ({ results, dead }) => {
      const tags = results[1] as number[];
      const own = tags.filter((tag) => tag !== 9);
      if (dead[0] !== true && tags.length !== own.length) return 'a record of nobody';
      return (
        countingUp(own, dead[0] === true ? own.length : 2) ??
        (tags.indexOf(9) >= own.length || tags.indexOf(9) === -1 ? undefined : 'out of order')
      );
    },
  }),

  defineModel({
    name: 'spsc ring: the writer and the one that recovers it die anywhere',
    ...ring(16),
    threads: { writer: writeTags(16, 2, { thenClose: true }), reader: readTags(16) },
    killable: ['writer'],
    kills: 2,
    recover: (thread) => {
      recoverSpsc(wordsOf(thread, 16), 1, thread.platform.atomics);
      closeSpsc(wordsOf(thread, 16), thread.platform.atomics);
    },
    check: ({ results, dead }) => {
      const tags = results[1] as number[];
      return countingUp(tags, dead[0] === true ? Math.min(2, tags.length) : 2);
    },
  }),

  defineModel({
    name: 'spsc ring: the reader dies anywhere, the next one reads nothing twice and skips at most one',
    ...ring(16, { notes: 2 }),
    threads: { writer: writeTags(16, 2, { thenClose: true }), reader: noteTags(16) },
    killable: ['reader'],
    kills: 1,
    recover: (thread) => {
      recoverSpsc(wordsOf(thread, 16), 1, thread.platform.atomics);
      return noteTags(16)(thread);
    },
    check: ({ words, dead, recoveries }) => {
      const read = [...words.subarray(SPACE + 4, SPACE + 6)];
      const missing = read.filter((times) => times === 0).length;
      if (read.some((times) => times > 1)) return `read ${read} times`;
      if (missing > (dead[1] === true ? 1 : 0)) return `${missing} were not read`;
      return missing > Number(recoveries[0] ?? 0) ? 'a record is missing and was not counted' : undefined;
    },
  }),

  defineModel({
    name: 'spsc ring: a reader and the next one die anywhere, nothing is read twice, and each skips at most one',
    ...ring(16, { notes: 2 }),
    threads: { writer: writeTags(16, 2, { thenClose: true }), reader: noteTags(16) },
    killable: ['reader'],
    kills: 2,
    recover: (thread) => {
      recoverSpsc(wordsOf(thread, 16), 1, thread.platform.atomics);
      return noteTags(16)(thread);
    },
    check: ({ words, dead }) => {
      const read = [...words.subarray(SPACE + 4, SPACE + 6)];
      if (read.some((times) => times > 1)) return `read ${read} times`;
      return dead[1] !== true && read.includes(0) ? `read ${read} times` : undefined;
    },
  }),

  defineModel({
    name: 'spsc ring: the closer dies anywhere, recovery wakes both sides',
    ...ring(16),
    threads: { writer: writeTags(16, 3), reader: readTags(16, 1), closer: closer(16) },
    killable: ['closer'],
    kills: 1,
    recover: (thread) => {
      recoverSpsc(wordsOf(thread, 16), 1, thread.platform.atomics);
      closeSpsc(wordsOf(thread, 16), thread.platform.atomics);
    },
    check: ({ results }) => countingUp(results[1], Math.min(1, results[0] as number)),
  }),

  defineModel({
    name: "spsc ring: of two threads that take a dead one's side, one gets it, recovery or not",
    ...ring(16),
    init: (words) => {
      words[producerSide] = 7;
    },
    threads: [1, 2]
      .map((token) => (thread: SimulatedThread) => {
        try {
          const claimant = { token, isAlive: (other: number) => other !== 7 };
          claimSide(thread.words, producerSide, 'producer', claimant, thread.platform.atomics);
          return true;
        } catch (error) {
          if (error instanceof HeddleError && error.code === 'ERR_HEDDLE_RING_ROLE') return false;
          throw error;
        }
      })
      .concat((thread) => {
        recoverSpsc(thread.words, 7, thread.platform.atomics);
        return false;
      }),
    check: ({ results, words }) =>
      results.filter(Boolean).length === 1 &&
      results[words[producerSide]! - 1] === true &&
      words[consumerSide] === 0
        ? undefined
        : `${results}, held by ${words[producerSide]}`,
  }),
];
