/**
 * Every code that a {@link HeddleError} can carry. `docs/errors.md` says for each what happened and what to do.
 */
export const ERROR_CODES = [
  'ERR_HEDDLE_UNSUPPORTED',
  'ERR_HEDDLE_NOT_A_SEGMENT',
  'ERR_HEDDLE_VERSION',
  'ERR_HEDDLE_BYTE_ORDER',
  'ERR_HEDDLE_SEGMENT_SIZE',
  'ERR_HEDDLE_NOT_READY',
  'ERR_HEDDLE_DETACHED',
  'ERR_HEDDLE_OUT_OF_SPACE',
  'ERR_HEDDLE_RANGE_STATE',
  'ERR_HEDDLE_NAME_TAKEN',
  'ERR_HEDDLE_NAME_UNKNOWN',
  'ERR_HEDDLE_KIND_MISMATCH',
  'ERR_HEDDLE_DIRECTORY_FULL',
  'ERR_HEDDLE_THREADS_FULL',
  'ERR_HEDDLE_MUST_NOT_BLOCK',
  'ERR_HEDDLE_TIMED_OUT',
  'ERR_HEDDLE_STALLED',
  'ERR_HEDDLE_CLOSED',
  'ERR_HEDDLE_NOT_OWNER',
  'ERR_HEDDLE_RELOCK',
  'ERR_HEDDLE_POISONED',
  'ERR_HEDDLE_LOCK_ORDER',
  'ERR_HEDDLE_BAD_DESCRIPTOR',
  'ERR_HEDDLE_STALE_DESCRIPTOR',
  'ERR_HEDDLE_NOT_HOLDER',
  'ERR_HEDDLE_WRONG_THREAD',
  'ERR_HEDDLE_EXHAUSTED',
  'ERR_HEDDLE_OUTSTANDING',
  'ERR_HEDDLE_DAMAGED',
  'ERR_HEDDLE_RECORD_TOO_LARGE',
  'ERR_HEDDLE_RING_ROLE',
] as const;

export type ErrorCode = (typeof ERROR_CODES)[number];

/**
 * What goes wrong in Heddle, apart from invalid arguments (`TypeError`, `RangeError`).
 *
 * `code` is stable and meant for programs, the message says what to do and is meant for people, `facts` holds
 * the numbers and names in the message.
 */
export class HeddleError extends Error {
  readonly code: ErrorCode;
  readonly facts: Readonly<Record<string, unknown>>;

  constructor(code: ErrorCode, message: string, facts: Readonly<Record<string, unknown>> = {}) {
    super(message);
    this.name = 'HeddleError';
    this.code = code;
    this.facts = facts;
  }
}

/** Whether this is thrown where some thread has a structure for too long: it may move on, so what failed can be tried again. */
export function isStall(error: unknown): boolean {
  const code = error instanceof HeddleError ? error.code : undefined;
  return code === 'ERR_HEDDLE_STALLED' || code === 'ERR_HEDDLE_MUST_NOT_BLOCK';
}
