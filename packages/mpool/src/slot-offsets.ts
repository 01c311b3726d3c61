import type { Growth } from './growth.js';
import { mpoolLayout } from './mpool.layout.js';

const { moves } = mpoolLayout.offsets;

/** Where each slot's element lies: looked up a chunk at a time, and anew where a chunk came back. Private to a thread. */
export class SlotOffsets {
  readonly #growth: Growth;
  readonly #words: Int32Array;
  /** Byte offset of each slot that this thread has looked up. */
  #offsets = new Float64Array(0);
  #knownChunks = 0;
  #seenMoves = 0;

  constructor(growth: Growth, words: Int32Array) {
    this.#growth = growth;
    this.#words = words;
  }

  /** Byte offset of the element in the segment. The slot must exist. No Atomics call but for new chunks. */
  of(slot: number): number {
    if (slot >= this.#offsets.length || this.#words[moves] !== this.#seenMoves) this.#lookUp();
    return this.#offsets[slot]!;
  }

  #lookUp(): void {
    const { stride } = this.#growth;
    if (this.#words[moves] !== this.#seenMoves) {
      this.#seenMoves = this.#words[moves]!;
      this.#offsets = new Float64Array(0);
      this.#knownChunks = 0;
    }
    const chunks = this.#growth.chunks(this.#knownChunks);
    const last = chunks.at(-1);
    if (!last) return;
    const offsets = new Float64Array(last.firstSlot + last.elems);
    offsets.set(this.#offsets);
    for (const { firstSlot, elems, byteOffset } of chunks) {
      for (let i = 0; i < elems; i++) offsets[firstSlot + i] = byteOffset + i * stride;
    }
    this.#offsets = offsets;
    this.#knownChunks += chunks.length;
  }
}
