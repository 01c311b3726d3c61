import type { Performer } from './performer.js';

/**
 * Stands for a `SharedArrayBuffer`: a range of the simulated memory.
 *
 * Several may lie in one memory, one after the other.
 */
export class SimulatedBuffer {
  readonly performer: Performer;
  /** Address of its first byte in the memory. */
  readonly start: number;
  readonly byteLength: number;

  constructor(performer: Performer, start: number, byteLength: number) {
    this.performer = performer;
    this.start = start;
    this.byteLength = byteLength;
  }

  get maxByteLength(): number {
    return this.byteLength;
  }

  get growable(): boolean {
    return false;
  }

  /** What a typed array constructor of the engine looks at, which knows no simulated memory. */
  get [Symbol.iterator](): never {
    return this.performer.refuse(
      'unsupported',
      'makes a view with a constructor of the engine; take words.subarray(), thread.view() or the simulated globals',
    );
  }

  get [Symbol.toStringTag](): string {
    return 'SharedArrayBuffer';
  }
}
