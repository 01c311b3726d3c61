// A choice of the schedule is one integer: what happens (3 bits), to which thread (5 bits), and which of several
// answers it gets (the rest).

/** The thread does its pending operation. */
export const STEP = 0;
/** The thread is killed. */
export const KILL = 1;
/** The thread's timed wait times out. */
export const TIME_OUT = 2;
/** The thread's wait returns without a notify. */
export const STRAY_WAKE = 3;
/** The thread's asynchronous wait is aborted. */
export const ABORT = 4;

export type Choice = number;

export function choice(kind: number, thread: number, alternative = 0): Choice {
  return (alternative << 8) | (thread << 3) | kind;
}

export function choiceKind(of: Choice): number {
  return of & 7;
}

export function choiceThread(of: Choice): number {
  return (of >> 3) & 31;
}

/** Which answer of several: of a hint, the clock or chance. */
export function choiceAlternative(of: Choice): number {
  return of >> 8;
}
