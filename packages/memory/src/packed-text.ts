/** Text as words: UTF-8, padded with zeros. What structures carry in shared memory as kind and name. */

/**
 * @param what for the message: "The name of a structure".
 * @throws TypeError where it is not a string, is empty, or would not come back as it is; RangeError where it is too long.
 */
export function packText(what: string, text: string, wordCount: number): Int32Array {
  if (typeof text !== 'string') throw new TypeError(`${what} is a string, not ${typeof text}`);
  if (text === '' || text.includes('\0') || !text.isWellFormed()) {
    throw new TypeError(`${what} is not empty, and contains neither NUL nor half a surrogate pair`);
  }
  const bytes = new TextEncoder().encode(text);
  if (bytes.length > wordCount * 4) {
    throw new RangeError(
      `${what} has at most ${wordCount * 4} bytes in UTF-8, "${text}" has ${bytes.length}`,
    );
  }
  const words = new Int32Array(wordCount);
  new Uint8Array(words.buffer).set(bytes);
  return words;
}

/** @param words private memory: decoders refuse shared views in browsers. */
export function unpackText(words: Int32Array): string {
  const bytes = new Uint8Array(words.buffer, words.byteOffset, words.byteLength);
  const end = bytes.indexOf(0);
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(end < 0 ? bytes : bytes.subarray(0, end));
}

/** A hash for the place in a table (FNV-1a over words). */
export function hashWords(words: Int32Array): number {
  let hash = 0x811c9dc5;
  for (const word of words) hash = Math.imul(hash ^ word, 0x01000193);
  return (hash ^ (hash >>> 15)) >>> 0;
}
