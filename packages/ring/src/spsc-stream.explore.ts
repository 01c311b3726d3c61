import { defineModel, type SimulatedThread } from '@heddle/explore';
import { HeddleError } from '@heddle/memory';
import { closeSpsc, recoverSpsc } from './spsc-close.js';
import { spscStreamLayout } from './spsc-ring.layout.js';
import { StreamReader } from './stream-reader.js';
import { StreamWriter } from './stream-writer.js';

const { capacity, tail, head, begun } = spscStreamLayout.offsets;
const SPACE = spscStreamLayout.wordCount;
const CAPACITY = 4;
/** What the model of a death writes. */
const BYTES = 3;

/** A stream of 4 bytes, two bytes before its positions wrap. */
const stream = {
  layout: spscStreamLayout,
  names: { space: [SPACE, CAPACITY / 4] as const },
  words: SPACE + CAPACITY / 4,
  init: (words: Int32Array) => {
    words[capacity] = CAPACITY;
    for (const word of [tail, head, begun]) words[word] = -2 * 4;
  },
};

const memoryOf = (thread: SimulatedThread) =>
  thread.view(Uint8Array, SPACE * 4, CAPACITY) as Uint8Array as Uint8Array<SharedArrayBuffer>;
const waiting = { spins: 0 };

const write =
  (pieces: readonly (readonly number[])[]) =>
  (thread: SimulatedThread): void => {
    const writer = new StreamWriter(thread.words, memoryOf(thread), thread.platform);
    for (const piece of pieces) writer.write(Uint8Array.from(piece), waiting);
    closeSpsc(thread.words, thread.platform.atomics);
  };

const read =
  (elementBytes: 1 | 2) =>
  (thread: SimulatedThread): number[] => {
    const reader = new StreamReader(thread.words, memoryOf(thread), thread.platform);
    const received: number[] = [];
    try {
      for (;;) {
        const target = elementBytes === 2 ? new Uint16Array(2) : new Uint8Array(3);
        const count = reader.read(target, waiting);
        received.push(...new Uint8Array(target.buffer, 0, count));
      }
    } catch (error) {
      if (!(error instanceof HeddleError && error.code === 'ERR_HEDDLE_CLOSED')) throw error;
    }
    return received;
  };

export default [
  defineModel({
    name: 'spsc stream: more than fits, both sides park, across the wrap',
    ...stream,
    threads: { writer: write([[1, 2, 3, 4, 5]]), reader: read(1) },
    strayWakes: 1,
    check: ({ results }) => (String(results[1]) === '1,2,3,4,5' ? undefined : `read ${results[1]}`),
  }),

  defineModel({
    name: 'spsc stream: half an element is waited for, and given up at the close',
    ...stream,
    threads: { writer: write([[1], [2, 3]]), reader: read(2) },
    check: ({ results }) => (String(results[1]) === '1,2' ? undefined : `read ${results[1]}`),
  }),

  defineModel({
    name: 'spsc stream: the writer dies anywhere, what was published is read',
    ...stream,
    threads: { writer: write([[1], [2]]), reader: read(1) },
    killable: ['writer'],
    kills: 1,
    recover: (thread) => {
      recoverSpsc(thread.words, 1, thread.platform.atomics);
      closeSpsc(thread.words, thread.platform.atomics);
    },
    check: ({ results, dead }) => {
      const whole = dead[0] === true ? ['', '1', '1,2'] : ['1,2'];
      return whole.includes(String(results[1])) ? undefined : `read ${results[1]}`;
    },
  }),

  defineModel({
    name: 'spsc stream: the reader dies anywhere, the next one reads no byte twice, and what one read takes is lost at most',
    ...stream,
    words: stream.words + BYTES,
    names: { ...stream.names, read: [stream.words, BYTES] as const },
    threads: { writer: write([[1, 2], [3]]), reader: note },
    killable: ['reader'],
    kills: 1,
    recover: (thread) => {
      recoverSpsc(thread.words, 2, thread.platform.atomics);
      return note(thread);
    },
    check: ({ words, dead, recoveries }) => {
      const times = [...words.subarray(stream.words)];
      const missing = times.filter((count) => count === 0).length;
      if (times.some((count) => count > 1)) return `read ${times} times`;
      if (missing > (dead[1] === true ? 2 : 0)) return `read ${times} times`;
      return Number(recoveries[0] ?? 0) > missing
        ? `counted ${recoveries[0]}, read ${times} times`
        : undefined;
    },
  }),
];

/** Notes each byte in a word of its own, to the end. Answers how many were skipped. */
function note(thread: SimulatedThread): number {
  const reader = new StreamReader(thread.words, memoryOf(thread), thread.platform);
  const target = new Uint8Array(2);
  try {
    for (;;) {
      const count = reader.read(target, waiting);
      for (const byte of target.subarray(0, count)) thread.words[stream.words + byte - 1]!++;
    }
  } catch (error) {
    if (!(error instanceof HeddleError && error.code === 'ERR_HEDDLE_CLOSED')) throw error;
  }
  return reader.skippedBytes;
}
