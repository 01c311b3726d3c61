import { type Platform, realPlatform } from '@heddle/memory';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { auditPool } from './audit.js';
import { NONE } from './descriptor.js';
import { type ChunkSource, Growth } from './growth.js';
import { adopt, detach } from './hand-over.js';
import { holdingAll } from './holding-all.js';
import { generationOfLease, stateNameOf } from './lease.js';
import { mpoolLayout } from './mpool.layout.js';
import type { Policy } from './policy.js';
import { withLayers } from './policy-layers.js';
import { bodyByteLength, writeHeader } from './pool-header.js';
import { type MpoolOptions, type PoolPlan, planOf } from './pool-options.js';
import { recoverPool } from './pool-recovery.js';
import { guardOf, policyOf } from './pool-thread.js';
import { PoolWords } from './pool-words.js';
import { Shard } from './shard.js';

const { everSlots } = mpoolLayout.offsets;

/** Threads of a random sequence; those that recover are others. */
const THREADS = 3;
const RECOVERER = 9;

class Killed extends Error {}

/** What one step does: `index` chooses among the descriptors that there are, a kill comes after so many Atomics calls. */
const step = fc.record({
  thread: fc.nat(THREADS - 1),
  action: fc.constantFrom(
    'get',
    'get',
    'put',
    'put',
    'put',
    'put again',
    'put any',
    'detach',
    'adopt',
    'flush',
    'shrink',
    'audit',
  ),
  index: fc.nat(),
  to: fc.nat(THREADS),
  killAfter: fc.oneof(
    { weight: 30, arbitrary: fc.constant(Number.POSITIVE_INFINITY) },
    { weight: 1, arbitrary: fc.nat(30) },
  ),
});

type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

/** One thread's part of a pool. */
interface Part {
  readonly token: number;
  readonly pool: PoolWords;
  readonly growth: Growth;
  readonly shards: readonly Shard[];
  readonly policy: Policy;
  /** Atomics calls until it dies. */
  readonly life: { left: number };
}

/** A pool that several threads use, all in this one, where each may die before any Atomics call. */
class Scene {
  readonly #plan: PoolPlan;
  readonly #words: Int32Array;
  readonly #alive = new Set<number>();
  /** Memory that was taken, and whether it was not given back. */
  readonly #ranges: boolean[] = [];
  readonly #parts: Part[] = [];
  /** Descriptors that are out, with the token of the thread whose death brings them back; and those that were. */
  readonly #out = new Map<number, number>();
  readonly #past: number[] = [];
  #generation = 0;

