import { HeddleError } from './errors.js';
import { LINE_BYTES, roundUp } from './layout.js';
import { isSharedArrayBuffer, support } from './support.js';

/** @throws HeddleError `ERR_HEDDLE_UNSUPPORTED` where Heddle cannot work. */
export function assertSupported(): void {
  const { supported, reason } = support();
  if (!supported) throw new HeddleError('ERR_HEDDLE_UNSUPPORTED', `${reason}`);
}

/**
 * The memory that somebody gave, of whatever realm.
 *
 * @throws TypeError where it is not shared, or may grow.
 */
export function sharedBuffer(buffer: unknown): SharedArrayBuffer {
  if (!isSharedArrayBuffer(buffer)) {
    throw new TypeError(
      'The memory of a segment is a SharedArrayBuffer; an ArrayBuffer would be copied between threads',
    );
  }
  if ((buffer as { growable?: boolean }).growable) {
    throw new TypeError(
      'The memory of a segment is a SharedArrayBuffer of fixed size: growable ones are many times slower',
    );
  }
  return buffer;
}

/**
 * Reserves memory: a whole number of lines.
 *
 * @throws RangeError where it is less than `least` bytes, HeddleError `ERR_HEDDLE_OUT_OF_SPACE` where the engine does
 *   not reserve so much.
 */
export function reserve(byteLength: number, least: number): SharedArrayBuffer {
  if (!Number.isSafeInteger(byteLength) || byteLength < least) {
    throw new RangeError(
      `A segment with these tables is a whole number of bytes from ${least}, not ${byteLength}`,
    );
  }
  try {
    const buffer = new SharedArrayBuffer(roundUp(byteLength, LINE_BYTES));
    // An engine may reserve what it cannot make a view of.
    new Int32Array(buffer);
    return buffer;
  } catch (error) {
    throw new HeddleError(
      'ERR_HEDDLE_OUT_OF_SPACE',
      `This engine does not reserve ${byteLength} bytes of shared memory (${(error as Error).message}): ask for less, or let the process have more address space`,
      { asked: byteLength },
    );
  }
}
