import { isStall } from '@heddle/memory';
import * as descriptors from './descriptor.js';
import { giveNow } from './give-now.js';
import type { Growth } from './growth.js';
import { Lane } from './lane.js';
import * as leases from './lease.js';
import * as links from './link-word.js';
import { mpoolLayout } from './mpool.layout.js';
import type { Policy, SlowCounts } from './policy.js';
import type { PoolWords } from './pool-words.js';
import * as poolWords from './pool-words.js';
import type { Magazine } from './returns.js';
import { Seat } from './seat.js';
import type { Shard } from './shard.js';
import { TurnEnd } from './turn-end.js';

// A name of this module costs nothing in compiled code, an imported one is looked up and checked at each use.
const { NONE } = descriptors;
const { descriptorOfLease, generationBits, LEASE, leaseWord, stateOfLease } = leases;
const { holderHintOf } = links;
const { SLEEPERS } = poolWords;
const { closed, closedHint, wakeup } = mpoolLayout.offsets;

/** Bits of the largest descriptor. */
const MOST = 2 ** 31 - 1;
const SIGN = -(2 ** 31);

const NONE_YET: Int32Array = new Int32Array(0);

/**
 * A free list for each thread, a magazine before it, and return lanes to it, so that most gets and puts touch no word
 * that another thread writes.
 *
 * ```
 *            get                              put
 *             |                    got here /     \ got elsewhere
 *      [ magazine ]                 [ seat ]       [ lane to the shard of who got it ]
 *             ^  up to n, cached        |  up to n, unsent      |  published up to n at a time
 *             |                         v                       v
 *             +------------- collected under the shard's latch: generation, and held
 *             |                                                 |  where the lane is full, or the magazine
 *      [ shard of this thread ] <-------------------------------+
 *             ^
 *             | when both are empty, and where no other has any: growth
 *      [ shard 0: new slots ] [ shards of other threads, and the lanes to them ]
 * ```
 *
 * **States** of a slot are those of its lease word: free → cached → held → free or cached. Cached and held by thread t
 * are governed by the latch of t's shard, and by nothing else: two threads that put one descriptor meet there, the put
 * that is collected first has put it, the other is stale and logged. Cached → held is a plain store of the thread itself.
 *
 * **Who collects** is whoever holds the latch: the thread itself when its magazine is empty, another one that needs slots,
 * a putter that finds its lane full, recovery, audit, close. None of them waits for the thread whose shard it is.
 *
 * **What a put looks at**: of what was got here, the lease word. Of what was got elsewhere only what this thread itself
 * knows: a descriptor that is newer than what it last put of that slot goes into the lane. Anything else is compared with
 * the lease word.
 *
 * **Ownership**: the magazine is private memory of its thread; that its slots are cached stands in their lease words.
 *
 * **Capacity**: what magazines and unsent puts can hold back, `seats * 2 * n`, is counted beyond `maxElems`. So whenever
 * fewer than `maxElems` are out, a slot is on some list or published in some lane, and whoever puts it there wakes who
 * sleeps.
 *
 * **Death** of a thread: its leases are freed one by one, its unsent puts are sent off.
 *
 * **Cost**, in Atomics calls: `take` 0, and 3 once in n times, 2 more a lane that has something; `give` 0, and once in n
 * times 3 for what was got here, 2 and a lane more than one for what was got elsewhere.
 *
 * **When not to use it**: where elements are few and each one counts. A pool that is small for its number of threads
 * has n = 0: it is exact, and each operation takes a latch.
 */
