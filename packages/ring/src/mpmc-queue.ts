import {
  type Alone,
  type Platform,
  registerKind,
  runAsync,
  type Segment,
  type WaitAsyncOptions,
  type WaitOptions,
} from '@heddle/memory';
import { beginBlocking, blockUntil } from './attempt-steps.js';
import { GateSteps } from './gate.js';
import { MpmcCells } from './mpmc-cells.js';
import { MAX_QUEUE_CAPACITY, mpmcByteLength, mpmcQueueLayout } from './mpmc-queue.layout.js';
import { PlacedStructure, type RingHandle } from './placed-structure.js';
import { assertInt32 } from './ring-errors.js';

const { capacity } = mpmcQueueLayout.offsets;

export type MpmcQueueHandle = RingHandle<'mpmc-queue'>;

export interface MpmcQueueOptions {
  readonly name: string;
  /** How many numbers fit: 1 to 2^20, rounded up to a power of two, 2 at least. Default 1024. 8 bytes each. */
  readonly capacity?: number | undefined;
}

const DEFAULT_CAPACITY = 1024;
const MPMC_QUEUE = { kind: 'mpmc-queue', version: mpmcQueueLayout.version } as const;

/**
 * A bounded queue of numbers, each an Int32, that any number of threads put into and take from: for descriptors,
 * indices and other small things. First in, first out.
 *
 * **Layout** and the states of a cell: `mpmc-queue.layout.ts`; the algorithm: `mpmc-cells.ts`.
 *
 * **Death** of a thread that puts a number in: before it names itself in a cell, nothing happened; from then until
 * the cell is full, takers wait at that cell (others still put behind it) and recovery makes them go past it: the
 * number was never in. Of a thread that takes: one instruction takes the number; before it, it is still in; after
 * it, it went with its taker.
 *
 * **Cost**, in Atomics calls, nobody else at the same time: put 6 (2 loads, 2 CAS, 2 stores), take 6 (4 loads,
 * 2 CAS); 1 CAS and 1 notify more where somebody sleeps. Full: 3. Empty: 4.
 *
 * **When not to use it**: between two threads a ring costs a sixth: see {@link SpscRing}.
 *
 * ```ts
 * const queue = MpmcQueue.create(segment, { name: 'jobs', capacity: 256 });
 * queue.put(descriptor);
 * // in any thread
 * const descriptor = MpmcQueue.from(handle).take();
 * ```
 */
export class MpmcQueue {
  readonly #placed: PlacedStructure<'mpmc-queue'>;
  readonly #platform: Platform;
  readonly #cells: MpmcCells;

  private constructor(placed: PlacedStructure<'mpmc-queue'>) {
    this.#placed = placed;
    this.#platform = placed.segment.platform;
    this.#cells = new MpmcCells(placed.words, placed.segment.thread.token, this.#platform.atomics);
  }

  /**
   * @throws RangeError or TypeError for a bad capacity, HeddleError `ERR_HEDDLE_NAME_TAKEN` and what else creating
   *   a structure throws. Nothing is left behind.
   */
  static create(segment: Segment, options: MpmcQueueOptions): MpmcQueue;
  /** Makes a queue in a segment of its own, for up to 64 threads. Ends with `Symbol.dispose`, or with the thread. */
  static create(options?: Alone<MpmcQueueOptions>): MpmcQueue;
  static create(where: Segment | Alone<MpmcQueueOptions> = {}, inSegment?: MpmcQueueOptions): MpmcQueue {
    return new MpmcQueue(
      PlacedStructure.create(MPMC_QUEUE, where, inSegment, (options) => {
        const count = capacityOf(options);
        return { byteLength: mpmcByteLength(count), init: (words) => MpmcQueue.initialise(words, count) };
      }),
    );
  }

  /** @throws HeddleError `ERR_HEDDLE_NAME_UNKNOWN`, `ERR_HEDDLE_KIND_MISMATCH`, `ERR_HEDDLE_VERSION`. */
  static open(segment: Segment, name: string): MpmcQueue {
    return new MpmcQueue(PlacedStructure.open(segment, MPMC_QUEUE, name));
  }

  /** Attaches to the segment of a handle and opens its queue; disposing of the queue detaches again. */
  static from(handle: MpmcQueueHandle): MpmcQueue {
    return new MpmcQueue(PlacedStructure.from(MPMC_QUEUE, handle));
  }

  /** Bytes that a queue takes in a segment, its entry in the directory apart. */
  static byteLengthFor(options: Omit<MpmcQueueOptions, 'name'>): number {
    return mpmcByteLength(capacityOf(options));
  }

  /** Writes the words of a new queue over zeroed memory. */
  static initialise(words: Int32Array, count: number): void {
    words[capacity] = count;
  }

  get name(): string {
    return this.#placed.name;
  }

  /** Where it is: `watch` threads there, so that their deaths are noticed. */
  get segment(): Segment {
    return this.#placed.segment;
  }

  get handle(): MpmcQueueHandle {
    return this.#placed.handle;
  }

