import type { MemPool as MemPoolType } from '@thi.ng/malloc';
import type { RingBuffer as RingBufferType } from 'ringbuf.js';
import { defineModel, type SimulatedThread, simulatedGlobals } from '../index.js';
import { loadSimulated } from '../load-simulated.js';

/*
 * Code from npm that knows nothing of this package, as it is published: it uses the global `Atomics` and makes its
 * own typed arrays.
 */
const { RingBuffer } = await loadSimulated<{ RingBuffer: typeof RingBufferType }>(
  'ringbuf.js',
  import.meta.url,
);
const { MemPool } = await loadSimulated<{ MemPool: typeof MemPoolType }>('@thi.ng/malloc', import.meta.url);

const { SharedArrayBuffer: SimulatedBuffer, Uint8Array: SimulatedBytes } = simulatedGlobals;

const CAPACITY = 2;

const ringOf = ({ shared }: SimulatedThread) => new RingBuffer(shared as SharedArrayBuffer, SimulatedBytes);

/** Pushes bytes 1, 2, … and says how many went in. */
const produce =
  (tries: number) =>
  (thread: SimulatedThread): number => {
    const ring = ringOf(thread);
    let pushed = 0;
    for (let attempt = 0; attempt < tries; attempt++) {
      pushed += ring.push(Uint8Array.of(pushed + 1));
    }
    return pushed;
  };

const consume =
  (tries: number) =>
  (thread: SimulatedThread): number[] => {
    const ring = ringOf(thread);
    const got: number[] = [];
    const one = new Uint8Array(1);
    for (let attempt = 0; attempt < tries; attempt++) if (ring.pop(one) === 1) got.push(one[0]!);
    return got;
  };

const POOL_BYTES = 128;

const poolOf = ({ shared }: SimulatedThread) =>
  new MemPool({ buf: shared as ArrayBufferLike as ArrayBuffer, skipInitialization: true });

const makePool = (): unknown => {
  const buf = new SimulatedBuffer(POOL_BYTES);
  new MemPool({ buf: buf as ArrayBufferLike as ArrayBuffer });
  return buf;
};

const allocate = (thread: SimulatedThread): number => poolOf(thread).malloc(8);

export default [
  defineModel({
    name: 'ringbuf.js, one producer and one consumer',
    words: 8,
    names: { write: 0, read: 1, storage: 2 },
    shared: () => RingBuffer.getStorageForCapacity(CAPACITY, SimulatedBytes),
    threads: { producer: produce(4), consumer: consume(4) },
    check: ({ results }) => {
      const got = results[1] as number[];
      return got.every((value, index) => value === index + 1) ? undefined : `the consumer got ${got}`;
    },
  }),
  defineModel({
    name: 'ringbuf.js, two producers overwrite each other',
    words: 8,
    names: { write: 0, read: 1, storage: 2 },
    shared: () => RingBuffer.getStorageForCapacity(CAPACITY, SimulatedBytes),
    threads: { first: produce(1), second: produce(1) },
    expect: { fail: 'race', reason: 'Data race on storage' },
  }),
  defineModel({
    name: '@thi.ng/malloc, one thread',
    words: POOL_BYTES / 4,
    shared: makePool,
    threads: [
      (thread) => {
        const pool = poolOf(thread);
        const [one, other] = [pool.malloc(8), pool.malloc(8)];
        return [one !== other, pool.free(one), pool.malloc(8) === one];
      },
    ],
    check: ({ results }) =>
      (results[0] as boolean[]).every(Boolean) ? undefined : `the pool answered ${results[0]}`,
  }),
  defineModel({
    name: '@thi.ng/malloc, two threads on one pool race',
    words: POOL_BYTES / 4,
    shared: makePool,
    threads: [allocate, allocate],
    expect: { fail: 'race' },
  }),
  defineModel({
    name: '@thi.ng/malloc, two threads on one pool get the same block',
    words: POOL_BYTES / 4,
    shared: makePool,
    threads: [allocate, allocate],
    // Sequentially consistent memory is the kindest that the pool could meet; it is corrupted there, too.
    races: false,
    conserve: ({ results }) =>
      results[0] === results[1] ? `both threads got the block at ${results[0]}` : undefined,
    expect: { fail: 'leak', reason: 'both threads got the block' },
  }),
];
