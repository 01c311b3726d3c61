import type { SharedLock, StrategyName } from './strategies.js';
import { shareLock } from './strategies.js';

/** The two gates of each strategy that tells readers from writers, and of a mutex that does not. */
const gates = {
  rwlock: ['rwlock-read', 'rwlock-write'],
  seqlock: ['seqlock-read', 'seqlock-write'],
  mutex: ['mutex', 'mutex'],
  'multithreading-rwlock': ['multithreading-rwlock-read', 'multithreading-rwlock-write'],
} as const satisfies Record<string, readonly [StrategyName, StrategyName]>;

export type ReadWriteName = keyof typeof gates;

/** Both gates of one lock, on their way to a thread. */
export interface SharedReadWrite {
  readonly read: SharedLock;
  readonly write: SharedLock;
}

export function shareReadWrite(name: ReadWriteName, threads: number): SharedReadWrite {
  const [reading, writing] = gates[name];
  const read = shareLock(reading, threads);
  return { read, write: { strategy: writing, lock: read.lock } };
}
