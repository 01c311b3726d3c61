import { defineLayout, field } from '@heddle/memory';

/** A lane of records of one size. The records follow. Positions count records and run freely. */
export const bareLaneLayout = defineLayout('bench-bare-lane', 1, {
  head: field('receiver'),
  tail: field('sender'),
});
