import { HeddleError } from '@heddle/memory';

export function closedError(what: string): HeddleError {
  return new HeddleError('ERR_HEDDLE_CLOSED', `${what} is closed`, { what });
}

export function releasedError(side: string): HeddleError {
  return new HeddleError(
    'ERR_HEDDLE_RING_ROLE',
    `This ${side} was released: take the side again from the ring`,
    { side },
  );
}

export function roleError(side: string, holder: number): HeddleError {
  return new HeddleError(
    'ERR_HEDDLE_RING_ROLE',
    `The ring has a living ${side} already, the thread with token ${holder}: a second one would corrupt it. Release the first, or use a ring for many`,
    { side, holder },
  );
}

function tooLargeError(byteLength: number, maxRecordBytes: number): HeddleError {
  return new HeddleError(
    'ERR_HEDDLE_RECORD_TOO_LARGE',
    `A record of ${byteLength} bytes does not fit: at most ${maxRecordBytes} bytes a record. Create the ring with a larger capacityBytes`,
    { byteLength, maxRecordBytes },
  );
}

/** @throws RangeError where it is not a whole number of bytes; HeddleError `ERR_HEDDLE_RECORD_TOO_LARGE`. */
export function assertRecordBytes(byteLength: number, maxRecordBytes: number): void {
  if (!Number.isSafeInteger(byteLength) || byteLength < 0) {
    throw new RangeError(`The length of a record is a whole number of bytes, not ${byteLength}`);
  }
  if (byteLength > maxRecordBytes) throw tooLargeError(byteLength, maxRecordBytes);
}

/** @throws TypeError where it is not a Uint8Array. */
export function assertBytes(bytes: unknown): asserts bytes is Uint8Array {
  if (bytes instanceof Uint8Array || Object.prototype.toString.call(bytes) === '[object Uint8Array]') return;
  throw new TypeError('A record is written from a Uint8Array; of another view, pass its bytes');
}
