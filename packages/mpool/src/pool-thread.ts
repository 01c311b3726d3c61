import { HeddleError, type Segment, type StructureInfo } from '@heddle/memory';
import { closePool, noteCloser, releaseIfUnused } from './close-pool.js';
import type { DebugParts } from './debug-policy.js';
import { type Chunk, Growth } from './growth.js';
import { type Guard, NO_GUARD } from './guard.js';
import { GuardedElements } from './guarded-elements.js';
import { isOut } from './lease.js';
import { ListPolicy } from './list-policy.js';
import { LockGuard } from './lock-guard.js';
import { mpoolLayout, shardLayout } from './mpool.layout.js';
import { OverlapGuard } from './overlap-guard.js';
import { OwnerPolicy } from './owner-policy.js';
import { isGuarded, type Policy } from './policy.js';
import { withLayers } from './policy-layers.js';
import { readHeader } from './pool-header.js';
import type { PoolPlan } from './pool-options.js';
import { recoverPool } from './pool-recovery.js';
import { type PoolUsers, usersOf } from './pool-users.js';
import { PoolWords } from './pool-words.js';
import { segmentChunks } from './segment-chunks.js';
import { Shard } from './shard.js';
import { ShardedPolicy } from './sharded-policy.js';
import type { SlotHooks } from './slot-hooks.js';
import { SlotOffsets } from './slot-offsets.js';
import { UnsafePolicy } from './unsafe-policy.js';

/** What one thread has of one pool, however often it opens it. */
export class PoolThread {
  readonly segment: Segment;
  readonly info: StructureInfo;
  readonly plan: PoolPlan;
  readonly pool: PoolWords;
  readonly growth: Growth;
  readonly shards: readonly Shard[];
  readonly offsets: SlotOffsets;
  /** In debug mode. */
  readonly elements: GuardedElements | undefined;
  hooks: SlotHooks = {};
  #policy: Policy | undefined;

  /** What ends each object of this thread over the pool. */
  readonly members = new Set<() => void>();
  /** Asynchronous waits that are underway, which touch the pool when they go on, and closes. */
  waits = 0;
  /** Of these and of the blocking ones, how many wait until the pool can be closed. */
  private closings = 0;
  private readonly users: PoolUsers;
  /** Whether this thread is among the users. */
  private joined = true;

  static readonly #known = new WeakMap<Segment, Map<number, PoolThread>>();

  /**
   * Makes this thread a user of a pool.
   *
   * @throws HeddleError `ERR_HEDDLE_CLOSED` where it was closed meanwhile; TypeError as {@link use} does.
   */
  static join(segment: Segment, info: StructureInfo, hooks: SlotHooks): PoolThread {
    const known = PoolThread.#knownOf(segment, info);
    const users = known?.users ?? usersOf(segment, info);
    if (!users.enter()) throw poolClosed(info.name);
    const thread = known ?? new PoolThread(segment, info, users);
    PoolThread.#knownIn(segment).set(info.slot, thread);
    thread.joined = true;
    try {
      if (thread.pool.isClosed()) throw poolClosed(info.name);
      thread.use(hooks);
      return thread;
    } catch (error) {
      thread.#leaveUnlessUsed();
      throw error;
    }
  }

  /** Does something with a pool for which this thread need not be a user. Nothing where the pool was removed. */
  static visit(segment: Segment, info: StructureInfo, action: (thread: PoolThread) => void): void {
    const known = PoolThread.#knownOf(segment, info);
    if (known?.joined) {
      action(known);
      return;
    }
    const users = known?.users ?? usersOf(segment, info);
    if (!users.enter()) return;
    try {
      action(known ?? new PoolThread(segment, info, users));
    } finally {
      users.leave();
    }
  }

