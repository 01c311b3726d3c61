import { copyBytes } from '@heddle/memory';
import { HEADER_BYTES } from './record.layout.js';
import { assertBytes } from './ring-errors.js';

/**
 * A record while it is read: a window on the ring's memory.
 *
 * One object is used again for every record, so it is good until the next one is read or the space is released.
 * Keep what you need: `copyTo`, or a number from `word`.
 */
export interface RingRecord {
  /** Length of the payload. 0 is a record like any other. */
  readonly byteLength: number;
  /** The number that the writer gave with it, an Int32. */
  readonly tag: number;
  /** Where the payload starts in `memory`. A multiple of 8, plus the skew of payloads from 256 bytes on. */
  readonly byteOffset: number;
  /** All bytes of the ring. */
  readonly memory: Uint8Array<SharedArrayBuffer>;
  /** The payload in place: a new view, good as long as the record. Without it, reading makes no object. */
  readonly bytes: Uint8Array<SharedArrayBuffer>;
  /** The Int32 at `index` of the payload. @throws RangeError outside of it. */
  word(index: number): number;
  /**
   * Copies the payload to `target` from `at` on.
   *
   * @returns its length. @throws RangeError where it does not fit, TypeError where the target is no Uint8Array.
   */
  copyTo(target: Uint8Array, at?: number): number;
}

/** The one record object of a consumer. */
export class RecordCursor implements RingRecord {
  byteLength = 0;
  tag = 0;
  byteOffset = 0;
  readonly memory: Uint8Array<SharedArrayBuffer>;
  readonly #words: Int32Array;

  /** @param words the space of the ring, and @param memory the same as bytes. */
  constructor(words: Int32Array, memory: Uint8Array<SharedArrayBuffer>) {
    this.#words = words;
    this.memory = memory;
  }

  /** Moves to the record whose header is at word `at`. */
  moveTo(at: number, byteLength: number, skew: number, tag: number): void {
    this.byteLength = byteLength;
    this.byteOffset = at * 4 + HEADER_BYTES + skew;
    this.tag = tag;
  }

  get bytes(): Uint8Array<SharedArrayBuffer> {
    return this.memory.subarray(this.byteOffset, this.byteOffset + this.byteLength);
  }

  word(index: number): number {
    if (index >>> 0 !== index || (index + 1) * 4 > this.byteLength) {
      throw new RangeError(`Word ${index} is outside of a record of ${this.byteLength} bytes`);
    }
    // Space is at most 2^30 bytes, so bit operators do here.
    if ((this.byteOffset & 3) === 0) return this.#words[(this.byteOffset >> 2) + index]!;
    const at = this.byteOffset + index * 4;
    return new DataView(this.memory.buffer, this.memory.byteOffset).getInt32(at, LITTLE_ENDIAN);
  }

  copyTo(target: Uint8Array, at = 0): number {
    assertBytes(target);
    if (!(Number.isInteger(at) && at >= 0 && at + this.byteLength <= target.byteLength)) {
      throw new RangeError(
        `A record of ${this.byteLength} bytes does not fit ${target.byteLength} bytes from ${at} on`,
      );
    }
    copyBytes(target, this.bytes, at);
    return this.byteLength;
  }
}

const LITTLE_ENDIAN = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1;
