/** The reflected polynomial of CRC-32. */
const POLYNOMIAL = 0xedb88320;

/** The product of two polynomials modulo the CRC's, bits reflected: the highest bit is x^0. */
function multiply(a: number, b: number): number {
  let product = 0;
  let shifted = b;
  for (let bit = 0x80000000; bit !== 0; bit >>>= 1) {
    if (a & bit) product ^= shifted;
    shifted = shifted & 1 ? (shifted >>> 1) ^ POLYNOMIAL : shifted >>> 1;
  }
  return product >>> 0;
}

/** x^(8 * byteLength) modulo the CRC's polynomial. */
function shiftOf(byteLength: number): number {
  let result = 0x80000000;
  let square = 0x00800000; // x^8
  for (let left = byteLength; left > 0; left = Math.floor(left / 2)) {
    if (left % 2 === 1) result = multiply(result, square);
    square = multiply(square, square);
  }
  return result;
}

/**
 * The CRC-32 of two pieces of data put together, from that of each (the method of zlib's `crc32_combine`).
 *
 * @param secondByteLength bytes of the second piece; exact up to 2^53.
 */
export function combineCrc32(first: number, second: number, secondByteLength: number): number {
  return (multiply(shiftOf(secondByteLength), first) ^ second) >>> 0;
}
