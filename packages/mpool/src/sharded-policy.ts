import { NONE } from './descriptor.js';
import { giveNow } from './give-now.js';
import type { Growth } from './growth.js';
import { noteLateRefusal } from './late-refusals.js';
import { generationBits, idOfLease, isHeldIn, LEASE, leaseWord } from './lease.js';
import { mpoolLayout } from './mpool.layout.js';
import type { Policy, SlowCounts } from './policy.js';
import { type PoolWords, SLEEPERS } from './pool-words.js';
import { Seat } from './seat.js';
import type { Shard } from './shard.js';
import { TurnEnd } from './turn-end.js';

const { closed, closedHint, wakeup } = mpoolLayout.offsets;

/** How often a put looks for the latch that governs a lease, while others hand the slot on. */
const GOVERNOR_TRIES = 8;

/**
 * A free list for each thread, and a magazine before it, so that most gets and puts touch no word that another
 * thread writes.
 *
 * ```
 *            get                                    put
 *             |                                      |
 *      [ magazine ]  up to n slots, cached    [ seat ]  up to n puts, not sent off
 *             ^        n at a time                   |  n at a time, each to the shard of who got it
 *             |                                      v
 *      [ shard of this thread ] <-------------- checked under the shard's latch: generation, and held
 *             ^
 *             | when it is empty, and where no other has any: growth
 *      [ shard 0: new slots ] [ shards of other threads ]
 * ```
 *
 * **States** of a slot are those of its lease word: free → cached → held → free. Cached and held by thread t are
 * governed by the latch of t's shard, and by nothing else: two threads that put one descriptor meet there, the first
 * has put it, the second is stale and logged. Cached → held is a plain store of the thread itself.
 *
 * **Ownership**: the magazine is private memory of its thread; that its slots are cached stands in their lease words.
 *
 * **Capacity**: what magazines and seats can hold back, `seats * 2 * n`, is counted beyond `maxElems`. So whenever
 * fewer than `maxElems` are out, a slot is on some list, and whoever puts it there wakes who sleeps.
 *
 * **Death** of a thread: its leases are freed one by one, the puts in its seat are sent off.
 *
 * **Cost**, in Atomics calls: `take` 0, and 2 once in n times; `give` 0, and 3 a shard once in n times.
 *
 * **When not to use it**: where elements are few and each one counts. A pool that is small for its number of threads
 * has n = 0: it is exact, and each operation takes a latch.
 */
export class ShardedPolicy implements Policy {
  readonly #pool: PoolWords;
  readonly #growth: Growth;
  readonly #shards: readonly Shard[];
  readonly #words: Int32Array;
  readonly #leases: number;
  readonly #links: number;
  readonly #id: number;
  readonly #ownShard: Shard;
  /** The number of shards is a power of two. */
  readonly #shardMask: number;
  readonly #slotBits: number;
  readonly #slotMask: number;
  readonly #generationMask: number;
  /** Lease words of this thread without their generation. */
  readonly #cached: number;
  readonly #held: number;
  readonly #seat: Seat | undefined;
  /** Slots that the magazine, and puts that the seat, may hold. */
  readonly #limit: number;
  /** Descriptors of cached slots. */
  readonly #magazine: Int32Array;
  #top = 0;
  /** A private copy of what is in the seat. */
  readonly #puts: Int32Array;
  #pending = 0;
  /**
   * Of each slot whose put is not sent off, the complement of its descriptor, else 0: so that this thread's second put
   * is refused at once. Memory that is not touched is not taken.
   */
  readonly #putOf: Int32Array;
  #counts: SlowCounts | undefined;
  /** How many pending puts ask for more than to be noted: 1, or the limit once the end of the turn is awaited. */
  #noticeAt = 1;
  readonly #turnEnd: TurnEnd;

