import { HeddleError, type WaitAsyncOptions, type WaitOptions } from '@heddle/memory';
import { KEPT_NOTE_BYTES } from './kept-note.js';
import { isStale, timedOut } from './transport-errors.js';

/** Most bytes of a slot in front of the data: the shift to where copying in is fast. */
export const MAX_SHIFT = 7;

/** Bytes by which a slot is larger than the longest data: for the shift, and who keeps it. */
export const SLOT_SLACK_BYTES = MAX_SHIFT + 1 + KEPT_NOTE_BYTES;

/** How a slot is waited for: `check` is called before each sleep, and what it throws ends the wait. */
interface SlotWait {
  readonly check?: (() => void) | undefined;
}

/** What a context needs of a pool: `Mpool` has it. */
export interface SlotPool {
  /** Bytes of a slot. */
  readonly elemSize: number;
  readonly maxElems: number;
  tryGet(): number | null;
  get(options: Pick<WaitOptions, 'timeout'> & SlotWait): number;
  getAsync(options: WaitAsyncOptions & SlotWait): Promise<number>;
  put(descriptor: number): void;
  /** Of the slot in the segment. */
  offset(descriptor: number): number;
  isOut(descriptor: number): boolean;
  detach(descriptor: number): void;
  /** Answers as `offset` does. */
  adopt(descriptor: number): number;
  flush(): void;
}

/** Where the pools are. */
export interface PoolSource {
  /** Called when a slot of this size is needed for the first time: a thread that detaches cannot open a pool. */
  openPool(size: number): SlotPool;
  /** Makes those who wait for a slot of this size look again. */
  wakePool(size: number): void;
}

/**
 * The pools of a context: one for each size of slots, numbered from the smallest on. Data takes a slot of the smallest
 * size that holds it, and no other: so what sizes are out says exactly what cannot be sent.
 *
 * A slot is as large as it is said; memory is what was ever written to it. It is used again, the last one that came
 * back first, and not cleared: so getting one costs the same for every size.
 */
export class SlotPools {
  /** Bytes of the longest data of each size. */
  readonly dataBytes: readonly number[];
  readonly #source: PoolSource;
  readonly #pools: (SlotPool | undefined)[] = [];

  constructor(dataBytes: readonly number[], source: PoolSource) {
    this.dataBytes = dataBytes;
    this.#source = source;
  }

  /** Bytes of the longest data. */
  get maxDataBytes(): number {
    return this.dataBytes[this.dataBytes.length - 1]!;
  }

  /** The size for data of so many bytes, at most `maxDataBytes`. */
  sizeFor(byteLength: number): number {
    let size = 0;
    while (this.dataBytes[size]! < byteLength) size++;
    return size;
  }

  /** The pool of a size: opened at the first call. */
  of(size: number): SlotPool {
    return this.#pools[size] ?? this.#open(size);
  }

  #open(size: number): SlotPool {
    const pool = this.#source.openPool(size);
    this.#pools[size] = pool;
    return pool;
  }

  /** A slot of a size, blocking while there is none. @throws HeddleError `ERR_HEDDLE_TIMED_OUT`; what `check` throws. */
  get(size: number, options: Pick<WaitOptions, 'timeout'> & SlotWait): number {
    try {
      return this.of(size).get(options);
    } catch (error) {
      throw this.#explained(size, error);
    }
  }

  /** The same on the event loop. @throws (rejects) as {@link get} does, and with `signal.reason`. */
  async getAsync(size: number, options: WaitAsyncOptions & SlotWait): Promise<number> {
    try {
      return await this.of(size).getAsync(options);
    } catch (error) {
      throw options.signal?.aborted ? error : this.#explained(size, error);
    }
  }

  /** That the time is up, in words of the context: its users know of no pool. Other errors as they are. */
  #explained(size: number, error: unknown): unknown {
    if (!(error instanceof HeddleError && error.code === 'ERR_HEDDLE_TIMED_OUT')) return error;
    const slots = this.of(size).maxElems;
    const bytes = this.dataBytes[size]!;
    return timedOut(
      `All ${slots} slots for data of up to ${bytes} bytes are out, as context.report() lists them`,
      { slots, bytes },
    );
  }

  /** Makes a slot this thread's that was given away. Returns its offset, -1 where it is not there to be had any more. */
  adopt(size: number, descriptor: number): number {
    try {
      return this.of(size).adopt(descriptor);
    } catch (error) {
      if (isStale(error)) return -1;
      throw error;
    }
  }

  /**
   * Puts a slot back that was given away and that nobody adopted. Of several that try, one does; the others, and
   * those who come after an adoption, do nothing.
   */
  takeBack(size: number, descriptor: number): void {
    if (this.adopt(size, descriptor) >= 0) this.of(size).put(descriptor);
  }

  /** Sends puts off that this thread keeps back. */
  flush(): void {
    for (const pool of this.#pools) pool?.flush();
  }

  /** Makes all that wait for slots look whether there is a point in it. 1 load a size. */
  wake(): void {
    for (let size = 0; size < this.dataBytes.length; size++) this.#source.wakePool(size);
  }
}
