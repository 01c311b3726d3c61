import { defineLayout, field } from '@heddle/memory';

/** A place for the address of one worker. `posted` becomes 1 behind the bytes. */
export const boardPlaceLayout = defineLayout('bench-board-place', 1, {
  posted: field('poster'),
  address: field('poster', 8),
});
