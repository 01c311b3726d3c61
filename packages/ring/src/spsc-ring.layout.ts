import { defineLayout, field } from '@heddle/memory';

/**
 * The words of a ring between one producer and one consumer. The space for records follows them.
 *
 * ```
 *  line 0   capacity                   written once
 *  line 1   producer, consumer         who holds a side: a thread's token, 0 is nobody
 *  line 2   tail                       the producer moves it; the consumer sets `sleeping` in it
 *  line 3   head, begun                the consumer moves them; the producer sets `sleeping` in head
 *  line 4.. space
 * ```
 */
export const spscRingLayout = defineLayout('spsc-ring', 1, {
  /** Bytes of space: a power of two. */
  capacity: field('creator'),
  producer: field('anyone'),
  consumer: field('anyone'),
  /** Position up to which is written, with flags: see `position.ts`. */
  tail: field('producer'),
  /** Position up to which is read and free again, with flags. */
  head: field('consumer'),
  /** Position after the last record whose reading has begun. Plain: only the next consumer reads it. */
  begun: field('consumer'),
});

/** The same words with bytes instead of records behind them, and positions that count quarters of a byte. */
export const spscStreamLayout = { ...spscRingLayout, kind: 'spsc-stream' } as const;
