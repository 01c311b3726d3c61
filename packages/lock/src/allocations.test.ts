import { Session } from 'node:inspector';
import { type AtomicsLike, type Platform, realPlatform, Segment } from '@heddle/memory';
import { describe, expect, test } from 'vitest';
import { AutoResetEvent } from './auto-reset-event.js';
import { createLock, lockWordCount } from './create-lock.js';
import { LOCK_KINDS } from './lock.js';
import { ManualResetEvent } from './manual-reset-event.js';
import { RawRecursiveMutex } from './raw-recursive-mutex.js';
import { RwLock } from './rw-lock.js';
import { Semaphore } from './semaphore.js';
import { SeqLock } from './seq-lock.js';

interface ProfileNode {
  readonly callFrame: { readonly url: string; readonly functionName: string };
  readonly selfSize: number;
  readonly children: readonly ProfileNode[];
}

const CALLS = 2000;
/** The smallest object there is takes two words. */
const OBJECT_BYTES = 16;

/**
 * Bytes that the functions of these packages allocate in a call, as the engine's profiler counts them: it looks at
 * every allocation, and tells in which function it was made. The least of some runs, since now and then the engine
 * compiles a function in the middle of one.
 */
function allocatedBy(call: () => void): number {
  for (let i = 0; i < CALLS; i++) call();
  return Math.min(...[1, 2, 3].map(() => allocatedInARun(call) / CALLS));
}

function allocatedInARun(call: () => void): number {
  const session = new Session();
  session.connect();
  try {
    session.post('HeapProfiler.startSampling', {
      samplingInterval: 1,
      includeObjectsCollectedByMajorGC: true,
      includeObjectsCollectedByMinorGC: true,
    });
    for (let i = 0; i < CALLS; i++) call();
    let bytes = 0;
    session.post('HeapProfiler.stopSampling', (error, answer) => {
      if (error) throw error;
      const visit = (node: ProfileNode) => {
        if (/packages\/(lock|memory)\/dist\/(?!.*test)/.test(node.callFrame.url)) bytes += node.selfSize;
        node.children.forEach(visit);
      };
      visit(answer.profile.head as ProfileNode);
    });
    return bytes;
  } finally {
    session.disconnect();
  }
}

/**
 * A platform on which a thread that sleeps lets another one run at once. Its clock goes on with each pause, by whole
 * numbers, since the engine makes an object of any other.
 */
function platformWith(onWait: () => void): Platform {
  const atomics = {} as Record<string, unknown>;
  for (const name of [
    'load',
    'store',
    'add',
    'sub',
    'and',
    'or',
    'xor',
    'exchange',
    'compareExchange',
    'notify',
  ])
    atomics[name] = (Atomics as unknown as Record<string, unknown>)[name];
  atomics['wait'] = () => {
    onWait();
    return 'ok';
  };
  let time = 0;
  const pause = () => {
    time++;
  };
  return { ...realPlatform, atomics: atomics as unknown as AtomicsLike, now: () => time, pause };
}

test('the count sees an object in each call', () => {
  const words = new Int32Array(new SharedArrayBuffer(lockWordCount('mutex') * 4));
  expect(allocatedBy(() => createLock('mutex', words, 1))).toBeGreaterThan(OBJECT_BYTES);
});

describe('nothing is allocated by', () => {
  test.each(LOCK_KINDS)('a %s, free or taken', (kind) => {
    const words = new Int32Array(new SharedArrayBuffer(lockWordCount(kind) * 4));
    const other = kind === 'none' ? undefined : createLock(kind, words, 2);
    const lock = createLock(
      kind,
      words,
      1,
      platformWith(() => other?.unlock()),
    );
    const free = allocatedBy(() => {
      lock.lock();
      lock.unlock();
      lock.tryLock();
      lock.unlock();
    });
    expect(free).toBeLessThan(OBJECT_BYTES);
    if (!other) return;
    const taken = allocatedBy(() => {
      other.lock();
      lock.lock();
      lock.unlock();
    });
    expect(taken).toBeLessThan(OBJECT_BYTES);
  });

  test('a recursive mutex', () => {
    const lock = new RawRecursiveMutex(new Int32Array(new SharedArrayBuffer(128)), 1);
    const bytes = allocatedBy(() => {
      lock.lock();
      lock.lock();
      lock.unlock();
      lock.unlock();
    });
    expect(bytes).toBeLessThan(OBJECT_BYTES);
  });

  test('readers and writers, of a lock that is free or taken', () => {
    const words = new Int32Array(new SharedArrayBuffer(RwLock.byteLengthFor({ maxThreads: 2 })));
    const other = RwLock.over(words, { token: 2 });
    let wake = () => {};
    const { read, write } = RwLock.over(words, { token: 1, platform: platformWith(() => wake()) });
    const free = allocatedBy(() => {
      read.lock();
      read.unlock();
      read.tryLock();
      read.unlock();
      write.lock();
      write.unlock();
      write.tryLock();
      write.unlock();
    });
    expect(free).toBeLessThan(OBJECT_BYTES);
    const taken = allocatedBy(() => {
      other.write.lock();
      wake = () => other.write.unlock();
      read.lock();
      read.unlock();
      other.write.lock();
      write.lock();
      write.unlock();
      other.read.lock();
      wake = () => other.read.unlock();
      write.lock();
      write.unlock();
    });
    expect(taken).toBeLessThan(OBJECT_BYTES);
  });

  test('a sequence lock that is read into an array', () => {
    const segment = Segment.create({ byteLength: 2 ** 16 });
    const lock = SeqLock.create(segment, { name: 'pose', length: 3 });
    const target = new Int32Array(3);
    const bytes = allocatedBy(() => {
      lock.write(target);
      lock.read(target);
    });
    expect(bytes).toBeLessThan(OBJECT_BYTES);
    segment.detach();
  });

  test('a semaphore and events, free or taken', () => {
    const segment = Segment.create({ byteLength: 2 ** 16 });
    const semaphore = Semaphore.create(segment, { name: 'permits', permits: 1 });
    const gate = ManualResetEvent.create(segment, { name: 'gate' });
    const turnstile = AutoResetEvent.create(segment, { name: 'turnstile' });
    const bytes = allocatedBy(() => {
      semaphore.acquire();
      semaphore.release();
      turnstile.set();
      turnstile.wait();
      gate.set();
      gate.wait();
      gate.reset();
    });
    expect(bytes).toBeLessThan(OBJECT_BYTES);
    segment.detach();
  });
});
