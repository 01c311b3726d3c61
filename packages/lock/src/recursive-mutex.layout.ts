import { defineLayout, field } from '@heddle/memory';

/** The words of a recursive mutex: those of a mutex, and how many times its owner has it beyond the first. */
export const recursiveMutexLayout = defineLayout('recursive-mutex', 1, {
  state: field('anyone'),
  taskGate: field('anyone'),
  heir: field('anyone'),
  /** The owner's alone, plain. What a dead owner leaves is cleared by the next. */
  depth: field('anyone'),
});
