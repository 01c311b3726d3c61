import type { FailureKind } from './failure.js';
import type { Answer, Operation } from './operation.js';

/**
 * Whoever carries out shared operations: the simulator, which suspends the thread before each new one, or a real
 * thread in lock step. Views, atomics and the platform are written against it and know nothing else.
 */
export interface Performer {
  /** Carries out one operation. Throws to suspend the calling thread. */
  perform(operation: Operation): Answer;
  /** Reports a use that has no meaning here. Throws to end the calling thread. */
  refuse(kind: FailureKind, reason: string): never;
  /** The running thread says what its whole local state is. */
  checkpoint(state: readonly unknown[]): void;
  /** Whether the running thread may block in a wait. */
  canBlock(): boolean;
}
