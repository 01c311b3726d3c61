import { HeddleError, idOf } from '@heddle/memory';

/** How people call what layouts and facts know as a kind. */
const names: Readonly<Record<string, string>> = {
  spinlock: 'spin lock',
  ticket: 'ticket lock',
  mcs: 'MCS lock',
  none: 'lock of kind "none"',
  'recursive-mutex': 'recursive mutex',
  rwlock: 'reader-writer lock',
};

function nameOf(kind: string): string {
  return names[kind] ?? kind;
}

/** This thread has the lock already. */
export function relockError(kind: string, byTask: boolean): HeddleError {
  const otherwise =
    kind === 'rwlock' ? 'a reader cannot become a writer, nor read twice' : 'or use a RecursiveMutex';
  return new HeddleError(
    'ERR_HEDDLE_RELOCK',
    byTask
      ? `A task of this thread holds this ${nameOf(kind)}, and a blocking call would keep that task from ever releasing it: wait with lockAsync`
      : `This thread holds this ${nameOf(kind)} already: release it first, ${otherwise}`,
    { kind, byTask },
  );
}

/** This thread, or this task, does not have the lock. */
export function notOwnerError(
  kind: string,
  owner: number,
  byTask: boolean,
  purpose: '' | ' for reading' | ' for writing' = '',
): HeddleError {
  const holder =
    owner === 0 ? 'nobody does' : `thread ${idOf(owner)} does${byTask ? ' through lockAsync' : ''}`;
  return new HeddleError(
    'ERR_HEDDLE_NOT_OWNER',
    `The caller does not hold this ${nameOf(kind)}${purpose}, ${holder}: take it first, and release it once, where it was taken`,
    { kind, owner, byTask },
  );
}

/** An owner died and the next one did not mark the data consistent. */
export function poisonedError(kind: string): HeddleError {
  return new HeddleError(
    'ERR_HEDDLE_POISONED',
    `This ${nameOf(kind)} is poisoned: an owner died, and the next one released it without markConsistent(), so what it guards may be broken. Make that anew, with a new lock`,
    { kind },
  );
}

/**
 * The time of a call for a lock is up.
 *
 * @param owner token of who holds it, 0 for nobody.
 */
export function lockTimedOut(
  kind: string,
  timeoutMs: number | undefined,
  owner: number,
  purpose: '' | ' for reading' | ' for writing' = '',
): HeddleError {
  const holder = owner === 0 ? '' : `: thread ${idOf(owner)} holds it`;
  return new HeddleError(
    'ERR_HEDDLE_TIMED_OUT',
    `Locking the ${nameOf(kind)}${purpose} did not succeed within ${timeoutMs} ms${holder}`,
    { kind, timeoutMs, owner },
  );
}

/** The time of another call is up. */
export function timedOutError(what: string, timeoutMs: number | undefined): HeddleError {
  return new HeddleError('ERR_HEDDLE_TIMED_OUT', `${what} did not succeed within ${timeoutMs} ms`, {
    timeoutMs,
  });
}