  static #knownIn(segment: Segment): Map<number, PoolThread> {
    const known = PoolThread.#known.get(segment) ?? new Map<number, PoolThread>();
    PoolThread.#known.set(segment, known);
    return known;
  }

  /** What this thread has of that pool, and not of one that was in its place before. */
  static #knownOf(segment: Segment, { slot, range }: StructureInfo): PoolThread | undefined {
    const known = PoolThread.#knownIn(segment).get(slot);
    const had = known?.info.range;
    return had?.index === range.index && had.generation === range.generation ? known : undefined;
  }

  private constructor(segment: Segment, info: StructureInfo, users: PoolUsers) {
    this.users = users;
    this.segment = segment;
    this.info = info;
    const words = segment.wordsAt(info.byteOffset, info.byteLength);
    this.plan = readHeader(words);
    const { shape, align } = this.plan;
    const { id, token } = segment.thread;
    const isAlive = (other: number) => segment.isAlive(other);
    this.pool = new PoolWords(words, shape, { id, token }, isAlive, segment.platform);
    this.growth = new Growth(this.pool, this.plan, segmentChunks(segment, align), {
      guard: guardOf(this.plan, this.pool),
      onCreated: (chunk) => this.#prepare(chunk),
    });
    const others = Array.from({ length: shape.shards - 1 }, (_, i) => new Shard(this.pool, i + 1));
    this.shards = [this.growth.shard, ...others];
    this.offsets = new SlotOffsets(this.growth, words);
    if (this.plan.guardBytes === 0) return;
    const bytesAt = (byteOffset: number, byteLength: number) => segment.bytesAt(byteOffset, byteLength);
    this.elements = new GuardedElements(bytesAt, (slot) => this.offsets.of(slot), this.plan);
  }

  /** A wait, or what else must not be cut short, is over. */
  endWait(): void {
    this.waits--;
    if (this.members.size === 0) this.#leaveUnlessUsed();
  }

  /** Ends the use of one object; of the thread, with the last one. */
  dispose(member: () => void): void {
    this.members.delete(member);
    this.policy.empty();
    this.#leaveUnlessUsed();
  }

  #leaveUnlessUsed(): void {
    if (this.endIfClosed() || this.members.size > 0 || this.waits > 0) return;
    this.joined = false;
    this.users.leave();
  }

  /**
   * Where the pool is closed and nothing is out, this thread uses it no more: it was told so. The memory of a pool goes
   * back when all were.
   *
   * @returns whether this thread has ended.
   */
  endIfClosed(): boolean {
    if (!this.joined || this.waits > 0 || !this.pool.isClosed()) return !this.joined;
    this.policy.empty();
    if (releaseIfUnused(this) !== 'out') this.end();
    return !this.joined;
  }

  /** Ends all objects of this thread over the pool. */
  end(): void {
    for (const member of this.members) member();
    this.members.clear();
    if (PoolThread.#knownOf(this.segment, this.info) === this) {
      PoolThread.#knownIn(this.segment).delete(this.info.slot);
    }
    this.joined = false;
    this.users.leave();
  }

  /** Brings back what a dead thread had. For this thread itself it is the end. */
  recover(dead: { readonly id: number; readonly token: number }): void {
    // Where nothing guards the list, nobody but the thread that made the pool has any part in it.
    if (this.guarded || this.owner === dead.token) recoverPool(this.pool, this.shards, dead);
    this.users.clear(dead.id);
    releaseIfUnused(this);
    if (dead.token === this.pool.me.token) this.end();
  }

  /** Closes the pool for all threads. False where something is out, and it is not forced. */
  close(force: boolean): boolean {
    this.policy.empty();
    // What ends an element may end the use of the pool through all objects: not before it is closed.
    this.waits++;
    try {
      return closePool(this, () => this.#cleanUp(), force);
    } finally {
      this.endWait();
    }
  }

  /** From now on nothing is given out, until as many {@link endClosing}. */
  beginClosing(): void {
    if (this.closings === 0) noteCloser(this.pool, this.shards, this.pool.me.id, true);
    this.closings++;
  }

  /** This thread does not wait any more until the pool can be closed. */
  endClosing(): void {
    this.closings--;
    if (this.joined && this.closings === 0) noteCloser(this.pool, this.shards, this.pool.me.id, false);
  }

  /**
   * Runs while the pool is closed and its memory is still there. Elements that are out are their holders'.
   *
   * @throws what `cleanup` threw first, after all are ended.
   */
  #cleanUp(): void {
    const { cleanup } = this.hooks;
    if (!cleanup) return;
    const failures: unknown[] = [];
    const slots = this.pool.slotCount();
    for (let slot = 0; slot < slots; slot++) {
      if (isOut(this.pool.lease(slot))) continue;
      try {
        cleanup(this.bytesAt(this.offsets.of(slot)));
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }

  /** Ids of the other threads that use the pool. */
  otherUsers(): number[] {
    return this.users.ids().filter((id) => id !== this.pool.me.id);
  }

  /** Makes new elements ready, before anyone can get them. */
  #prepare({ elems, byteOffset }: Chunk): void {
    const { init } = this.hooks;
    if (!init && !this.elements) return;
    for (let i = 0; i < elems; i++) {
      const at = byteOffset + i * this.growth.stride;
      this.elements?.guard(at);
      init?.(this.bytesAt(at));
    }
  }

  /** The element at a byte offset. A new view each time. */
  bytesAt(byteOffset: number): Uint8Array<SharedArrayBuffer> {
    return new Uint8Array(this.segment.buffer, byteOffset, this.plan.elemSize);
  }

  /**
   * Takes over what this thread does to slots.
   *
   * @throws TypeError where the pool was made with `init` and this thread has none: it could not grow the pool.
   */
  use(hooks: SlotHooks): void {
    const needed = this.pool.words[mpoolLayout.offsets.hasInit] !== 0;
    if (needed && !hooks.init && !this.hooks.init) {
      throw new TypeError(
        `Pool "${this.info.name}" was made with init: give the same one to Mpool.open or Mpool.from`,
      );
    }
    const { init, cleanup, describe } = { ...this.hooks, ...hooks };
    this.hooks = { ...(init && { init }), ...(cleanup && { cleanup }), ...(describe && { describe }) };
  }

  /** Token of the thread that made the pool. */
  get owner(): number {
    return this.pool.words[mpoolLayout.offsets.owner]!;
  }

  /** Whether several threads may use it. */
  get guarded(): boolean {
    return isGuarded(this.plan.policy);
  }

  /** Made when it is first used: a thread that only recovers others takes no seat. */
  get policy(): Policy {
    const { plan, pool } = this;
    this.#policy ??= withLayers(
      policyOf(plan, pool, this.growth, this.shards),
      plan,
      pool,
      this.#debugParts(),
    );
    return this.#policy;
  }

  #debugParts(): DebugParts | undefined {
    const { elements } = this;
    if (!elements) return undefined;
    const prepare = (slot: number) => this.hooks.init?.(this.bytesAt(this.offsets.of(slot)));
    return { poolName: this.info.name, elements, prepare };
  }
}

