import { DAMAGE_LOG_ENTRIES, DAMAGE_WORDS, mpoolLayout } from './mpool.layout.js';
import type { PoolWords } from './pool-words.js';

const { damages, damageLog } = mpoolLayout.offsets;

/** How memory was misused, by its number in the log. */
const DAMAGE_KINDS = ['overrun', 'underrun', 'used after put'] as const;

export type DamageKind = (typeof DAMAGE_KINDS)[number];

/** Damage that debug mode found. */
export interface Damage {
  readonly descriptor: number;
  /** Bytes behind the element were written, or bytes before it, or the element itself when it had been put. */
  readonly kind: DamageKind;
  /** Id of the thread that held the element, or that had put it. */
  readonly threadId: number;
  /** Id of the thread that found it. */
  readonly foundBy: number;
}

/** Counts and logs damage. 1 add, 4 stores. */
export function noteDamage(pool: PoolWords, { descriptor, kind, threadId, foundBy }: Damage): void {
  const { atomics } = pool.platform;
  const number = atomics.add(pool.words, damages, 1) & (DAMAGE_LOG_ENTRIES - 1);
  const entry = [descriptor, DAMAGE_KINDS.indexOf(kind), threadId, foundBy];
  for (const [i, word] of entry.entries()) {
    atomics.store(pool.words, damageLog + number * DAMAGE_WORDS + i, word);
  }
}

/** The last damage, oldest first; what is written meanwhile may be mixed. */
export function damageOf(pool: PoolWords): Damage[] {
  const { atomics } = pool.platform;
  const count = atomics.load(pool.words, damages) >>> 0;
  const first = Math.max(count - DAMAGE_LOG_ENTRIES, 0);
  return Array.from({ length: count - first }, (_, i) => {
    const at = damageLog + ((first + i) % DAMAGE_LOG_ENTRIES) * DAMAGE_WORDS;
    const [descriptor, kind, threadId, foundBy] = [0, 1, 2, 3].map((word) =>
      atomics.load(pool.words, at + word),
    );
    return {
      descriptor: descriptor!,
      kind: DAMAGE_KINDS[kind!]!,
      threadId: threadId!,
      foundBy: foundBy!,
    };
  });
}
