import { bareLaneLayout } from './bare-lane.layout.js';
import { type Link, type LinkKind, type LinkParameters, RING_BYTES } from './link.js';

/**
 * What somebody writes by hand who needs a lane and nothing else: records of one size, cached positions, a store to
 * publish, and no wake-up, close, recovery or check of any kind.
 */

const { head, tail } = bareLaneLayout.offsets;
const HEADER_BYTES = bareLaneLayout.byteLength;

/** Up to here words are copied one by one: setting up a copy of the engine costs more. */
const LOOP_WORDS = 6;

class BareLane {
  readonly #words: Int32Array;
  readonly #records: Int32Array;
  readonly #recordWords: number;
  readonly #count: number;
  #position: number;
  /** Of the other side, as far as this one knows. */
  #known: number;

  constructor(buffer: SharedArrayBuffer, byteOffset: number, recordBytes: number) {
    this.#words = new Int32Array(buffer, byteOffset, bareLaneLayout.wordCount);
    this.#records = new Int32Array(buffer, byteOffset + HEADER_BYTES, RING_BYTES / 4);
    this.#recordWords = recordBytes / 4;
    this.#count = RING_BYTES / recordBytes;
    this.#position = this.#known = 0;
  }

  send(message: Int32Array, count: number): void {
    const words = this.#recordWords;
    for (let i = 0; i < count; i++) {
      while (((this.#position - this.#known) | 0) === this.#count) this.#awaitRoom();
      const at = (this.#position & (this.#count - 1)) * words;
      if (words > LOOP_WORDS) this.#records.set(message, at);
      else for (let word = 0; word < words; word++) this.#records[at + word] = message[word]!;
      this.#position = (this.#position + 1) | 0;
    }
    Atomics.store(this.#words, tail, this.#position);
  }

  #awaitRoom(): void {
    Atomics.store(this.#words, tail, this.#position);
    this.#known = Atomics.load(this.#words, head);
  }

  receive(take: (firstWord: number) => void): number {
    const from = this.#position;
    this.#known = Atomics.load(this.#words, tail);
    if (from === this.#known) return 0;
    for (; this.#position !== this.#known; this.#position = (this.#position + 1) | 0) {
      take(this.#records[(this.#position & (this.#count - 1)) * this.#recordWords]!);
    }
    Atomics.store(this.#words, head, this.#position);
    return (this.#position - from) | 0;
  }
}

const LANE_BYTES = HEADER_BYTES + RING_BYTES;

export const bareLane: LinkKind<SharedArrayBuffer> = {
  create: () => ({ shared: new SharedArrayBuffer(2 * LANE_BYTES) }),
  open(buffer, index, message, { messageBytes }: LinkParameters): Link {
    const there = new BareLane(buffer, index * LANE_BYTES, messageBytes);
    const back = new BareLane(buffer, (1 - index) * LANE_BYTES, messageBytes);
    const words = new Int32Array(message.buffer);
    let sum = 0;
    const take = (word: number) => {
      sum = (sum + word) | 0;
    };
    return {
      send: (count) => there.send(words, count),
      poll: () => back.receive(take),
      get sum() {
        return sum;
      },
    };
  },
};
