import { defineLayout, field } from '@heddle/memory';

/** The words of a round trip between two threads, a line each. */
export const court = defineLayout('court', 1, {
  ball: field('driver'),
  echo: field('partner'),
});
