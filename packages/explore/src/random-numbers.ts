/** A sequence of random numbers from a seed: xorshift128, seeded by splitmix. */
export class RandomNumbers {
  readonly #state = new Int32Array(4);

  constructor(seed: number) {
    let mixed = seed | 0;
    for (let index = 0; index < 4; index++) {
      mixed = (mixed + 0x9e3779b9) | 0;
      let word = Math.imul(mixed ^ (mixed >>> 16), 0x21f0aaad);
      word = Math.imul(word ^ (word >>> 15), 0x735a2d97);
      this.#state[index] = word ^ (word >>> 15) || 1;
    }
  }

  /** A whole number from 0, below `limit`. */
  below(limit: number): number {
    const state = this.#state;
    let word = state[3]!;
    word ^= word << 11;
    word ^= word >>> 8;
    state[3] = state[2]!;
    state[2] = state[1]!;
    state[1] = state[0]!;
    word ^= state[0]! ^ (state[0]! >>> 19);
    state[0] = word;
    return Math.floor(((word >>> 0) / 2 ** 32) * limit);
  }
}
