/**
 * What the state words of this package have in common: a value in the low 24 bits, often the token of the owner,
 * and flags above it.
 */
export const VALUE_MASK = 2 ** 24 - 1;
/** The value of a lock's word: the token of its owner, 0 for none. */
export const OWNER_MASK = 2 ** 24 - 1;

/** Somebody who blocks sleeps on the word, or is about to: notify it when the word changes for them. */
export const SLEEPER = 1 << 24;
/** Tasks wait at the gate: open it when the word changes for them. */
export const TASKS_WAIT = 1 << 25;
/** The lock is kept for the heir when it is released. */
export const RESERVED = 1 << 26;
/** A task has waited for long: who would block gives it a moment before taking what is free. */
export const COURTESY = 1 << 27;
/** An owner died, and its data has not been marked consistent. */
export const OWNER_DIED = 1 << 28;
/** The owner has it in a task. */
export const TASK_OWNS = 1 << 29;
/** For good: nobody gets it any more. */
export const POISONED = 1 << 30;
