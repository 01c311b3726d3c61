import { defineLayout, field } from '@heddle/memory';

/** What the threads of a variant share beside the lock. */
export const court = defineLayout('lock-court', 1, {
  /** Written inside of sections only. */
  value: field('holder of the lock'),
  /** Sections that took place: a plain count, exact only if the lock excludes. */
  sections: field('holder of the lock'),
  /** Sections that threads say they did, added up at the end of each round. */
  claimed: field('anyone'),
  /** Threads that have been in a section since their round began, added up over all rounds; wraps. */
  present: field('anyone'),
});
