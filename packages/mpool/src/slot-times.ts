import { NOTE_GOT_AT, NOTE_WORDS } from './mpool.layout.js';
import type { PoolWords } from './pool-words.js';

/** Two threads may differ by so much about what time it is, in milliseconds. */
const MOST_SKEW_MS = 60_000;

/** Notes that a slot is got now. Its holder only. */
export function noteGotAt(pool: PoolWords, slot: number): void {
  pool.words[pool.noteOf(slot) + NOTE_GOT_AT] = pool.platform.now() | 0;
}

/** Milliseconds since a slot was got, undefined where that is not noted. Wraps after 49 days. */
export function ageOf(pool: PoolWords, slot: number): number | undefined {
  if (pool.shape.noteWords < NOTE_WORDS) return undefined;
  const ageMs = ((pool.platform.now() | 0) - pool.words[pool.noteOf(slot) + NOTE_GOT_AT]!) >>> 0;
  return ageMs > 2 ** 32 - MOST_SKEW_MS ? 0 : ageMs;
}
