import {
  ALONE_NAME,
  type Alone,
  HeddleError,
  type RecoveryContext,
  registerKind,
  runBlocking,
  Segment,
  type SegmentHandle,
  type StructureInfo,
  timeoutOf,
  type WaitAsyncOptions,
  type WaitOptions,
} from '@heddle/memory';
import type { DescriptorFormat } from './descriptor.js';
import * as descriptors from './descriptor.js';
import { GetSteps } from './get-steps.js';
import * as handOver from './hand-over.js';
import { holdingAll } from './holding-all.js';
import { inHurry } from './latch.js';
import { noteRefusal } from './late-refusals.js';
import * as leases from './lease.js';
import { Lease } from './lease-object.js';
import { mpoolLayout } from './mpool.layout.js';
import { OpenPool } from './open-pool.js';
import { bodyByteLength, writeHeader } from './pool-header.js';
import { type MpoolOptions, planOf } from './pool-options.js';
import { segmentFor } from './pool-segment.js';
import { PoolThread } from './pool-thread.js';
import { makeGate } from './pool-users.js';
import { refusal } from './refusal.js';
import type { SlotHooks } from './slot-hooks.js';
import type { SlotOffsets } from './slot-offsets.js';

// A name of this module costs nothing in compiled code, an imported one is looked up and checked at each use.
const { NONE, NOT_OPEN } = descriptors;
const { adopt, detach } = handOver;
const { generationOfLease, isOut } = leases;

/** Options of a pool in a segment of its own. */
export type AloneOptions = Alone<MpoolOptions>;

/** How an element is waited for. */
export interface GetOptions extends Pick<WaitOptions, 'timeout'> {
  /**
   * Called before each sleep: what it throws ends the wait. For waits that lose their point by something that happens
   * elsewhere; who makes that happen calls {@link Mpool.wake} afterwards.
   */
  readonly check?: (() => void) | undefined;
}

export interface GetAsyncOptions extends WaitAsyncOptions, Pick<GetOptions, 'check'> {}

/** What another thread opens a pool with: plain and cloneable. */
export interface MpoolHandle {
  readonly heddle: 'mpool';
  readonly segment: SegmentHandle;
  readonly name: string;
}

/**
 * A pool of shared memory: elements of one size, got by one thread and put by any.
 *
 * A **descriptor** stands for an element: one number, which is passed between threads as it is. It names a slot and
 * the generation of it, so that it is refused after it was put, whoever puts it again.
 *
 * A descriptor that travels to another thread is the getter's until it is put, as far as deaths are concerned. With
 * {@link detach} and {@link adopt} it becomes the receiver's.
 *
 * ```ts
 * const pool = Mpool.create(segment, { name: 'blocks', elemSize: 65_536, maxElems: 64 });
 * const descriptor = pool.tryGet();
 * if (descriptor !== null) worker.postMessage(descriptor);
 * // worker
 * const pool = Mpool.from(workerData.pool);
 * parentPort.on('message', (descriptor) => {
 *   work(pool.bytes(descriptor));
 *   pool.put(descriptor);
 * });
 * ```
 *
 * **When not to use it**: for elements of many sizes, or for few and small ones that can be copied.
 */
export class Mpool extends OpenPool {
  /** Bytes of an element. */
  readonly elemSize: number;
  /** Elements that can be out at the same time. */
  readonly maxElems: number;
  readonly #format: DescriptorFormat;
  readonly #offsets: SlotOffsets;

  private constructor(segment: Segment, info: StructureInfo, hooks: SlotHooks, attached = false) {
    super(segment, info, hooks, attached);
    const { offsets, plan, pool } = this.thread;
    this.#format = pool.format;
    this.#offsets = offsets;
    this.elemSize = plan.elemSize;
    this.maxElems = plan.maxElems;
  }

  /**
   * Makes a pool in a segment. It takes no memory for elements before the first is got, and then chunk by chunk.
   *
   * @throws TypeError or RangeError for bad options; HeddleError `ERR_HEDDLE_NAME_TAKEN`,
   *   `ERR_HEDDLE_DIRECTORY_FULL`, `ERR_HEDDLE_OUT_OF_SPACE`. Nothing is left behind then.
   */
  static create(segment: Segment, options: MpoolOptions): Mpool;
  /**
   * Makes a pool in a segment of its own, for up to 64 threads, with space for all of its elements; where `maxElems` is
   * left out, of 64 MiB, or of as much as the first chunk takes. Ends with `Symbol.dispose`.
   */
  static create(options: AloneOptions): Mpool;
  static create(where: Segment | AloneOptions, inSegment?: MpoolOptions): Mpool {
    if (inSegment !== undefined) return Mpool.#create(where as Segment, inSegment, false);
    const options = { name: ALONE_NAME, ...(where as AloneOptions) };
    const segment = segmentFor(planOf(options), options.maxElems !== undefined);
    try {
      return Mpool.#create(segment, options, true);
    } catch (error) {
      segment.detach();
      throw error;
    }
  }

