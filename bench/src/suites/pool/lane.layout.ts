import { defineLayout, field } from '@heddle/memory';

/** Descriptors that a lane has room for. */
export const LANE_SLOTS = 4096;

/** A lane of descriptors from one thread to another. The slots follow. Positions run freely. */
export const laneLayout = defineLayout('bench-lane', 1, {
  head: field('receiver'),
  tail: field('sender'),
});

/** Words of a lane with its slots. */
export const LANE_WORDS = laneLayout.wordCount + LANE_SLOTS;