  constructor(options: Partial<MpoolOptions>) {
    this.#plan = planOf({ name: 'p', elemSize: 8, ...options });
    this.#words = new Int32Array(new SharedArrayBuffer(bodyByteLength(this.#plan)));
    // So that generations pass the last one.
    writeHeader(this.#words, this.#plan, { by: 1, firstGeneration: -2 });
    for (let id = 1; id <= THREADS; id++) this.#parts.push(this.#part(id));
  }

  #part(id: number): Part {
    const token = id + 1024 * ++this.#generation;
    this.#alive.add(token);
    const plan = this.#plan;
    const life = { left: Number.POSITIVE_INFINITY };
    const isAlive = (other: number) => this.#alive.has(other);
    const pool = new PoolWords(this.#words, plan.shape, { id, token }, isAlive, platformOf(life));
    const growth = new Growth(pool, plan, this.#source(), { guard: guardOf(plan, pool) });
    const others = Array.from({ length: plan.shape.shards - 1 }, (_, i) => new Shard(pool, i + 1));
    const shards = [growth.shard, ...others];
    const policy = withLayers(policyOf(plan, pool, growth, shards), plan, pool);
    return { token, pool, growth, shards, policy, life };
  }

  #source(): ChunkSource {
    return {
      allocate: (byteLength) => {
        const index = this.#ranges.push(true) - 1;
        return { index, generation: 0, byteOffset: 0, byteLength };
      },
      keep() {},
      isLive: ({ index }) => this.#ranges[index] === true,
      discard: ({ index }) => {
        this.#ranges[index] = false;
      },
    };
  }

  /** Does a step; where its thread dies, another one takes its id. */
  run({ killAfter, ...step }: Step): void {
    const part = this.#parts[step.thread]!;
    const descriptor = this.#chosen(part, step);
    part.life.left = killAfter;
    try {
      this.#act(part, step, descriptor);
      part.life.left = Number.POSITIVE_INFINITY;
    } catch (error) {
      if (!(error instanceof Killed)) throw error;
      this.#bury(part, step);
      this.#look(descriptor);
    }
  }

  /** Descriptors that the thread of a step may do that to; one of them. */
  #chosen(part: Part, { action, index }: Omit<Step, 'killAfter'>): number | undefined {
    const { format } = part.pool;
    if (!/put|detach|adopt/.test(action)) return undefined;
    if (action === 'put any')
      return index % 2 ? index | 0 : format.descriptor(index & format.slotMask, index >>> 5);
    const stateOf = (descriptor: number) => stateNameOf(part.pool.lease(format.slotOf(descriptor)));
    const list =
      action === 'put again'
        ? this.#past.slice(-12)
        : [...this.#out.keys()].filter((descriptor) => {
            const state = stateOf(descriptor);
            const isMine = this.#out.get(descriptor) === part.token;
            if (action === 'detach') return state === 'held' && isMine;
            if (action === 'adopt') return state === 'detached' || (state === 'sent' && isMine);
            return state !== 'sent' || isMine;
          });
    return list[index % list.length];
  }

  #act(part: Part, { action, to }: Omit<Step, 'killAfter'>, descriptor: number | undefined): void {
    const { growth, policy, pool, shards } = part;
    if (action === 'get') this.#get(part);
    else if (action === 'flush') policy.flush();
    else if (action === 'audit') this.#look();
    else if (action === 'shrink') {
      policy.empty();
      holdingAll(shards, () => growth.dropFreeChunks(shards));
    } else if (descriptor !== undefined) {
      const isOut = this.#out.has(descriptor);
      if (action === 'detach') {
        const receiver = this.#parts[to]?.token ?? 0;
        expect(detach(pool, descriptor, receiver)).toBe('given');
        this.#out.set(descriptor, receiver || part.token);
      } else if (action === 'adopt') {
        expect(adopt(pool, descriptor)).toBe(true);
        this.#out.set(descriptor, part.token);
      } else if (action === 'put') {
        expect(put(part, descriptor)).toBe(true);
        this.#isBack(descriptor);
      } else if (!isOut) policy.give(descriptor);
    }
  }

  #get({ policy, pool, token }: Part): void {
    const descriptor = policy.take();
    if (descriptor === NONE) {
      expect(this.#out.size).toBeGreaterThanOrEqual(this.#plan.maxElems);
      return;
    }
    const { format } = pool;
    expect([...this.#out.keys()].map((other) => format.slotOf(other))).not.toContain(
      format.slotOf(descriptor),
    );
    this.#out.set(descriptor, token);
  }

  #isBack(descriptor: number): void {
    this.#out.delete(descriptor);
    this.#past.push(descriptor);
  }

  /** Recovers a dead thread, on one that may die of it too. */
  #bury(dead: Part, { index, thread }: Omit<Step, 'killAfter'>): void {
    this.#alive.delete(dead.token);
    const idOfDead = dead.pool.me;
    const first = this.#part(RECOVERER);
    const gone = [idOfDead];
    first.life.left = index % 400;
    try {
      recoverPool(first.pool, first.shards, idOfDead);
      first.life.left = Number.POSITIVE_INFINITY;
    } catch (error) {
      if (!(error instanceof Killed)) throw error;
    }
    this.#alive.delete(first.token);
    gone.push(first.pool.me);
    const second = this.#part(RECOVERER + 1);
    for (const me of gone) recoverPool(second.pool, second.shards, me);
    this.#alive.delete(second.token);
    for (const [descriptor, token] of this.#out) if (token === dead.token) this.#isBack(descriptor);
    this.#parts[thread] = this.#part(idOfDead.id);
  }

  /** Every slot is in one place, and those are out that should be. What a thread did when it died may have happened. */
  #look(unsure?: number): void {
    const { pool, shards } = this.#parts[0]!;
    const audit = auditPool(pool, shards);
    const { consistent, outstanding, free, cached, unsent, capacity, holders } = audit;
    expect(consistent).toBe(true);
    expect(outstanding + free + cached + unsent).toBe(capacity);
    expect(audit.put - unsent + audit.recovered).toBe(this.#generations());
    const found = holders.find(({ descriptor }) => descriptor === unsure);
    if (unsure !== undefined && this.#out.has(unsure)) {
      const holder = this.#parts.find((part) => part.pool.me.id === found?.threadId);
      if (holder) this.#out.set(unsure, holder.token);
      else this.#isBack(unsure);
    }
    expect(new Set(holders.map(({ descriptor }) => descriptor))).toEqual(new Set(this.#out.keys()));
  }

  /** How often slots came back: each time the generation goes up by one. */
  #generations(): number {
    const { format, regions } = this.#parts[0]!.pool;
    const ever = this.#words.subarray(regions.leases, regions.leases + this.#words[everSlots]!);
    return ever.reduce((sum, lease) => sum + ((generationOfLease(lease) + 2) & format.generationMask), 0);
  }

  /** Puts all, and lets one thread have what all may have. */
  end(): void {
    for (const [descriptor, token] of this.#out) {
      expect(put(this.#parts.find((part) => part.token === token)!, descriptor)).toBe(true);
      this.#isBack(descriptor);
    }
    this.#look();
    const got = Array.from({ length: this.#plan.maxElems }, () => this.#parts[0]!.policy.take());
    expect(got).not.toContain(NONE);
    expect(new Set(got).size).toBe(got.length);
  }
}

function platformOf(life: { left: number }): Platform {
  type Call = (...args: unknown[]) => number;
  const counted =
    (call: Call) =>
    (...args: unknown[]) => {
      if (life.left-- <= 0) throw new Killed();
      return call(...args);
    };
  const names = [
    'load',
    'store',
    'add',
    'sub',
    'and',
    'or',
    'exchange',
    'compareExchange',
    'notify',
  ] as const;
  const counting = names.map((name) => [name, counted(Atomics[name] as unknown as Call)]);
  const atomics = { ...Object.fromEntries(counting), wait: () => 'timed-out' };
  return { ...realPlatform, atomics, schedule: () => () => {} };
}

function put({ policy, pool }: Part, descriptor: number): boolean {
  return policy.give(descriptor) || (adopt(pool, descriptor) && policy.give(descriptor));
}

const variants: Partial<MpoolOptions>[] = [
  { magazine: 2, threads: THREADS },
  { magazine: 1, threads: THREADS - 1 },
  { magazine: 3, threads: THREADS, checked: 'exact', counters: true },
  { exact: true },
  { policy: 'locked' },
];

describe.each(variants)('any sequence on three threads that die, on a pool of %o', (variant) => {
  it('loses nothing, gives nothing out twice, and reaches its capacity (PL-10)', () => {
    fc.assert(
      fc.property(
        fc.array(step, { minLength: 200, maxLength: 400 }),
        fc.integer({ min: 1, max: 12 }),
        fc.nat(),
        (steps, maxElems, more) => {
          const scene = new Scene({ ...variant, maxElems, elemsPerChunk: 1 + (more % maxElems) });
          for (const step of steps) scene.run(step);
          scene.end();
        },
      ),
      { numRuns: process.env['HEDDLE_STRESS'] === 'long' ? 5000 : 100 },
    );
  });
});
