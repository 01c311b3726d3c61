import { HeddleError } from '@heddle/memory';
import type { WorkerPlace } from './lane-life.js';
import type { ThreadMode } from './thread-mode.js';

export function closedError(
  what: string,
  facts: Readonly<Record<string, unknown>> = {},
  advice = '',
): HeddleError {
  const rest = advice === '' ? '' : `: ${advice}`;
  return new HeddleError('ERR_HEDDLE_CLOSED', `${what} is closed${rest}`, { what, ...facts });
}

/** @throws TypeError where bytes are not as many any more as they were at the call. */
export function assertUnchanged(
  what: string,
  bytes: { readonly byteLength: number },
  byteLength: number,
): void {
  if (bytes.byteLength === byteLength) return;
  throw new TypeError(
    `${what} of a message had ${byteLength} bytes, and has ${bytes.byteLength} since it waits to be sent: leave its buffer alone until then`,
  );
}

/** What an address or an endpoint leads to is gone. */
export const WORKER_GONE = 'somebody closed it, or its thread ended; connect to a worker that lives';

export function tooLarge(what: string, byteLength: number, most: number, hint: string): HeddleError {
  return new HeddleError(
    'ERR_HEDDLE_RECORD_TOO_LARGE',
    `${what} of ${byteLength} bytes does not fit: at most ${most}. ${hint}`,
    { byteLength, most },
  );
}

export function noHandler(id: number): HeddleError {
  return new HeddleError(
    'ERR_HEDDLE_NAME_UNKNOWN',
    `A message with id ${id} came, for which this worker has no handler: it is dropped. Register it with worker.on before messages come`,
    { id },
  );
}

export function handlerRuns(): HeddleError {
  return new HeddleError(
    'ERR_HEDDLE_OUTSTANDING',
    'A message of this worker is being handled: do this after its handler has returned',
  );
}

export function nextWaits(): HeddleError {
  return new HeddleError(
    'ERR_HEDDLE_OUTSTANDING',
    'This iteration waits for a message already: await each `next` before the next one',
  );
}

export function timedOut(what: string, facts: Readonly<Record<string, unknown>> = {}): HeddleError {
  return new HeddleError('ERR_HEDDLE_TIMED_OUT', `${what}: the time is up`, facts);
}

export function sendsWait(): HeddleError {
  return new HeddleError(
    'ERR_HEDDLE_OUTSTANDING',
    'Asynchronous sends of this thread wait for room on this lane, and must not be overtaken: await them first',
  );
}

export function waitsForItself({ row }: WorkerPlace, threadMode: ThreadMode): HeddleError {
  return new HeddleError(
    'ERR_HEDDLE_MUST_NOT_BLOCK',
    `This thread would wait for itself, for ever: it is the one that receives on the worker in row ${row}, of thread mode "${threadMode}". Let it call progress in between, with trySend or a timeout, or use the form that ends in Async`,
    { row, threadMode },
  );
}

export function notHandled(): HeddleError {
  return timedOut('Not every message was handled');
}

export function isClosed(error: unknown): boolean {
  return error instanceof HeddleError && error.code === 'ERR_HEDDLE_CLOSED';
}

export function isStale(error: unknown): boolean {
  return (
    error instanceof HeddleError &&
    (error.code === 'ERR_HEDDLE_STALE_DESCRIPTOR' ||
      error.code === 'ERR_HEDDLE_NOT_HOLDER' ||
      error.code === 'ERR_HEDDLE_BAD_DESCRIPTOR')
  );
}

/** @throws TypeError where it is not a Uint8Array, of this realm or of another. */
export function assertBytes(what: string, bytes: unknown): asserts bytes is Uint8Array {
  if (
    ArrayBuffer.isView(bytes) &&
    (bytes instanceof Uint8Array || Object.prototype.toString.call(bytes) === '[object Uint8Array]')
  )
    return;
  throw new TypeError(`${what} is a Uint8Array; of another view, pass its bytes`);
}

/** @throws TypeError or RangeError where it is not a whole number from `least` to `most`. */
export function assertWhole(what: string, value: unknown, least: number, most: number): number {
  if (typeof value !== 'number') throw new TypeError(`${what} is a number, not ${typeof value}`);
  if (Number.isSafeInteger(value) && value >= least && value <= most) return value;
  throw new RangeError(`${what} is a whole number from ${least} to ${most}, not ${value}`);
}