export class ShardedPolicy implements Policy {
  readonly #pool: PoolWords;
  readonly #growth: Growth;
  readonly #shards: readonly Shard[];
  readonly #ownShard: Shard;
  readonly #seat: Seat | undefined;
  // Fields that begin with a value of their own kind: the engine checks the kind of others at each use.
  #words: Int32Array = NONE_YET;
  #leases = 0;
  #links = 0;
  #id = 0;
  #ownNumber = 0;
  /** The number of shards is a power of two. */
  #shardMask = 0;
  #slotBits = 0;
  #slotMask = 0;
  /** Lease word of this thread without its generation. */
  #held = 0;
  /** Descriptors of cached slots. */
  #magazine: Int32Array = NONE_YET;
  #top = 0;
  /** Slots that the magazine, and puts that the seat, may hold. */
  #limit = 0;
  #caches: Magazine = { slots: NONE_YET, marks: NONE_YET };
  /** Where in the seat puts are that the own shard governs, and how many stands. */
  #puts = 0;
  #countIndex = 0;
  #ownPuts = 0;
  /** How many puts may wait in the seat, less those that wait in lanes. */
  #ownLimit = 0;
  /**
   * Of each slot what this thread did with it last: its descriptor since it was cached here, the same with the sign set
   * since it was put here, 0 for nothing. What is put and is neither got here nor newer than what was put here is looked
   * at closely. Memory that is not touched is not taken.
   */
  #marks: Int32Array = NONE_YET;
  /** The lanes of this thread by their shards, made when they are first used, and the same in a row. */
  readonly #lanes: (Lane | undefined)[];
  readonly #opened: Lane[] = [];
  #counts: SlowCounts | undefined;
  /**
   * How many puts in the seat ask for more than to be noted: as many as may wait, once the end of the turn is awaited;
   * before that each.
   */
  #noticeAt = 0;
  #awaitsTurnEnd = false;
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
    this.#ownNumber = this.#id & this.#shardMask;
    this.#ownShard = shards[this.#ownNumber]!;
    this.#slotBits = pool.format.slotBits;
    this.#slotMask = pool.format.slotMask;
    this.#held = leaseWord(0, LEASE.held, pool.me.id);
    this.#lanes = Array.from({ length: shards.length }, () => undefined);
    this.#turnEnd = new TurnEnd(pool, () => {
      this.#awaitsTurnEnd = false;
      this.#noticeAt = 0;
      this.#trySendOff();
    });
    this.#seat = pool.shape.magazine > 0 ? Seat.take(pool) : undefined;
    if (!this.#seat) return;
    this.#limit = this.#ownLimit = pool.shape.magazine;
    this.#magazine = new Int32Array(this.#limit);
    this.#puts = this.#seat.entries;
    this.#countIndex = this.#seat.count;
    this.#marks = new Int32Array(pool.shape.slotCapacity);
    this.#caches = { slots: this.#magazine, marks: this.#marks };
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
      if (this.#pool.isOpen()) return this.#pop();
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

  /** What is underway to the shard first: so lanes do not fill up while its list is long. */
  #refillFrom(shard: Shard): number {
    shard.acquire();
    let descriptor = NONE;
    if (this.#words[closed] === 0) {
      if (this.#limit > 0) this.#top = shard.returns.collect(this.#caches, this.#top);
      else shard.returns.drain();
      descriptor = this.#top > 0 ? this.#pop() : this.#takeListed(shard);
    }
    shard.release();
    return descriptor;
  }

  #takeListed(shard: Shard): number {
    const descriptor = shard.lease(LEASE.held, this.#id);
    if (descriptor !== NONE && this.#limit > 0) this.#marks[descriptor & this.#slotMask] = descriptor;
    while (descriptor !== NONE && this.#top < this.#limit) {
      const more = shard.lease(LEASE.cached, this.#id);
      if (more === NONE) break;
      this.#marks[more & this.#slotMask] = this.#magazine[this.#top++] = more;
    }
    return descriptor;
  }

  give(descriptor: number): boolean {
    const slot = descriptor & this.#slotMask;
    if (
      this.#marks[slot] !== descriptor ||
      this.#words[this.#leases + slot] !== (generationBits(descriptor >>> this.#slotBits) | this.#held)
    ) {
      return this.#giveOther(descriptor);
    }
    // Got here and put here, the common case.
    this.#giveOwn(descriptor, slot);
    return true;
  }

  #giveOwn(descriptor: number, slot: number): void {
    // Where the last puts could not be sent off.
    if (this.#ownPuts === this.#ownLimit) this.#sendOff();
    this.#marks[slot] = descriptor | SIGN;
    this.#words[this.#puts + this.#ownPuts] = descriptor;
    this.#words[this.#countIndex] = ++this.#ownPuts;
    if (this.#ownPuts >= this.#noticeAt || this.#sleepersHint()) this.#notice();
  }

  /** A full batch, or somebody who sleeps; or the first put of a turn of the event loop. */
  #notice(): void {
    if (this.#ownPuts === this.#ownLimit || this.#sleepersHint()) {
      this.#trySendOff();
    } else {
      this.#noticeAt = this.#ownLimit;
      this.#awaitsTurnEnd = true;
      this.#turnEnd.arm();
    }
  }

  /** Another thread got it, or it is none to put. */
  #giveOther(descriptor: number): boolean {
    const slot = descriptor & this.#slotMask;
    const newer = (descriptor & MOST) === descriptor && (descriptor | SIGN) > this.#marks[slot]!;
    if (!newer && !this.#mayGive(descriptor)) {
      return this.#limit === 0 && giveNow(this.#pool, this.#shards, descriptor);
    }
    const shard = holderHintOf(this.#words[this.#links + slot]!) & this.#shardMask;
    if (shard === this.#ownNumber) {
      if (!this.#isHeld(descriptor, slot)) return false;
      this.#giveOwn(descriptor, slot);
      return true;
    }
    // Not a look at the lease word, which the getter is about to change: whoever collects the put decides.
    if (this.#ownPuts === this.#ownLimit) this.#sendOff();
    this.#pushTo(shard, descriptor);
    this.#marks[slot] = descriptor | SIGN;
    this.#ownLimit--;
    if (this.#ownPuts >= --this.#noticeAt || this.#sleepersHint()) this.#notice();
    return true;
  }

  /** Whether a slot is held, by whomever. A hint: whoever collects the put decides. */
  #isHeld(descriptor: number, slot: number): boolean {
    const lease = this.#words[this.#leases + slot]!;
    return (
      stateOfLease(lease) === LEASE.held && descriptorOfLease(lease, slot, this.#slotBits) === descriptor
    );
  }

  /** For what this thread has put already, or never, or what is no descriptor. */
  #mayGive(descriptor: number): boolean {
    const { format } = this.#pool;
    return (
      this.#limit > 0 &&
      format.isDescriptor(descriptor) &&
      this.#isHeld(descriptor, format.slotOf(descriptor)) &&
      !this.hasPut(descriptor)
    );
  }

  hasPut(descriptor: number): boolean {
    return this.#marks[descriptor & this.#slotMask] === (descriptor | SIGN) && this.#isUnderway(descriptor);
  }

  /** Whether a put of this thread is not decided yet; else it was one in an earlier life of the descriptor. */
  #isUnderway(descriptor: number): boolean {
    for (let i = 0; i < this.#ownPuts; i++) if (this.#words[this.#puts + i] === descriptor) return true;
    return this.#opened.some((lane) => lane.underway().includes(descriptor));
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

  /** Where a latch cannot be had, it is for the next time: nothing has changed then, and the puts were made. */
  #trySendOff(): void {
    try {
      this.#sendOff();
    } catch (error) {
      if (!isStall(error)) throw error;
    }
  }

  /** Does the puts that the own shard governs, and publishes the others. */
  #sendOff(): void {
    if (this.#ownPuts === 0 && this.#ownLimit === this.#limit) return;
    if (this.#counts) this.#counts.batches++;
    if (this.#ownPuts > 0) this.#collectOwn();
    if (this.#ownLimit < this.#limit) this.#publish();
    this.#pool.wakeSleepers();
  }

  #publish(): void {
    const isClosed = this.#words[closedHint] !== 0;
    for (let i = 0; i < this.#opened.length; i++) {
      const lane = this.#opened[i]!;
      // Nobody gets from a closed pool, so nobody would collect it.
      if (isClosed) this.#drain(lane);
      else lane.publish();
    }
    this.#ownLimit = this.#limit;
    this.#noticeAt = this.#awaitsTurnEnd ? this.#limit : 0;
  }

  #collectOwn(): void {
    const shard = this.#ownShard;
    shard.acquire();
    // What others wait for is not kept, and what is closed is not given out.
    const keep = this.#words[closed] === 0 && !this.#sleepersHint();
    this.#top = shard.returns.collectOwn(this.#puts, this.#ownPuts, this.#caches, this.#top, keep);
    shard.release();
    this.#words[this.#countIndex] = this.#ownPuts = 0;
  }

  #pushTo(shard: number, descriptor: number): void {
    const lane = this.#lanes[shard] ?? this.#openLane(shard);
    if (lane.push(descriptor)) return;
    this.#drain(lane);
    lane.push(descriptor);
  }

  #openLane(shard: number): Lane {
    const { number } = this.#seat!;
    const lane = new Lane(this.#pool, number, shard);
    lane.begin();
    this.#shards[shard]!.returns.announce(number);
    this.#lanes[shard] = lane;
    this.#opened.push(lane);
    return lane;
  }

  /** A full lane: so its shard has much, and this thread puts that onto the list. */
  #drain(lane: Lane): void {
    const shard = this.#shards[lane.shard]!;
    shard.acquire();
    lane.publish();
    shard.returns.drain();
    shard.release();
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
