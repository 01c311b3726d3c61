import type { Segment, StructureInfo } from '@heddle/memory';
import type { DebugParts } from './debug-policy.js';
import { type Chunk, Growth } from './growth.js';
import { type Guard, NO_GUARD } from './guard.js';
import { GuardedElements } from './guarded-elements.js';
import { ListPolicy } from './list-policy.js';
import { LockGuard } from './lock-guard.js';
import { mpoolLayout, shardLayout } from './mpool.layout.js';
import { OverlapGuard } from './overlap-guard.js';
import { OwnerPolicy } from './owner-policy.js';
import type { Policy } from './policy.js';
import { withLayers } from './policy-layers.js';
import { readHeader } from './pool-header.js';
import type { PoolPlan } from './pool-options.js';
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

  static readonly #known = new WeakMap<Segment, Map<number, PoolThread>>();

  /** This thread's part of a pool: made at the first call. */
  static of(segment: Segment, info: StructureInfo): PoolThread {
    const bySlot = PoolThread.#known.get(segment) ?? new Map<number, PoolThread>();
    PoolThread.#known.set(segment, bySlot);
    const thread = bySlot.get(info.slot) ?? new PoolThread(segment, info);
    bySlot.set(info.slot, thread);
    return thread;
  }

  private constructor(segment: Segment, info: StructureInfo) {
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
    return this.plan.policy !== 'owner' && this.plan.policy !== 'unsafe';
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

/** What guards the first list; undefined for a latch, as the others have it. */
export function guardOf(plan: PoolPlan, pool: PoolWords): Guard | undefined {
  const { words, regions, me, isAlive, platform } = pool;
  if (plan.policy === 'owner' || plan.policy === 'unsafe') return NO_GUARD;
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
