import { defineModel, type SimulatedThread } from '@heddle/explore';
import { MpscConsumer } from './mpsc-consumer.js';
import { MpscProducer } from './mpsc-producer.js';
import { STATE, stateOf, withState } from './mpsc-record.layout.js';
import { MpscRing } from './mpsc-ring.js';
import { mpscByteLength, mpscRingLayout, mpscSlotLayout, slotAt, spaceAt } from './mpsc-ring.layout.js';
import { SLEEPING } from './position.js';
import { ReadEnd } from './read-end.js';
import { closeSpsc } from './spsc-close.js';
import { SpscProducer } from './spsc-producer.js';
import { SpscRing } from './spsc-ring.js';
import { spscRingLayout } from './spsc-ring.layout.js';

// Variants with the faults that the rings avoid. The explorer has to find each, or the models of the rings prove little.

const { tail, head } = spscRingLayout.offsets;
const CAPACITY = 16;
const SPACE = spscRingLayout.wordCount;

const ring = {
  layout: spscRingLayout,
  names: { space: [SPACE, CAPACITY / 4] as const },
  words: SPACE + CAPACITY / 4,
  init: (words: Int32Array) => SpscRing.initialise(words, CAPACITY),
};

const producerOf = (thread: SimulatedThread) =>
  new SpscProducer(
    thread.words,
    thread.view(Uint8Array, SPACE * 4, CAPACITY) as Uint8Array as Uint8Array<SharedArrayBuffer>,
    thread.platform,
  );

const MANY_SPACE = spaceAt(2);
const MANY_WORDS = mpscByteLength(2, CAPACITY) / 4;
const manyMemory = (thread: SimulatedThread) =>
  thread.view(Uint8Array, MANY_SPACE * 4, CAPACITY) as Uint8Array as Uint8Array<SharedArrayBuffer>;

export default [
  defineModel({
    name: 'broken ring: a reader that does not announce its sleep is never woken',
    ...ring,
    threads: {
      writer: (thread) => producerOf(thread).tryWriteWords(1),
      reader: (thread) => {
        const word = thread.atomics.load(thread.words, tail);
        if (word === 0) thread.atomics.wait(thread.words, tail, word);
      },
    },
    expect: { fail: 'lost-wake', reason: 'tail' },
  }),

  defineModel({
    name: 'broken ring: a writer that looks for the close before it announces its sleep sleeps for ever (TR-11)',
    ...ring,
    threads: {
      writer: (thread) => {
        const { words, atomics } = thread;
        const producer = producerOf(thread);
        if (producer.closed) return;
        const word = atomics.load(words, head);
        atomics.compareExchange(words, head, word, word | SLEEPING);
        atomics.wait(words, head, word | SLEEPING);
      },
      closer: (thread) => closeSpsc(thread.words, thread.platform.atomics),
    },
    expect: { fail: 'deadlock', reason: 'head' },
  }),

  defineModel({
    name: 'broken ring: a publication by two calls, flag and position, loses the wake between them',
    ...ring,
    threads: {
      writer: (thread) => {
        const { words, atomics } = thread;
        const sleeps = (atomics.load(words, tail) & SLEEPING) !== 0;
        atomics.store(words, tail, 4);
        if (sleeps) atomics.notify(words, tail);
      },
      reader: (thread) => {
        const end = new ReadEnd(thread.words, thread.platform);
        const sleep = end.lookBeforeSleep();
        if (sleep && !sleep.done) thread.atomics.wait(thread.words, sleep.index, sleep.expected);
      },
    },
    expect: { fail: 'lost-wake', reason: 'tail' },
  }),

  defineModel({
    name: 'broken ring: a recovery that gives up whatever claim it meets loses that of a slow living thread (TR-05)',
    words: MANY_WORDS,
    init: (words) => {
      MpscRing.initialise(words, { capacityBytes: CAPACITY, maxProducers: 2 });
      words[slotAt(0) + mpscSlotLayout.offsets.holder] = 1;
    },
    threads: {
      living: (thread) => {
        const place = { slot: 0, token: 1, spaceAt: MANY_SPACE, looks: 0 };
        new MpscProducer(thread.words, manyMemory(thread), place, thread.platform).tryWriteWords(1);
      },
      recovery: ({ words, atomics }) => {
        if (atomics.load(words, mpscRingLayout.offsets.tail) === 0) return;
        const header = atomics.load(words, MANY_SPACE);
        if (stateOf(header) !== STATE.claimed) return;
        atomics.compareExchange(words, MANY_SPACE, header, withState(header, STATE.abandoned));
      },
      consumer: (thread) => {
        const consumer = new MpscConsumer(thread.words, manyMemory(thread), MANY_SPACE, thread.platform);
        consumer.tryRead();
        return consumer.abandonedRecords;
      },
    },
    check: ({ results }) => (results[2] === 0 ? undefined : 'the claim of a living thread was given up'),
    expect: { fail: 'check', reason: 'living thread' },
  }),
];