  /** How many numbers fit. */
  get capacity(): number {
    return this.#placed.words[capacity]!;
  }

  /** How many numbers there are, about: others put and take meanwhile. 2 loads. */
  get size(): number {
    return this.#cells.size;
  }

  /**
   * Puts a number in, if there is room.
   *
   * @throws TypeError where it is no Int32; HeddleError `ERR_HEDDLE_CLOSED`, `ERR_HEDDLE_DETACHED` where this thread
   *   has detached from the segment.
   */
  tryPut(value: number): boolean {
    assertInt32(value, 'A number of a queue');
    return this.#attachedCells().put(value);
  }

  /** Puts a number in, blocking while there is no room. Returns false when the time is up. @throws as `tryPut`. */
  put(value: number, options: WaitOptions = {}): boolean {
    assertInt32(value, 'A number of a queue');
    const deadline = beginBlocking(this.#platform, options);
    if (this.#attachedCells().put(value)) return true;
    return blockUntil(this.#putting(value), this.#placed.words, this.#platform, deadline, options.spins);
  }

  /** Puts a number in as soon as there is room. Resolves to false when the time is up. Rejects as `tryPut` throws. */
  async putAsync(value: number, options: WaitAsyncOptions = {}): Promise<boolean> {
    assertInt32(value, 'A number of a queue');
    return runAsync(this.#putting(value), this.#placed.words, this.#platform, options);
  }

  /**
   * Takes the next number out, undefined where there is none.
   *
   * @throws HeddleError `ERR_HEDDLE_CLOSED` where the queue is closed and everything taken, `ERR_HEDDLE_DETACHED` where
   *   this thread has detached from the segment.
   */
  tryTake(): number | undefined {
    return this.#attachedCells().take();
  }

  /** Takes the next number out, blocking while there is none. Undefined when the time is up. @throws as `tryTake`. */
  take(options?: WaitOptions & { readonly timeout?: undefined }): number;
  take(options?: WaitOptions): number | undefined;
  take(options: WaitOptions = {}): number | undefined {
    const deadline = beginBlocking(this.#platform, options);
    const first = this.#attachedCells().take();
    if (first !== undefined) return first;
    const { steps, taken } = this.#taking();
    blockUntil(steps, this.#placed.words, this.#platform, deadline, options.spins);
    return taken();
  }

  /** Takes the next number out as soon as there is one. Several may wait. Rejects as `tryTake` throws. */
  takeAsync(options?: WaitAsyncOptions & { readonly timeout?: undefined }): Promise<number>;
  takeAsync(options?: WaitAsyncOptions): Promise<number | undefined>;
  async takeAsync(options: WaitAsyncOptions = {}): Promise<number | undefined> {
    const { steps, taken } = this.#taking();
    await runAsync(steps, this.#placed.words, this.#platform, options);
    return taken();
  }

  /**
   * Closes the queue, from any thread, and wakes everyone. What is in is still taken; then, and for putting at
   * once, every call fails with `ERR_HEDDLE_CLOSED`. Once closed a queue stays closed.
   */
  close(): void {
    this.#cells.close();
  }

  /** Whether the queue is closed; there may be numbers left to take. 1 load. */
  get closed(): boolean {
    return this.#cells.closed;
  }

  /** Detaches where `from` attached. */
  [Symbol.dispose](): void {
    this.#placed.leave();
  }

  /** Putting marks a cell with this thread's id, which may be another's once it has left the segment. */
  #attachedCells(): MpmcCells {
    this.#placed.segment.assertAttached();
    return this.#cells;
  }

  #putting(value: number): GateSteps {
    return new GateSteps(this.#cells.room, () => this.#attachedCells().put(value));
  }

  /** Steps that take a number, and the number. */
  #taking(): { readonly steps: GateSteps; readonly taken: () => number | undefined } {
    let taken: number | undefined;
    const attempt = () => {
      taken = this.#attachedCells().take();
      return taken !== undefined;
    };
    return { steps: new GateSteps(this.#cells.items, attempt), taken: () => taken };
  }
}

registerKind({
  layout: mpmcQueueLayout,
  module: import.meta.url,
  recover({ segment, info, dead }) {
    const words = segment.wordsAt(info.byteOffset, info.byteLength);
    new MpmcCells(words, dead.token, segment.platform.atomics).recover(dead.token);
  },
});

function capacityOf({ capacity: count = DEFAULT_CAPACITY }: Omit<MpmcQueueOptions, 'name'>): number {
  if (typeof count !== 'number') {
    throw new TypeError(`The capacity of a queue is a count of numbers, not ${typeof count}`);
  }
  if (!Number.isInteger(count) || count < 1 || count > MAX_QUEUE_CAPACITY) {
    throw new RangeError(
      `The capacity of a queue is a whole number from 1 to ${MAX_QUEUE_CAPACITY}, not ${count}`,
    );
  }
  return Math.max(2, 2 ** Math.ceil(Math.log2(count)));
}
