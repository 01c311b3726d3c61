import { defineLayout, field, MAX_THREADS } from '@heddle/memory';

/** The one gate of a segment, for all of its pools. Never removed. */
export const gateLayout = defineLayout('mpool-gate', 1, {
  latch: field('anyone'),
});

/** Words with a bit for each id of a thread. */
export const USER_WORDS = MAX_THREADS / 32 + 1;