  constructor(pool: PoolWords, growth: Growth, shards: readonly Shard[]) {
    this.#pool = pool;
    this.#growth = growth;
    this.#shards = shards;
    this.#words = pool.words;
    this.#leases = pool.regions.leases;
    this.#links = pool.regions.links;
    this.#id = pool.me.id;
    this.#shardMask = shards.length - 1;
    this.#ownShard = shards[this.#id & this.#shardMask]!;
    this.#generationMask = pool.format.generationMask;
    this.#slotBits = pool.format.slotBits;
    this.#slotMask = pool.format.slotMask;
    // The bits of a lease word without a generation.
    this.#cached = leaseWord(0, LEASE.cached, pool.me.id);
    this.#held = leaseWord(0, LEASE.held, pool.me.id);
    this.#seat = pool.shape.magazine > 0 ? Seat.take(pool) : undefined;
    this.#limit = this.#seat ? pool.shape.magazine : 0;
    this.#magazine = new Int32Array(this.#limit);
    this.#puts = new Int32Array(this.#limit);
    this.#putOf = new Int32Array(this.#limit > 0 ? pool.shape.slotCapacity : 0);
    this.#turnEnd = new TurnEnd(pool, () => {
      this.#noticeAt = 1;
      this.#sendOff();
    });
  }

  take(): number {
    if (this.#top === 0 || this.#words[closedHint] !== 0) return this.#takeSlow();
    return this.#pop();
  }

  #pop(): number {
    const descriptor = this.#magazine[--this.#top]!;
    this.#words[this.#leases + (descriptor & this.#slotMask)] =
      generationBits(descriptor >>> this.#slotBits) | this.#held;
    return descriptor;
  }

  #takeSlow(): number {
    this.#sendOff();
    if (this.#top > 0) {
      if (!this.#pool.isClosed()) return this.#pop();
      this.#emptyMagazine();
      return NONE;
    }
    for (;;) {
      const descriptor = this.#refill();
      // Each turn of this loop finds the pool grown by a chunk, of which there are so many.
      if (descriptor !== NONE || !this.#growth.grow()) return descriptor;
    }
  }

  /** Takes a slot, and fills the magazine, from the first shard that has any: its own, then the others. */
  #refill(): number {
    for (let i = 0; i <= this.#shardMask; i++) {
      const shard = this.#shards[(this.#id + i) & this.#shardMask]!;
      const descriptor = this.#refillFrom(shard);
      if (descriptor === NONE) continue;
      if (this.#counts && i > 0 && shard.number > 0) this.#counts.steals++;
      return descriptor;
    }
    return NONE;
  }

  #refillFrom(shard: Shard): number {
    shard.acquire();
    const descriptor = this.#words[closed] === 0 ? shard.lease(LEASE.held, this.#id) : NONE;
    while (descriptor !== NONE && this.#top < this.#limit) {
      const more = shard.lease(LEASE.cached, this.#id);
      if (more === NONE) break;
      this.#magazine[this.#top++] = more;
    }
    shard.release();
    return descriptor;
  }

  give(descriptor: number): boolean {
    const slot = descriptor & this.#slotMask;
    // A hint: the latch that governs the slot decides when the put is sent off.
    const lease = this.#words[this.#leases + slot]!;
    if (!isHeldIn(lease, descriptor >>> this.#slotBits)) return false;
    if (this.#limit === 0) return giveNow(this.#pool, this.#shards, descriptor);
    if (this.#putOf[slot] === ~descriptor) return false;
    this.#putOf[slot] = ~descriptor;
    const seat = this.#seat!;
    this.#puts[this.#pending] = descriptor;
    this.#words[seat.entries + this.#pending] = descriptor;
    this.#words[seat.count] = ++this.#pending;
    if (this.#pending >= this.#noticeAt || this.#sleepersHint()) this.#notice();
    return true;
  }

  /** A full batch, or somebody who sleeps; or the first put of a turn of the event loop. */
  #notice(): void {
    if (this.#pending === this.#limit || this.#sleepersHint()) {
      this.#sendOff();
    } else {
      this.#noticeAt = this.#limit;
      this.#turnEnd.arm();
    }
  }

  hasPut(descriptor: number): boolean {
    return this.#limit > 0 && this.#putOf[descriptor & this.#slotMask] === ~descriptor;
  }

  assertMayUse(): void {}

  countSlow(counts: SlowCounts): void {
    this.#counts = counts;
  }

  flush(): void {
    this.#sendOff();
    this.#emptyMagazine();
  }

  empty(): void {
    this.flush();
  }

  /** Sends the puts in the seat to the shards that govern them, one latch at a time. */
  #sendOff(): void {
    let left = this.#pending;
    if (left === 0) return;
    if (this.#counts) this.#counts.batches++;
    const most = left + GOVERNOR_TRIES;
    for (let tries = 0; left > 0; tries++) {
      const shard = this.#governorOf(this.#words[this.#leases + (this.#puts[0]! & this.#slotMask)]!);
      // A put whose governor changes time and again is one of a slot that others are using.
      left = this.#sendTo(shard, left, tries >= most);
    }
    this.#pending = 0;
    this.#words[this.#seat!.count] = 0;
    this.#pool.wakeSleepers();
  }

  /** Of the first `left` puts, does those that a shard governs. Returns how many are left. */
  #sendTo(shard: Shard, left: number, dropAll: boolean): number {
    const words = this.#words;
    const puts = this.#puts;
    let others = 0;
    let recycled = 0;
    shard.acquire();
    // What others wait for is not kept, and what is closed is not given out.
    const keep = words[closed] === 0 && !this.#sleepersHint();
    const room = keep && shard === this.#ownShard ? this.#limit - this.#top : 0;
    for (let i = 0; i < left; i++) {
      const descriptor = puts[i]!;
      const slot = descriptor & this.#slotMask;
      const generation = descriptor >>> this.#slotBits;
      if (
        recycled < room &&
        words[this.#leases + slot] === (generationBits(generation) | this.#held) &&
        words[this.#links + slot] === this.#id
      ) {
        // Got here and put here, the common case: straight into the magazine.
        const next = (generation + 1) & this.#generationMask;
        this.#putOf[slot] = 0;
        words[this.#leases + slot] = generationBits(next) | this.#cached;
        this.#magazine[this.#top++] = (next << this.#slotBits) | slot;
        recycled++;
      } else if (!this.#sendOne(shard, descriptor, dropAll)) {
        puts[others++] = descriptor;
      }
    }
    shard.countPut(recycled, 0);
    shard.release();
    return others;
  }

  /** Does a put, or drops it where it is stale. False where another shard governs it. The shard's latch is held. */
  #sendOne(shard: Shard, descriptor: number, drop: boolean): boolean {
    const words = this.#words;
    const slot = descriptor & this.#slotMask;
    const generation = descriptor >>> this.#slotBits;
    const lease = words[this.#leases + slot]!;
    const stale = drop || !isHeldIn(lease, generation);
    if (!stale && this.#governorOf(lease) !== shard) return false;
    this.#putOf[slot] = 0;
    if (!stale) {
      shard.countPut(1, words[this.#links + slot] === this.#id ? 0 : 1);
      shard.free(slot, (generation + 1) & this.#generationMask);
    } else if (words[closed] === 0) {
      // A closed pool has taken what was in seats by itself.
      noteLateRefusal(this.#pool, descriptor, this.#id);
    }
    return true;
  }

  #governorOf(lease: number): Shard {
    return this.#shards[idOfLease(lease) & this.#shardMask]!;
  }

  /** Gives cached slots back as they are: nobody has seen their descriptors. */
  #emptyMagazine(): void {
    if (this.#top === 0) return;
    const shard = this.#ownShard;
    shard.acquire();
    while (this.#top > 0) {
      const descriptor = this.#magazine[--this.#top]!;
      shard.free(descriptor & this.#slotMask, descriptor >>> this.#slotBits);
    }
    shard.release();
    this.#pool.wakeSleepers();
  }

  #sleepersHint(): boolean {
    return (this.#words[wakeup]! & SLEEPERS) !== 0;
  }
}
