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

  get [Symbol.toStringTag](): string {
    return 'SharedArrayBuffer';
  }
}
