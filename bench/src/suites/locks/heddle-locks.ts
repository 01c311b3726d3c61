import {
  type LockHandle,
  McsLock,
  Mutex,
  NullLock,
  RecursiveMutex,
  RwLock,
  Segment,
  SeqLock,
  SpinLock,
  TicketLock,
} from '@heddle/lock';
import { MAX_THREADS } from '@heddle/memory';
import type { Gate } from './gate.js';

/** The locks of Heddle, each in a segment of its own, opened by handle as a program does. */

const name = 'measured';

/** Words of the payload of a sequence lock. */
const PAYLOAD_WORDS = 4;

/** A segment with room for so many threads and the one that makes it. */
function segmentFor(threads: number): Segment {
  const maxThreads = Math.min(MAX_THREADS, 2 ** Math.ceil(Math.log2(threads + 1)));
  return Segment.create({ byteLength: 2 ** 20, maxThreads });
}

interface Lockable {
  lock(): unknown;
  unlock(): void;
}

interface LockClass {
  create(
    segment: Segment,
    options: { readonly name: string; readonly maxThreads: number },
  ): { readonly handle: LockHandle };
  from(handle: LockHandle): Lockable;
}

function exclusive(kind: LockClass) {
  return {
    create: (threads: number) => kind.create(segmentFor(threads), { name, maxThreads: threads + 1 }).handle,
    open: (handle: LockHandle) => gateOf(kind.from(handle)),
  };
}

function gateOf(lock: Lockable): Gate {
  return {
    enter: () => void lock.lock(),
    leave: () => lock.unlock(),
  };
}

function createRwLock(threads: number): LockHandle {
  return RwLock.create(segmentFor(threads), { name, maxThreads: threads + 1 }).handle;
}

function createSeqLock(threads: number): LockHandle {
  return SeqLock.create(segmentFor(threads), { name, length: PAYLOAD_WORDS }).handle;
}

/** Nothing is left after a read: it took a copy. */
function openSeqLockReader(handle: LockHandle): Gate {
  const lock = SeqLock.from(handle);
  const payload = new Int32Array(PAYLOAD_WORDS);
  return {
    enter: () => void lock.read(payload),
    leave() {},
  };
}

function openSeqLockWriter(handle: LockHandle): Gate {
  const lock = SeqLock.from(handle);
  const payload = new Int32Array(PAYLOAD_WORDS);
  return {
    enter: () => lock.write(payload),
    leave() {},
  };
}

export const heddleLocks = {
  mutex: exclusive(Mutex),
  spinlock: exclusive(SpinLock),
  ticket: exclusive(TicketLock),
  mcs: exclusive(McsLock),
  'recursive-mutex': exclusive(RecursiveMutex),
  none: exclusive(NullLock),
  'rwlock-read': { create: createRwLock, open: (handle: LockHandle) => gateOf(RwLock.from(handle).read) },
  'rwlock-write': { create: createRwLock, open: (handle: LockHandle) => gateOf(RwLock.from(handle).write) },
  'seqlock-read': { create: createSeqLock, open: openSeqLockReader },
  'seqlock-write': { create: createSeqLock, open: openSeqLockWriter },
};
