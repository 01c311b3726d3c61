import { LATE_LOG_ENTRIES, mpoolLayout } from './mpool.layout.js';
import type { PoolWords } from './pool-words.js';

const { refusals, lateRefusals, lateLog } = mpoolLayout.offsets;

/** A put that was refused only when it was collected, since another thread had put the same descriptor. */
export interface LateRefusal {
  readonly descriptor: number;
  /** Id of the thread that put it. */
  readonly threadId: number;
}

/** Counts a refusal. 1 add. */
export function noteRefusal(pool: PoolWords): void {
  pool.platform.atomics.add(pool.words, refusals, 1);
}

/** Counts and logs a late refusal. 2 adds, 2 stores. */
export function noteLateRefusal(pool: PoolWords, descriptor: number, threadId: number): void {
  const { atomics } = pool.platform;
  noteRefusal(pool);
  const entry = lateLog + 2 * (atomics.add(pool.words, lateRefusals, 1) & (LATE_LOG_ENTRIES - 1));
  atomics.store(pool.words, entry, descriptor);
  atomics.store(pool.words, entry + 1, threadId);
}

/** Refused puts, ever. 1 load. */
export function refusedPuts(pool: PoolWords): number {
  return pool.platform.atomics.load(pool.words, refusals) >>> 0;
}

/** The last late refusals, oldest first; what is written meanwhile may be mixed. */
export function lateRefusalsOf(pool: PoolWords): LateRefusal[] {
  const { atomics } = pool.platform;
  const count = atomics.load(pool.words, lateRefusals) >>> 0;
  const first = Math.max(count - LATE_LOG_ENTRIES, 0);
  return Array.from({ length: count - first }, (_, i) => {
    const entry = lateLog + 2 * ((first + i) % LATE_LOG_ENTRIES);
    return {
      descriptor: atomics.load(pool.words, entry),
      threadId: atomics.load(pool.words, entry + 1),
    };
  });
}
