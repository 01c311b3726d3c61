import { HeddleError } from './errors.js';
import type { JanitorLink } from './janitor-link.js';
import type { Kind } from './kind.js';
import { type Platform, realPlatform } from './platform.js';

/** Changes when copies of this package of different versions could not share a thread's state. */
const STATE_VERSION = 1;
const STATE_KEY = Symbol.for('heddle.thread');

/** What this thread knows of a segment that it is attached to. Plain, so that copies of the package can share it. */
export interface Membership {
  readonly id: number;
  readonly token: number;
  /** How many attached objects of this thread rely on it. */
  uses: number;
  readonly link: JanitorLink;
}

/** What belongs to this thread, whichever copy of the package asks. */
export interface ThreadState {
  readonly version: number;
  /** Process-unique number of this thread, never 0. */
  readonly unique: number;
  /** By segment id; alive as long as a segment object, or its link to a janitor, is. */
  readonly memberships: Map<string, WeakRef<Membership>>;
  /** Structures whose recovery this thread can run, by kind. */
  readonly kinds: Map<string, Kind>;
  readonly kindListeners: Set<(kind: Kind) => void>;
}

interface Host {
  process?: { getBuiltinModule?: (name: string) => { threadId: number } | undefined };
  [STATE_KEY]?: ThreadState;
}

const host = globalThis as unknown as Host;

/**
 * The state of this thread, under one global symbol: two installed copies of the package do not split a thread's
 * identity.
 *
 * @throws HeddleError `ERR_HEDDLE_VERSION` where another copy of another version came first.
 */
export function threadState(platform: Platform = realPlatform): ThreadState {
  const known = host[STATE_KEY];
  if (known) {
    if (known.version === STATE_VERSION) return known;
    throw new HeddleError(
      'ERR_HEDDLE_VERSION',
      `Two copies of @heddle/memory that cannot work together are loaded in this thread (state versions ${known.version} and ${STATE_VERSION}): install one version`,
      { version: known.version, known: STATE_VERSION },
    );
  }
  const state: ThreadState = {
    version: STATE_VERSION,
    unique: processUnique(platform),
    memberships: new Map(),
    kinds: new Map(),
    kindListeners: new Set(),
  };
  host[STATE_KEY] = state;
  return state;
}

/** The number by which the table knows the thread that Node calls `threadId`. */
export function uniqueOfThreadId(threadId: number): number {
  return threadId + 1;
}

/** The other way round. */
export function threadIdOf(unique: number): number {
  return unique - 1;
}

/** In Node the thread's id, which the process never uses twice; elsewhere 31 random bits. */
function processUnique(platform: Platform): number {
  const workerThreads = host.process?.getBuiltinModule?.('node:worker_threads');
  if (workerThreads) return uniqueOfThreadId(workerThreads.threadId);
  return platform.random() >>> 1 || 1;
}
