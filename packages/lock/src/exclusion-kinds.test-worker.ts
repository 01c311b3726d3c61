import { lockWordCount } from './create-lock.js';
import type { ExclusiveLock } from './exclusive-lock.js';
import type { Segment } from './index.js';
import { McsLock } from './mcs-lock.js';
import { Mutex } from './mutex.js';
import { NullLock } from './null-lock.js';
import type { LockHandle, OverOptions } from './placement.js';
import { RecursiveMutex } from './recursive-mutex.js';
import { recursiveMutexLayout } from './recursive-mutex.layout.js';
import { RwLock } from './rw-lock.js';
import { SpinLock } from './spin-lock.js';
import { TicketLock } from './ticket-lock.js';

/** What a class of locks offers statically. */
interface LockClass {
  new (): ExclusiveLock;
  create(segment: Segment, options: { readonly name: string }): ExclusiveLock;
  open(segment: Segment, name: string): ExclusiveLock;
  from(handle: LockHandle): ExclusiveLock;
  over(words: Int32Array, options: OverOptions): ExclusiveLock;
}

/** Why a kind does not take a part of the conformance suite. */
export interface Skips {
  readonly otherThreads?: string;
  readonly relock?: string;
  readonly byName?: string;
}

/** A subject of the conformance suite. */
export interface ExclusionSubject {
  readonly kind: string;
  readonly Class: LockClass;
  readonly wordCount: number;
  readonly skips: Skips;
}

/** The writers' side of a read-write lock, as a class: disposing of it disposes of the whole. */
const writeSide: LockClass = (() => {
  const side = (lock: RwLock): ExclusiveLock => {
    const { write } = lock;
    write[Symbol.dispose] = () => lock[Symbol.dispose]();
    return write;
  };
  return class {
    static create = (segment: Segment, options: { readonly name: string }) =>
      side(RwLock.create(segment, options));
    static open = (segment: Segment, name: string) => side(RwLock.open(segment, name));
    static from = (handle: LockHandle) => side(RwLock.from(handle));
    static over = (words: Int32Array, options: OverOptions) => side(RwLock.over(words, options));
    constructor() {
      // biome-ignore lint/correctness/noConstructorReturn: a class whose instances are made by another one
      return side(new RwLock());
    }
  } as unknown as LockClass;
})();

/** The classes that the conformance suite runs over, for the tests and for their threads. */
export const EXCLUSION_KINDS: readonly ExclusionSubject[] = [
  { kind: 'mutex', Class: Mutex, wordCount: lockWordCount('mutex'), skips: {} },
  { kind: 'spinlock', Class: SpinLock, wordCount: lockWordCount('spinlock'), skips: {} },
  { kind: 'ticket', Class: TicketLock, wordCount: lockWordCount('ticket'), skips: {} },
  { kind: 'mcs', Class: McsLock, wordCount: lockWordCount('mcs', 4), skips: {} },
  {
    kind: 'recursive-mutex',
    Class: RecursiveMutex,
    wordCount: recursiveMutexLayout.wordCount,
    skips: {
      relock: 'Its owner may take it again',
      byName: 'Structures that let their user choose a lock never take it twice',
    },
  },
  {
    kind: 'rwlock',
    Class: writeSide,
    wordCount: RwLock.byteLengthFor({ maxThreads: 8 }) / 4,
    skips: { byName: 'It has two sides' },
  },
  {
    kind: 'none',
    Class: NullLock,
    wordCount: lockWordCount('none'),
    skips: { otherThreads: 'It refuses every thread but one, so there is nobody to wait for' },
  },
];

/** The class of a kind. */
export function exclusionClass(kind: string): LockClass {
  return EXCLUSION_KINDS.find((known) => known.kind === kind)!.Class;
}
