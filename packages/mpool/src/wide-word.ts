/**
 * Adds a whole number of less than 32 bits to a counter of 53 bits in two words, low word first. Its writer must
 * have it for itself.
 */
export function addWide(words: Int32Array, index: number, amount: number): void {
  const low = (words[index]! >>> 0) + amount;
  words[index] = low | 0;
  if (low >= 2 ** 32) words[index + 1]!++;
  else if (low < 0) words[index + 1]!--;
}

/** The same, by 1. */
export function incrementWide(words: Int32Array, index: number): void {
  const low = (words[index]! + 1) | 0;
  words[index] = low;
  if (low === 0) words[index + 1]!++;
}

export function readWide(words: Int32Array, index: number): number {
  return words[index + 1]! * 2 ** 32 + (words[index]! >>> 0);
}

/** Stores a whole number up to 2^53 in two words. */
export function writeWide(words: Int32Array, index: number, value: number): void {
  words[index] = value | 0;
  words[index + 1] = Math.floor(value / 2 ** 32);
}
