import { MAX_THREADS, type Platform } from '@heddle/memory';

const BITS = 32;

/** Words with a bit for each id of a thread. */
export const ID_WORDS = MAX_THREADS / BITS + 1;

/** A set of ids of threads in shared memory: a bit each, in {@link ID_WORDS} words. */
export class IdBits {
  readonly #atomics: Platform['atomics'];
  readonly #words: Int32Array;
  readonly #at: number;

  constructor({ words, platform }: { words: Int32Array; platform: Platform }, at: number) {
    this.#atomics = platform.atomics;
    this.#words = words;
    this.#at = at;
  }

  /** 1 or. */
  add(id: number): void {
    this.#atomics.or(this.#words, this.#at + Math.floor(id / BITS), 1 << (id % BITS));
  }

  /** 1 and. */
  delete(id: number): void {
    this.#atomics.and(this.#words, this.#at + Math.floor(id / BITS), ~(1 << (id % BITS)));
  }

  /** The ids in it. 1 load a word. */
  ids(): number[] {
    const ids: number[] = [];
    for (let word = 0; word < ID_WORDS; word++) {
      const bits = this.#atomics.load(this.#words, this.#at + word);
      for (let bit = 0; bit < BITS; bit++) if ((bits >>> bit) & 1) ids.push(word * BITS + bit);
    }
    return ids;
  }
}
