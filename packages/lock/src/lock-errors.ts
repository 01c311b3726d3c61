import { HeddleError, idOf } from '@heddle/memory';

/** This thread has the lock already. */
export function relockError(kind: string, byTask: boolean): HeddleError {
  return new HeddleError(
    'ERR_HEDDLE_RELOCK',
    byTask
      ? `A task of this thread holds this ${kind}, and a blocking call would keep that task from ever releasing it: wait with lockAsync`
      : `This thread holds this ${kind} already: release it first, or use a RecursiveMutex`,
    { kind, byTask },
  );
}

/** This thread, or this task, does not have the lock. */
export function notOwnerError(kind: string, owner: number, byTask: boolean): HeddleError {
  const holder =
    owner === 0 ? 'nobody does' : `thread ${idOf(owner)} does${byTask ? ' through lockAsync' : ''}`;
  return new HeddleError(
    'ERR_HEDDLE_NOT_OWNER',
    `The caller does not hold this ${kind}, ${holder}: release it once, where it was taken`,
    { kind, owner, byTask },
  );
}

/** An owner died and the next one did not mark the data consistent. */
export function poisonedError(kind: string): HeddleError {
  return new HeddleError(
    'ERR_HEDDLE_POISONED',
    `This ${kind} is poisoned: an owner died, and the next one released it without markConsistent(), so what it guards may be broken. Make that anew, with a new lock`,
    { kind },
  );
}

/** The time of a call is up. */
export function timedOutError(what: string, timeoutMs: number | undefined): HeddleError {
  return new HeddleError('ERR_HEDDLE_TIMED_OUT', `${what} did not succeed within ${timeoutMs} ms`, {
    timeoutMs,
  });
}
