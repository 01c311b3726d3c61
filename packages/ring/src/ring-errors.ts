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

/** @throws RangeError where a ring cannot be made for records of so many bytes. */
export function assertMaxRecordBytes(maxRecordBytes: number, most: number): void {
  if (Number.isSafeInteger(maxRecordBytes) && maxRecordBytes >= 0 && maxRecordBytes <= most) return;
  throw new RangeError(
    `The longest record is a whole number of bytes from 0 to ${most}, not ${maxRecordBytes}`,
  );
}

/** @throws TypeError where it is not a Uint8Array. */
export function assertBytes(bytes: unknown): asserts bytes is Uint8Array {
  if (bytes instanceof Uint8Array) return;
  // One of another realm.
  if (ArrayBuffer.isView(bytes) && Object.prototype.toString.call(bytes) === '[object Uint8Array]') return;
  throw new TypeError('The bytes of a record are a Uint8Array; of another view, pass its bytes');
}

/** @throws TypeError where a view is not as long any more as it was at the call. */
export function assertUnchanged(view: ArrayBufferView, byteLength: number): void {
  if (view.byteLength === byteLength) return;
  throw new TypeError(
    `The ${byteLength} bytes to be written became ${view.byteLength} while they waited: leave their buffer alone until they are written`,
  );
}

/** @throws TypeError where it is no Int32. */
export function assertInt32(value: number, what: string): void {
  if (typeof value === 'number' && (value | 0) === value) return;
  throw new TypeError(`${what} is a whole number from -2^31 to 2^31 - 1, not ${String(value)}`);
}
