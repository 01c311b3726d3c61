/**
 * The whole state of a model as one vector of 32-bit integers, with an undo log and a running hash.
 *
 * Everything that tells two states apart is a word here: shared memory first, then the threads, the queues, the
 * clock and what the happens-before relation adds. A step changes a few words through {@link put}; a search goes
 * back with {@link rollback}. So neither a step nor a visit costs anything that grows with the memory.
 *
 * **Hash.** Two lanes of 32 bits, each the XOR over all words of a mix of index and value. For one index the mix
 * is a bijection of the value, so states that differ in one word never collide; any two others collide with a
 * chance of 2^-64.
 */
export class StateVector {
  /** The words. Replaced when the vector grows: read it anew after {@link allocate}. */
  values: Int32Array<ArrayBuffer>;
  hashA = 0;
  hashB = 0;
  #length: number;
  /** Pairs of index and former value. */
  #undo = new Int32Array(1024);
  #undoLength = 0;
  readonly #onGrow: () => void;

  constructor(length: number, onGrow: () => void = () => {}) {
    this.values = new Int32Array(Math.max(64, length * 2));
    this.#length = length;
    this.#onGrow = onGrow;
  }

  /** Adds `count` words of value 0, which changes no hash, and returns the index of the first. */
  allocate(count: number): number {
    const index = this.#length;
    this.#length += count;
    if (this.#length > this.values.length) {
      const grown = new Int32Array(this.#length * 2);
      grown.set(this.values);
      this.values = grown;
      this.#onGrow();
    }
    return index;
  }

  put(index: number, value: number): void {
    const values = this.values;
    const old = values[index]!;
    if (old === value) return;
    const top = this.#undoLength;
    if (top === this.#undo.length) this.#growUndo();
    this.#undo[top] = index;
    this.#undo[top + 1] = old;
    this.#undoLength = top + 2;
    values[index] = value;
    this.hashA ^= mixA(index, old) ^ mixA(index, value);
    this.hashB ^= mixB(index, old) ^ mixB(index, value);
  }

  /** A point to which {@link rollback} can return. */
  mark(): number {
    return this.#undoLength;
  }

  rollback(mark: number): void {
    const values = this.values;
    const undo = this.#undo;
    let { hashA, hashB } = this;
    let top = this.#undoLength;
    while (top > mark) {
      top -= 2;
      const index = undo[top]!;
      const old = undo[top + 1]!;
      const value = values[index]!;
      values[index] = old;
      hashA ^= mixA(index, old) ^ mixA(index, value);
      hashB ^= mixB(index, old) ^ mixB(index, value);
    }
    this.#undoLength = mark;
    this.hashA = hashA;
    this.hashB = hashB;
  }

  #growUndo(): void {
    const grown = new Int32Array(this.#undo.length * 2);
    grown.set(this.#undo);
    this.#undo = grown;
  }
}

function mixA(index: number, value: number): number {
  let hash = Math.imul(value, 0xcc9e2d51);
  hash = ((hash << 15) | (hash >>> 17)) ^ Math.imul(index + 1, 0x9e3779b1);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}

function mixB(index: number, value: number): number {
  let hash = Math.imul(value ^ 0x5bd1e995, 0x1b873593);
  hash = ((hash << 13) | (hash >>> 19)) + Math.imul(index + 1, 0x85157af5);
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  hash = Math.imul(hash ^ (hash >>> 12), 0x297a2d39);
  return hash ^ (hash >>> 15);
}
