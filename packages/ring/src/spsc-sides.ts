import type { Platform } from '@heddle/memory';
import type { PlacedStructure, RingHandle } from './placed-structure.js';
import { CLOSED } from './position.js';
import { claimSide, releaseSide } from './side.js';
import { closeSpsc } from './spsc-close.js';
import { spscRingLayout } from './spsc-ring.layout.js';

const { capacity, producer, consumer, tail } = spscRingLayout.offsets;

interface Side {
  release(): void;
}

/** What a ring and a stream between two threads have in common: who holds which side, and closing. */
export class SpscSides<Kind extends string> {
  readonly platform: Platform;
  readonly #placed: PlacedStructure<Kind>;
  readonly #taken = new Set<Side>();

  constructor(placed: PlacedStructure<Kind>) {
    this.#placed = placed;
    this.platform = placed.segment.platform;
  }

  get name(): string {
    return this.#placed.name;
  }

  get handle(): RingHandle<Kind> {
    return this.#placed.handle;
  }

  get words(): Int32Array {
    return this.#placed.words;
  }

  /** The space, as bytes. */
  memory(): Uint8Array<SharedArrayBuffer> {
    return this.#placed.bytesBehind(spscRingLayout.wordCount);
  }

  get capacityBytes(): number {
    return this.#placed.words[capacity]!;
  }

  get closed(): boolean {
    return (this.platform.atomics.load(this.#placed.words, tail) & CLOSED) !== 0;
  }

  close(): void {
    closeSpsc(this.#placed.words, this.platform.atomics);
  }

  /** Takes a side for this thread; what `make` returns gives it back by calling its argument. */
  take<Taken extends Side>(name: 'producer' | 'consumer', make: (onRelease: () => void) => Taken): Taken {
    const { segment, words } = this.#placed;
    const { atomics } = this.platform;
    const index = name === 'producer' ? producer : consumer;
    segment.assertAttached();
    const { token } = segment.thread;
    claimSide(words, index, name, { token, isAlive: (other) => segment.isAlive(other) }, atomics);
    const side: Taken = make(() => {
      this.#taken.delete(side);
      releaseSide(words, index, token, atomics);
    });
    this.#taken.add(side);
    return side;
  }

  dispose(): void {
    for (const side of this.#taken) side.release();
    this.#placed.leave();
  }
}
