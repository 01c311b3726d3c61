import { type Layout, type Platform, realPlatform, WORD_BYTES } from '@heddle/memory';
import type { Lock, LockKind } from './lock.js';
import { DEFAULT_THREADS, mcsByteLength, mcsLockLayout } from './mcs-lock.layout.js';
import { mutexLayout } from './mutex.layout.js';
import { nullLockLayout } from './null-lock.layout.js';
import { RawMcsLock, RawTicketLock } from './raw-line-locks.js';
import { RawMutex } from './raw-mutex.js';
import { RawNullLock } from './raw-null-lock.js';
import { RawSpinLock } from './raw-spin-lock.js';
import { spinLockLayout } from './spin-lock.layout.js';
import { ticketLockLayout } from './ticket-lock.layout.js';

interface KindEntry {
  readonly layout: Layout;
  /** Bytes for so many threads, where that makes a difference. */
  readonly byteLength?: (maxThreads: number) => number;
  readonly create: (words: Int32Array, token: number, platform: Platform) => Lock;
}

const KINDS: Record<LockKind, KindEntry> = {
  spinlock: {
    layout: spinLockLayout,
    create: (words, token, platform) => new RawSpinLock(words, token, platform),
  },
  none: {
    layout: nullLockLayout,
    create: (words, token, platform) => new RawNullLock(words, token, platform),
  },
  ticket: {
    layout: ticketLockLayout,
    create: (words, token, platform) => new RawTicketLock(words, token, platform),
  },
  mcs: {
    layout: mcsLockLayout,
    byteLength: mcsByteLength,
    create: (words, token, platform) => new RawMcsLock(words, token, platform),
  },
  mutex: { layout: mutexLayout, create: (words, token, platform) => new RawMutex(words, token, platform) },
};

function entry(kind: LockKind): KindEntry {
  const found = Object.hasOwn(KINDS, kind) ? KINDS[kind] : undefined;
  if (found) return found;
  throw new RangeError(`A kind of lock is one of ${Object.keys(KINDS).join(', ')}, not ${String(kind)}`);
}

/**
 * Words of a lock of this kind, a whole number of lines.
 *
 * @param maxThreads highest id of a thread that will use it: 1 to 512.
 * @throws RangeError for an unknown kind or a bad number.
 */
export function lockWordCount(kind: LockKind, maxThreads: number = DEFAULT_THREADS): number {
  const { layout, byteLength } = entry(kind);
  return byteLength ? byteLength(maxThreads) / WORD_BYTES : layout.wordCount;
}

/**
 * A lock by name, for a structure that lets its user choose one.
 *
 * The structure gives it words, zero at first, and calls `recover` from its own recovery.
 *
 * @param token of this thread: `segment.thread.token`.
 * @throws RangeError for an unknown kind, too few words, or a token that is none.
 */
export function createLock(
  kind: LockKind,
  words: Int32Array,
  token: number,
  platform: Platform = realPlatform,
): Lock {
  const { layout, create } = entry(kind);
  if (words.length < layout.wordCount) {
    throw new RangeError(`A ${kind} takes ${layout.wordCount} words, not ${words.length}`);
  }
  if (!Number.isInteger(token) || token < 1 || token >= 2 ** 24) {
    throw new RangeError(
      `A thread's token is segment.thread.token, a positive number of 24 bits, not ${token}`,
    );
  }
  return create(words, token, platform);
}
