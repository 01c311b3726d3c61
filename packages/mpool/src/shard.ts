import { NONE } from './descriptor.js';
import type { Guard } from './guard.js';
import { Latch } from './latch.js';
import { generationOfLease, idOfLease, LEASE, leaseWord, stateOfLease } from './lease.js';
import { linkWord } from './link-word.js';
import { shardLayout } from './mpool.layout.js';
import type { PoolWords } from './pool-words.js';
import { Returns } from './returns.js';
import { addWide, readWide } from './wide-word.js';

const { latch, head, putLow, acrossLow, recovered } = shardLayout.offsets;

/** What a shard counted, exact up to 2^53. */
export interface ShardCounts {
  readonly put: number;
  readonly putAcrossThreads: number;
  /** Came back from dead threads. */
  readonly recovered: number;
}

/**
 * A free list and the latch that guards it.
 *
 * **Layout**: {@link shardLayout}. The list is linked through the link words of the slots: next slot + 1, 0 at the
 * end. While a slot is off the list its link word says where it came from, `link-word.ts`.
 *
 * **Invariant**: a slot is on the list of shard n exactly if its lease word says free, shard n.
 *
 * **Ownership**: head, counters, and the lease words that say free, shard n, belong to the holder of the
 * latch. So does a lease word that says held by thread t, where n is the shard of t, as far as putting is
 * concerned: two threads that put one descriptor meet at this latch.
 *
 * **One commit**: getting and putting become true by the store of the lease word.
 *
 * **Death** of the latch's holder leaves the list half changed; the next holder makes it anew from the lease
 * words. The counters may have missed the batch that was being collected: `countMissedPuts`.
 */
export class Shard {
  readonly number: number;
  readonly #pool: PoolWords;
  readonly #words: Int32Array;
  readonly #base: number;
  readonly #links: number;
  readonly #leases: number;
  readonly #guard: Guard;
  readonly #repair: () => void;
  /** The puts that reach it by lanes. The latch must be held. */
  readonly returns: Returns;

  /**
   * @param guard what guards it, a {@link Latch} unless told otherwise.
   * @param alsoRepair repairs what else the guard guards, before the list.
   */
  constructor(pool: PoolWords, number: number, guard?: Guard, alsoRepair?: () => void) {
    this.number = number;
    this.#pool = pool;
    this.#words = pool.words;
    this.#base = pool.regions.shards + number * shardLayout.wordCount;
    this.#links = pool.regions.links;
    this.#leases = pool.regions.leases;
    const { words, me, isAlive, platform, patience } = pool;
    this.#guard = guard ?? new Latch(words, this.#base + latch, me.token, isAlive, platform, patience);
    this.returns = new Returns(pool, this);
    this.#repair = () => {
      alsoRepair?.();
      this.returns.skipDone();
      this.relink();
    };
  }

  /** Takes the latch, and repairs the shard where its last holder died. 1 CAS where nobody else has it. */
  acquire(): void {
    this.#guard.acquire(this.#repair);
  }

  /** 1 exchange. */
  release(): void {
    this.#guard.release();
  }

  /** What recovery does for a shard: repairs it where the dead thread had its latch, and wakes who waits for that. */
  recover(deadToken: number): void {
    this.#guard.recover(deadToken, this.#repair);
  }

  /**
   * Takes a free slot off the list and leases it. The latch must be held.
   *
   * @returns its descriptor, or {@link NONE}.
   */
  lease(state: number, threadId: number): number {
    const words = this.#words;
    const first = words[this.#base + head]!;
    if (first === 0) return NONE;
    const slot = first - 1;
    const next = words[this.#links + slot]!;
    const generation = generationOfLease(words[this.#leases + slot]!);
    words[this.#links + slot] = linkWord(threadId, threadId);
    words[this.#leases + slot] = leaseWord(generation, state, threadId);
    words[this.#base + head] = next;
    return this.#pool.format.descriptor(slot, generation);
  }

  /**
   * Frees a slot with the generation that it has from now on. The latch must be held, and govern the slot's lease.
   */
  free(slot: number, generation: number): void {
    this.#words[this.#leases + slot] = leaseWord(generation, LEASE.free, this.number);
    this.link(slot);
  }

  /** Puts a slot on the list whose lease word says already that it is free here. The latch must be held. */
  link(slot: number): void {
    const words = this.#words;
    words[this.#links + slot] = words[this.#base + head]!;
    words[this.#base + head] = slot + 1;
  }

  /** Counts slots put, and how many of them another thread got. The latch must be held. */
  countPut(amount: number, acrossThreads: number): void {
    addWide(this.#words, this.#base + putLow, amount);
    if (acrossThreads > 0) addWide(this.#words, this.#base + acrossLow, acrossThreads);
  }

  /** Counts slots that came back from a dead thread. The latch must be held. */
  countRecovered(amount: number): void {
    this.#words[this.#base + recovered]! += amount;
  }

  /** What it counted. The latch must be held. */
  counts(): ShardCounts {
    const words = this.#words;
    return {
      put: readWide(words, this.#base + putLow),
      putAcrossThreads: readWide(words, this.#base + acrossLow),
      recovered: words[this.#base + recovered]! >>> 0,
    };
  }

  /** The slots on the list, in order; stops where the list is longer than it can be. The latch must be held. */
  listed(): number[] {
    const slots: number[] = [];
    const words = this.#words;
    const most = this.#pool.shape.slotCapacity;
    for (let next = words[this.#base + head]!; next !== 0; next = words[this.#links + next - 1]!) {
      if (next < 1 || next > most || slots.length > most) break;
      slots.push(next - 1);
    }
    return slots;
  }

  /**
   * Makes the list anew from the lease words; those of other shards and threads are not its business. The latch must
   * be held.
   */
  relink(): void {
    const words = this.#words;
    words[this.#base + head] = 0;
    for (let slot = this.#pool.slotCount() - 1; slot >= 0; slot--) {
      const lease = this.#pool.lease(slot);
      if (stateOfLease(lease) === LEASE.free && idOfLease(lease) === this.number) this.link(slot);
    }
  }
}