/** @param isClosing whether it is not closed yet, but somebody waits until it can be. */
export function poolClosed(name: string, isClosing = false): HeddleError {
  const what = isClosing ? 'is being closed by a thread that waits until all of it is put' : 'was closed';
  return new HeddleError('ERR_HEDDLE_CLOSED', `Pool "${name}" ${what}`, { pool: name });
}

/** What guards the first list; undefined for a latch, as the others have it. */
export function guardOf(plan: PoolPlan, pool: PoolWords): Guard | undefined {
  const { words, regions, me, isAlive, platform } = pool;
  if (!isGuarded(plan.policy)) return NO_GUARD;
  if (plan.policy === 'serialized') {
    return new OverlapGuard(words, regions.shards + shardLayout.offsets.latch, me.token, isAlive, platform);
  }
  if (plan.policy === 'sharded' || plan.lock === 'latch') return undefined;
  return new LockGuard(plan.lock, words.subarray(regions.lock, regions.end), me.token, platform);
}

export function policyOf(plan: PoolPlan, pool: PoolWords, growth: Growth, shards: readonly Shard[]): Policy {
  if (plan.policy === 'sharded') return new ShardedPolicy(pool, growth, shards);
  if (plan.policy === 'unsafe') return new UnsafePolicy(pool, growth);
  if (plan.policy === 'owner') return new OwnerPolicy(pool, growth);
  return new ListPolicy(pool, growth);
}
