import { HeddleError, Segment, type SegmentHandle } from '@heddle/memory';
import type { Closed, MpoolCloseOptions } from './close-options.js';
import { Mpool } from './mpool.js';
import { mpoolLayout } from './mpool.layout.js';
import type { MpoolOptions } from './pool-options.js';
import type { SlotHooks } from './slot-hooks.js';

export interface MpoolSetOptions extends Omit<MpoolOptions, 'elemSize'> {
  /** Sizes of elements in bytes, in any order: 1 to 32 different ones. */
  readonly sizes: readonly number[];
}

export interface MpoolSetHandle {
  readonly heddle: 'mpool-set';
  readonly segment: SegmentHandle;
  readonly name: string;
}

const MOST_SIZES = 32;
const SEPARATOR = '/';

/**
 * Pools of several sizes under one name.
 *
 * A request gets the smallest size that holds it; one that is equal to a size gets exactly that size, the largest
 * included. The pools are ordinary ones, named `name/size`.
 *
 * ```ts
 * const set = MpoolSet.create(segment, { name: 'messages', sizes: [64, 1024, 65_536] });
 * const pool = set.poolFor(1024); // elements of 1024 bytes
 * ```
 *
 * A descriptor belongs to its pool: pass the size class on with it.
 */
export class MpoolSet {
  readonly name: string;
  readonly segment: Segment;
  /** From the smallest size to the largest. */
  readonly pools: readonly Mpool[];
  readonly #attached: boolean;
  #disposed = false;

  private constructor(segment: Segment, name: string, pools: readonly Mpool[], attached = false) {
    this.segment = segment;
    this.name = name;
    this.pools = pools;
    this.#attached = attached;
  }

  /**
   * Makes a pool for each size, with the same options.
   *
   * @throws as `Mpool.create` does; RangeError for bad sizes. The pools made before a failure are closed.
   */
  static create(segment: Segment, { sizes, ...options }: MpoolSetOptions): MpoolSet {
    if (!Array.isArray(sizes)) throw new TypeError('sizes is a list of numbers');
    const sorted = [...new Set(sizes)].sort((a, b) => a - b);
    if (sorted.length === 0 || sorted.length > MOST_SIZES || sorted.length < sizes.length) {
      throw new RangeError(`A set of pools has 1 to ${MOST_SIZES} different sizes, not ${sizes.join(', ')}`);
    }
    const pools: Mpool[] = [];
    try {
      for (const elemSize of sorted) {
        pools.push(Mpool.create(segment, { ...options, elemSize, name: poolName(options.name, elemSize) }));
      }
    } catch (error) {
      for (const pool of pools) pool.close();
      throw error;
    }
    return new MpoolSet(segment, options.name, pools);
  }

  /** Opens a set by name. @throws HeddleError `ERR_HEDDLE_NAME_UNKNOWN`; else as `Mpool.open` does. */
  static open(segment: Segment, name: string, hooks: SlotHooks = {}): MpoolSet {
    return new MpoolSet(segment, name, poolsOf(segment, name, hooks));
  }

  /** Attaches to the segment of a handle and opens the set. */
  static from(handle: MpoolSetHandle, hooks: SlotHooks = {}): MpoolSet {
    if (typeof handle !== 'object' || handle === null || handle.heddle !== 'mpool-set') {
      throw new TypeError('MpoolSet.from takes what set.handle gave, passed through workerData or a message');
    }
    const segment = Segment.attach(handle.segment);
    try {
      return new MpoolSet(segment, handle.name, poolsOf(segment, handle.name, hooks), true);
    } catch (error) {
      segment.detach();
      throw error;
    }
  }

  get handle(): MpoolSetHandle {
    return { heddle: 'mpool-set', segment: this.segment.handle, name: this.name };
  }

  /**
   * The pool of the smallest elements that hold `byteLength` bytes.
   *
   * @throws RangeError where no size does.
   */
  poolFor(byteLength: number): Mpool {
    if (!Number.isSafeInteger(byteLength) || byteLength < 0) {
      throw new RangeError(`A size is a whole number of bytes from 0, not ${byteLength}`);
    }
    for (const pool of this.pools) if (pool.elemSize >= byteLength) return pool;
    throw new RangeError(
      `The largest elements of set "${this.name}" have ${this.pools.at(-1)!.elemSize} bytes, too few for ${byteLength}`,
    );
  }

  /** What each pool reports, as text. */
  report(): string {
    return this.pools.map((pool) => pool.report()).join('\n');
  }

  /**
   * Closes all pools, from the smallest size to the largest.
   *
   * @throws as `Mpool.close` does for the first that cannot be closed; the smaller ones are closed then.
   */
  close(options?: MpoolCloseOptions): Closed[] {
    return this.pools.map((pool) => pool.close(options));
  }

  [Symbol.dispose](): void {
    if (this.#disposed || !this.segment.attached) return;
    this.#disposed = true;
    for (const pool of this.pools) pool[Symbol.dispose]();
    if (this.#attached) this.segment.detach();
  }
}

function poolName(setName: string, elemSize: number): string {
  return `${setName}${SEPARATOR}${elemSize}`;
}

function poolsOf(segment: Segment, setName: string, hooks: SlotHooks): Mpool[] {
  const names = segment.directory
    .list()
    .filter(({ kind, name }) => kind === mpoolLayout.kind && /^\d+$/.test(sizeIn(name, setName)))
    .map(({ name }) => name);
  const pools: Mpool[] = [];
  try {
    for (const name of names) pools.push(Mpool.open(segment, name, hooks));
  } catch (error) {
    for (const pool of pools) pool[Symbol.dispose]();
    throw error;
  }
  if (pools.length > 0) return pools.sort((one, other) => one.elemSize - other.elemSize);
  throw new HeddleError('ERR_HEDDLE_NAME_UNKNOWN', `The segment has no set of pools named "${setName}"`, {
    name: setName,
  });
}

/** What follows the name of the set in the name of a pool; empty for the pools of others. */
function sizeIn(name: string, setName: string): string {
  const start = setName + SEPARATOR;
  return name.startsWith(start) ? name.slice(start.length) : '';
}
