import { defineLayout, field } from '@heddle/memory';

/** The one gate of a segment, for all of its pools. Never removed. */
export const gateLayout = defineLayout('mpool-gate', 1, {
  latch: field('anyone'),
});
