import type { Message } from './message.js';

/** Messages whose length and content follow from their sender and sequence number, so that each byte can be checked. */
export class Numbered {
  /** Messages that were as they should be. */
  received = 0;
  readonly #maxBytes: number;
  readonly #least: number;
  readonly #scratch: Uint8Array;
  readonly #words: Int32Array;
  readonly #next = new Map<number, number>();

  /** @param least bytes: then all sizes from there on are equally frequent. */
  constructor(maxBytes: number, least = 0) {
    this.#maxBytes = maxBytes;
    this.#least = least;
    const buffer = new ArrayBuffer(Math.ceil(maxBytes / 4) * 4);
    this.#scratch = new Uint8Array(buffer, 0, maxBytes);
    this.#words = new Int32Array(buffer);
  }

  /** The data of a message; good until the next call. Most are small, some just about as large as fits a lane. */
  data(sender: number, sequence: number): Uint8Array {
    let x = Math.imul(sequence + sender * 7919 + 1, 0x9e3779b1);
    const sort = (x >>> 28) & 15;
    const range = this.#least > 0 || sort === 15 ? this.#maxBytes : sort < 10 ? 32 : sort < 14 ? 256 : 2048;
    const most = Math.min(range, this.#maxBytes);
    const length = this.#least + (((x >>> 4) & 0xffffff) % (most - this.#least + 1));
    for (let i = 0; i < length / 4; i++) {
      x = (Math.imul(x, 1664525) + 1013904223) | 0;
      this.#words[i] = x;
    }
    return this.#scratch.subarray(0, length);
  }

  /** Whether the bytes are those of this message. */
  matches(bytes: Uint8Array, sender: number, sequence: number): boolean {
    return Buffer.compare(bytes, this.data(sender, sequence)) === 0;
  }

  /**
   * Checks content and order of what arrives.
   *
   * @param gaps whether messages may be missing, because a thread died.
   * @throws Error that says what is wrong.
   */
  check(message: Message, gaps = false): readonly [sender: number, sequence: number] {
    const [sender, sequence] = readHeader(message);
    const next = this.#next.get(sender) ?? 0;
    if (gaps ? sequence < next : sequence !== next) {
      throw new Error(`Message ${sequence} of sender ${sender} came where ${next} was expected`);
    }
    this.#next.set(sender, sequence + 1);
    if (!this.matches(message.data, sender, sequence)) {
      throw new Error(`Message ${sequence} of sender ${sender} does not hold what was sent`);
    }
    this.received++;
    return [sender, sequence];
  }
}

export function headerOf(sender: number, sequence: number): Uint8Array {
  return new Uint8Array(Int32Array.of(sender, sequence).buffer);
}

export function readHeader(message: Message): readonly [sender: number, sequence: number] {
  const [sender, sequence] = new Int32Array(message.header.slice().buffer);
  return [sender!, sequence!];
}

/** Numbers from 0 up to below 1 that follow from a seed: mulberry32. */
export function randomFrom(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let x = Math.imul(state ^ (state >>> 15), 1 | state);
    x = (x + Math.imul(x ^ (x >>> 7), 61 | x)) ^ x;
    return ((x ^ (x >>> 14)) >>> 0) / 2 ** 32;
  };
}