  static #create(segment: Segment, options: MpoolOptions, attached: boolean): Mpool {
    const plan = planOf(options);
    const made = {
      by: segment.thread.token,
      hasInit: options.init !== undefined,
      firstGeneration: segment.platform.random(),
    };
    makeGate(segment);
    const info = segment.createStructure({
      name: options.name,
      layout: mpoolLayout,
      byteLength: bodyByteLength(plan),
      init: ({ byteOffset, byteLength }) => writeHeader(segment.wordsAt(byteOffset, byteLength), plan, made),
    });
    return new Mpool(segment, info, options, attached);
  }

  /**
   * Opens a pool that some thread made.
   *
   * @param hooks what to do to slots, as at creation: needed where the pool was made with `init`.
   * @throws HeddleError `ERR_HEDDLE_NAME_UNKNOWN`, `ERR_HEDDLE_KIND_MISMATCH`, `ERR_HEDDLE_VERSION`; TypeError where
   *   the pool was made with `init` and none is given.
   */
  static open(segment: Segment, name: string, hooks: SlotHooks = {}): Mpool {
    return new Mpool(segment, segment.openStructure(name, mpoolLayout), hooks);
  }

  /**
   * Attaches this thread to the segment of a handle and opens the pool. Ends with `Symbol.dispose`, or with the
   * thread.
   *
   * @throws as {@link Segment.attach} and {@link open} do; TypeError where it is no handle of a pool.
   */
  static from(handle: MpoolHandle, hooks: SlotHooks = {}): Mpool {
    if (typeof handle !== 'object' || handle === null || handle.heddle !== 'mpool') {
      throw new TypeError('Mpool.from takes what pool.handle gave, passed through workerData or a message');
    }
    const segment = Segment.attach(handle.segment);
    try {
      return new Mpool(segment, segment.openStructure(handle.name, mpoolLayout), hooks, true);
    } catch (error) {
      segment.detach();
      throw error;
    }
  }

  /**
   * Makes whoever waits for an element of a pool look again, see {@link GetOptions}. Opens nothing and takes no
   * magazine; nothing where there is no such pool. 1 load; where somebody sleeps 1 CAS and 1 notify more.
   */
  static wake(segment: Segment, name: string): void {
    const info = segment.directory.find(name);
    if (info) PoolThread.visit(segment, info, ({ pool }) => pool.wakeSleepers());
  }

  /**
   * Brings back what a dead thread had of a pool, as the recovery of the segment does. For the recovery of a structure
   * that tells others what came back, and therefore has to come second. Can be repeated; nothing where there is no such
   * pool.
   *
   * @throws as `Kind.recover` may.
   */
  static recover(segment: Segment, name: string, dead: RecoveryContext['dead']): void {
    const info = segment.directory.find(name);
    if (info) recover({ segment, info, dead });
  }

  /** What another thread opens this pool with. */
  get handle(): MpoolHandle {
    return { heddle: 'mpool', segment: this.segment.handle, name: this.name };
  }

  /**
   * Gets an element; does not wait for one.
   *
   * @returns its descriptor, or null where all are out.
   * @throws HeddleError `ERR_HEDDLE_CLOSED`, `ERR_HEDDLE_DETACHED`.
   */
  tryGet(): number | null {
    this.segment.assertAttached();
    const descriptor = this.policy.take();
    if (descriptor !== NONE) return descriptor;
    this.assertOpen();
    return null;
  }

  /**
   * Gets an element; blocks while all are out, until any thread puts one.
   *
   * @throws HeddleError `ERR_HEDDLE_TIMED_OUT` when the time is up, `ERR_HEDDLE_MUST_NOT_BLOCK` on a thread that
   *   must not block, `ERR_HEDDLE_CLOSED` where the pool is closed or is being closed meanwhile.
   */
  get(options: GetOptions = {}): number {
    const { pool } = this.using();
    const steps = new GetSteps(pool, this.policy, options.check);
    return this.#got(runBlocking(steps, pool.words, pool.platform, timeoutOf(options)));
  }

  /**
   * Gets an element; waits on the event loop while all are out.
   *
   * @throws (rejects) with `signal.reason` when aborted, else as {@link get} does.
   */
  async getAsync(options: GetAsyncOptions = {}): Promise<number> {
    const { check } = options;
    return this.#got(await this.runAsync(({ pool, policy }) => new GetSteps(pool, policy, check), options));
  }

  /**
   * Gets up to `count` elements; does not wait. Their descriptors are pushed to `descriptors`.
   *
   * @returns how many it got: fewer where the others are out.
   * @throws RangeError for a bad count; else as {@link tryGet} does.
   */
  getMany(count: number, descriptors: number[]): number {
    if (!Number.isSafeInteger(count) || count < 0) {
      throw new RangeError(`count is a whole number from 0, not ${count}`);
    }
    for (let got = 0; got < count; got++) {
      const descriptor = this.tryGet();
      if (descriptor === null) return got;
      descriptors.push(descriptor);
    }
    return count;
  }

  /** {@link tryGet} as an object that can be released; null where all elements are out. */
  tryLease(): Lease | null {
    const descriptor = this.tryGet();
    return descriptor === null ? null : new Lease(this, descriptor);
  }

  /** {@link get} as an object that can be released. */
  lease(options?: Pick<WaitOptions, 'timeout'>): Lease {
    return new Lease(this, this.get(options));
  }

  /** The lease of a descriptor that came from another thread as a number. */
  leaseOf(descriptor: number): Lease {
    return new Lease(this, descriptor);
  }

  /**
   * Puts an element back, on any thread. Its descriptor, and views of it, must not be used any more.
   *
   * What another thread has put already may be found out only when this put is collected: `audit().putTwice` names
   * it. With `exact: true` it is refused here.
   *
   * The same holds for what was sent to another thread and not adopted yet: it is refused here, but where a batch takes
   * it, from a thread that has put that slot before, in an earlier generation; then when it is collected.
   *
   * @throws HeddleError `ERR_HEDDLE_STALE_DESCRIPTOR` for what was put already, `ERR_HEDDLE_BAD_DESCRIPTOR` for a
   *   number that this pool did not give, `ERR_HEDDLE_NOT_HOLDER` for one that was sent to another thread. Nothing
   *   has changed then.
   */
  put(descriptor: number): void {
    this.segment.assertAttached();
    if (typeof descriptor !== 'number' || !this.policy.give(descriptor)) this.#putSlow(descriptor);
  }

  /**
   * Puts several elements back and sends that off, so that every thread can get them. Where one is refused, those
   * before it are put, and those after it are not.
   *
   * @throws as {@link put} does.
   */
  putMany(descriptors: Iterable<number>): void {
    for (const descriptor of descriptors) this.put(descriptor);
    this.policy.flush();
  }

  /** A descriptor that was given away and not adopted, or one to refuse. */
  #putSlow(descriptor: number): void {
    const { pool } = this.using();
    if (this.#format.isDescriptor(descriptor) && adopt(pool, descriptor) && this.policy.give(descriptor))
      return;
    noteRefusal(pool);
    throw this.#refusal(descriptor, 'put');
  }

  /**
   * The memory of an element that is out. A new view each time; make it once, or use {@link offset}.
   *
   * @throws HeddleError `ERR_HEDDLE_STALE_DESCRIPTOR` or `ERR_HEDDLE_BAD_DESCRIPTOR` for what is not out.
   */
  override bytes(descriptor: number): Uint8Array<SharedArrayBuffer> {
    return new Uint8Array(this.segment.buffer, this.offset(descriptor), this.elemSize);
  }

  /**
   * Byte offset of an element in the segment, for code that has its own view of `segment.buffer`.
   *
   * @throws as {@link bytes} does. Cost: no Atomics call.
   */
  offset(descriptor: number): number {
    const { pool } = this.thread;
    const slot = pool.format.slotOf(descriptor);
    // A hint: whether the descriptor may be used is for the program to know. This catches most that may not.
    const lease = pool.words[pool.regions.leases + slot]!;
    if (
      !this.#format.isDescriptor(descriptor) ||
      generationOfLease(lease) !== pool.format.generationOf(descriptor) ||
      !isOut(lease) ||
      this.policy.hasPut(descriptor)
    ) {
      throw this.#refusal(descriptor, 'use');
    }
    return this.#offsets.of(slot);
  }

  /**
   * Whether an element is out in the generation that the descriptor names, with whichever thread. 1 load. It is as
   * long as its put is not sent off.
   */
  isOut(descriptor: number): boolean {
    const { pool } = this.using();
    if (!this.#format.isDescriptor(descriptor)) return false;
    const lease = pool.lease(pool.format.slotOf(descriptor));
    return isOut(lease) && generationOfLease(lease) === pool.format.generationOf(descriptor);
  }

  /**
   * Gives a descriptor away that is about to travel to another thread, so that it is not taken for this thread's
   * any more. The receiver calls {@link adopt}.
   *
   * @param to `segment.thread.token` of the receiver: from now on its death brings the element back, and this thread
   *   may end. Left out, anyone may adopt it, and this thread's death before that brings it back.
   * @throws HeddleError `ERR_HEDDLE_WRONG_THREAD` where the receiver is no more, or may not use a pool of policy `owner`:
   *   this thread holds it still;
   *   `ERR_HEDDLE_NOT_HOLDER` where this thread does not hold it, else as {@link put} does. Cost: 1 CAS; with a
   *   receiver two looks at the thread table.
   */
  detach(descriptor: number, to = 0): void {
    const { pool } = this.using();
    this.policy.assertMayUse();
    if (to !== 0) this.policy.assertMayUse(to);
    if (!this.#format.isDescriptor(descriptor) || this.policy.hasPut(descriptor)) {
      throw this.#refusal(descriptor, 'detach');
    }
    const came = detach(pool, descriptor, to);
    if (came === 'given') return;
    if (came === 'not held') throw this.#refusal(descriptor, 'detach');
    throw new HeddleError(
      'ERR_HEDDLE_WRONG_THREAD',
      `Descriptor ${descriptor} of pool "${this.name}" cannot be sent to thread ${to}, which is not attached: pass the segment.thread.token of a thread that lives`,
      { pool: this.name, descriptor, to },
    );
  }

  /**
   * Makes this thread the holder of a descriptor that another one detached.
   *
   * @returns what {@link offset} answers from now on.
   * @throws HeddleError `ERR_HEDDLE_NOT_HOLDER` where it was not detached, was sent to another thread, or was adopted
   *   already, `ERR_HEDDLE_STALE_DESCRIPTOR` where it came back because its sender died. Cost: 1 load, 1 CAS; where there
   *   are magazines 1 CAS more.
   */
  adopt(descriptor: number): number {
    const { pool } = this.using();
    this.policy.assertMayUse();
    if (this.#format.isDescriptor(descriptor) && adopt(pool, descriptor)) {
      return this.#offsets.of(pool.format.slotOf(descriptor));
    }
    throw this.#refusal(descriptor, 'adopt');
  }

  /** Sends off what this thread keeps back for later, so that other threads can get it. */
  flush(): void {
    this.using().policy.flush();
  }

  /**
   * Gives memory back to the segment: the chunks made last whose elements are all free. Elements that other threads
   * keep in their magazines are not.
   *
   * @returns bytes given back. Cost: like {@link audit}.
   */
  shrink(): number {
    const { growth, policy, shards } = this.using();
    policy.assertMayUse();
    policy.empty();
    const dropped = holdingAll(shards, () => growth.dropFreeChunks(shards));
    return dropped.reduce((sum, { elems }) => sum + elems * growth.stride, 0);
  }

  #refusal(descriptor: number, verb: string): HeddleError {
    const { pool } = this.using();
    const hasPut = this.#format.isDescriptor(descriptor) && this.policy.hasPut(descriptor);
    return refusal(pool, this.name, descriptor, verb, hasPut);
  }

  #got(descriptor: number): number {
    if (descriptor === NOT_OPEN) this.throwClosed();
    if (descriptor !== NONE) return descriptor;
    this.assertOpen();
    throw new HeddleError(
      'ERR_HEDDLE_TIMED_OUT',
      `No element of pool "${this.name}" was put in time: all ${this.maxElems} are out. pool.report() says who holds them`,
      { pool: this.name, maxElems: this.maxElems },
    );
  }
}

function recover({ segment, info, dead }: RecoveryContext): void {
  const visit = () => PoolThread.visit(segment, info, (thread) => thread.recover(dead));
  // Nobody comes again for a thread that leaves.
  if (dead.token === segment.thread.token) visit();
  else inHurry(visit);
}

registerKind({ layout: mpoolLayout, module: import.meta.url, recover });
