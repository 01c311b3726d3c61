import type { Platform } from '@heddle/memory';
import { assertAddress, type WorkerAddress } from './address.js';
import { ContextLock } from './context-lock.js';
import { Entry } from './entry.js';
import { laneLayout } from './lane.layout.js';
import { LaneLife, type WorkerPlace } from './lane-life.js';
import { type PoolSource, SlotPools } from './slot-pools.js';
import {
  contextLayout,
  laneAt,
  laneStride,
  type Shape,
  workerRowAt,
  workerRowLayout,
} from './transport.layout.js';
import { WorkerRow } from './worker-row.js';

const { closed, lanesUsed } = contextLayout.offsets;

/** What a context needs of its segment: `Segment` has it. */
export interface SegmentFacts {
  readonly id: string;
  readonly platform: Platform;
  readonly attached: boolean;
  readonly thread: { readonly token: number };
  isAlive(token: number): boolean;
}

/** Where the memory of a context is. */
export interface ContextParts extends PoolSource {
  readonly segment: SegmentFacts;
  /** Place of the context in the directory. */
  readonly slot: number;
  /** The context's own words. */
  readonly words: Int32Array<SharedArrayBuffer>;
  /** The whole segment. */
  readonly memory: Uint8Array<SharedArrayBuffer>;
  /** The same as words. */
  readonly memoryWords: Int32Array<SharedArrayBuffer>;
  /** Of `words` in `memory`. */
  readonly byteOffset: number;
  readonly shape: Shape;
}

/** A lane as this thread sees it. */
export interface Lane {
  readonly index: number;
  readonly words: Int32Array<SharedArrayBuffer>;
  readonly bytes: Uint8Array<SharedArrayBuffer>;
  /** Of its space, from the beginning of the segment. */
  readonly byteOffset: number;
  readonly life: LaneLife;
  readonly entry: Entry;
}

/** The memory of a context as one thread sees it: header, rows, lanes, pool. Views are made once. */
export class ContextMemory {
  readonly segment: SegmentFacts;
  readonly platform: Platform;
  readonly shape: Shape;
  readonly words: Int32Array<SharedArrayBuffer>;
  /** The whole segment. */
  readonly memory: Uint8Array<SharedArrayBuffer>;
  /** The same as words. */
  readonly memoryWords: Int32Array<SharedArrayBuffer>;
  /** Where the data of messages is that is too large for a lane. */
  readonly slots: SlotPools;
  readonly #parts: ContextParts;
  readonly #lanes: (Lane | undefined)[] = [];
  #lock: ContextLock | undefined;
  readonly #rows: (WorkerRow | undefined)[] = [];

  constructor(parts: ContextParts) {
    this.#parts = parts;
    this.segment = parts.segment;
    this.platform = parts.segment.platform;
    this.shape = parts.shape;
    this.words = parts.words;
    this.memory = parts.memory;
    this.memoryWords = parts.memoryWords;
    this.slots = new SlotPools(parts.shape.slotBytes, parts);
  }

  /** Guards what the threads share, and that is not done by one instruction. */
  get lock(): ContextLock {
    this.#lock ??= new ContextLock(this);
    return this.#lock;
  }

  /** How others reach a worker of this context. */
  addressOf({ row, generation }: WorkerPlace): WorkerAddress {
    return { heddle: 'address', segment: this.segment.id, context: this.#parts.slot, row, generation };
  }

  /** @throws TypeError where it is no address, RangeError where it is none of a worker of this context. */
  assertHere(address: WorkerAddress): void {
    assertAddress(address);
    const { segment, context, row } = address;
    if (segment === this.segment.id && context === this.#parts.slot && row < this.shape.maxWorkers) return;
    throw new RangeError('This is the address of a worker of another context');
  }

  /** Token of this thread. */
  get token(): number {
    return this.segment.thread.token;
  }

  /** Whether the context is shut down. 1 load. */
  get closed(): boolean {
    return this.platform.atomics.load(this.words, closed) !== 0;
  }

  markClosed(): void {
    this.platform.atomics.store(this.words, closed, 1);
  }

  /**
   * How many lanes to look at for all that are in use: at most as many as were at one time. 1 load.
   *
   * **Ordering**: U1: who claims a lane counts it first ↔ who learned of a claim in any way loads this afterwards.
   */
  get lanesUsed(): number {
    return this.platform.atomics.load(this.words, lanesUsed);
  }

  /** Counts a lane that is about to be claimed. */
  countUsed(index: number): void {
    let used = this.lanesUsed;
    // Each round but the last saw another thread count one.
    while (used <= index) {
      const seen = this.platform.atomics.compareExchange(this.words, lanesUsed, used, index + 1); // U1
      if (seen === used) return;
      used = seen;
    }
  }

  lane(index: number): Lane {
    const known = this.#lanes[index];
    if (known) return known;
    const at = laneAt(this.shape, index);
    const words = this.words.subarray(at, at + laneStride(this.shape));
    const byteOffset = this.#parts.byteOffset + (at + laneLayout.wordCount) * Int32Array.BYTES_PER_ELEMENT;
    const lane: Lane = {
      index,
      words,
      bytes: this.memory.subarray(byteOffset, byteOffset + this.shape.laneBytes),
      byteOffset,
      life: new LaneLife(words, this.platform),
      entry: new Entry(words, laneLayout.offsets.drainer, this.token, this.platform),
    };
    this.#lanes[index] = lane;
    return lane;
  }

  rowWords(index: number): Int32Array<SharedArrayBuffer> {
    const at = workerRowAt(index);
    return this.words.subarray(at, at + workerRowLayout.wordCount);
  }

  row(index: number): WorkerRow {
    let row = this.#rows[index];
    if (!row) {
      row = new WorkerRow(this.rowWords(index), this.platform);
      this.#rows[index] = row;
    }
    return row;
  }

  /** Who may be inside of a worker of thread mode `serialized`. */
  rowEntry({ row, generation }: WorkerPlace): Entry {
    const { entry } = workerRowLayout.offsets;
    return new Entry(this.rowWords(row), entry, this.token, this.platform, generation);
  }

  /** Whether the thread of this token lives. */
  readonly isAlive = (token: number): boolean => this.segment.isAlive(token);

  /** A view of a part of the segment. */
  view(byteOffset: number, byteLength: number): Uint8Array<SharedArrayBuffer> {
    return this.memory.subarray(byteOffset, byteOffset + byteLength);
  }

  /** {@link SlotPools.takeBack}, as far as this thread may still use pools. */
  takeBack(size: number, descriptor: number): void {
    if (this.segment.attached) this.slots.takeBack(size, descriptor);
  }

  /** The slot of a message whose sender asked is back: sends that off, and wakes the worker in this row. */
  tellDone(row: number): void {
    this.flushPools();
    this.row(row).doorbell.ring();
  }

  /** Sends puts off that this thread keeps back. */
  flushPools(): void {
    if (this.segment.attached) this.slots.flush();
  }
}
