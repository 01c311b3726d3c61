import { HeddleError, idOf } from '@heddle/memory';
import { NONE } from './descriptor.js';
import type { Growth } from './growth.js';
import { descriptorOfLease, generationBits, isHeldIn, LEASE, leaseWord, withoutGeneration } from './lease.js';
import { mpoolLayout, shardLayout } from './mpool.layout.js';
import type { Policy } from './policy.js';
import { type PoolWords, SLEEPERS } from './pool-words.js';
import { incrementWide } from './wide-word.js';

const { closed, owner, wakeup } = mpoolLayout.offsets;

/** Slots that are taken off the list at a time. */
const REFILL = 32;

const NONE_YET: Int32Array = new Int32Array(0);

/**
 * A stack in the private memory of the one thread that may get and put.
 *
 * **States** of a slot are those of its lease word, as everywhere: free on the list → cached in the stack → held →
 * cached. The thread stores them plainly; others read them for reports, and recovery after its death.
 *
 * **One commit** each: the store of the lease word.
 *
 * **Death** frees cached and held slots one by one. Nobody can get them: the pool ends with its thread.
 *
 * **Cost**, in Atomics calls: none, but for 1 load in a `give` to an empty stack, and where the pool grows or is
 * exhausted.
 *
 * **When not to use it**: where a descriptor may be put on another thread. That is refused.
 */
export class OwnerPolicy implements Policy {
  readonly #pool: PoolWords;
  readonly #growth: Growth;
  // Fields that begin with a value of their own kind: the engine checks the kind of others at each use.
  #words = NONE_YET;
  #leases = 0;
  #putLow = 0;
  #slotBits = 0;
  #slotMask = 0;
  #generationMask = 0;
  /** Lease words of this thread without their generation. */
  #cached = 0;
  #held = 0;
  /** Descriptors of cached slots. Memory that is not touched is not taken. */
  #stack = NONE_YET;
  #top = 0;

  constructor(pool: PoolWords, growth: Growth) {
    this.#pool = pool;
    this.#growth = growth;
    this.#words = pool.words;
    this.#leases = pool.regions.leases;
    this.#putLow = pool.regions.shards + shardLayout.offsets.putLow;
    this.#slotBits = pool.format.slotBits;
    this.#slotMask = pool.format.slotMask;
    this.#generationMask = pool.format.generationMask;
    this.#cached = leaseWord(0, LEASE.cached, pool.me.id);
    this.#held = leaseWord(0, LEASE.held, pool.me.id);
    this.#stack = new Int32Array(this.#mayUse() ? pool.shape.slotCapacity : 0);
  }

  take(): number {
    if (this.#top === 0 && !this.#refill()) return NONE;
    const descriptor = this.#stack[--this.#top]!;
    this.#words[this.#leases + (descriptor & this.#slotMask)] =
      generationBits(descriptor >>> this.#slotBits) | this.#held;
    return descriptor;
  }

  /** Takes slots off the list; false where there are none. */
  #refill(): boolean {
    this.assertMayUse();
    const { shard } = this.#growth;
    if (this.#words[closed] !== 0) return false;
    // While a task sleeps until all is put, nothing is kept, so that each put wakes it.
    const most = (this.#words[wakeup]! & SLEEPERS) === 0 ? REFILL : 1;
    do {
      for (let taken = 0; taken < most; taken++) {
        const descriptor = shard.lease(LEASE.cached, this.#pool.me.id);
        if (descriptor === NONE) break;
        this.#stack[this.#top++] = descriptor;
      }
      // Each turn of this loop finds the pool grown by a chunk, of which there are so many.
    } while (this.#top === 0 && this.#growth.grow());
    return this.#top > 0;
  }

  give(descriptor: number): boolean {
    const slot = descriptor & this.#slotMask;
    const lease = this.#words[this.#leases + slot]!;
    const mine =
      withoutGeneration(lease) === this.#held &&
      descriptorOfLease(lease, slot, this.#slotBits) === descriptor;
    if (!mine && !this.#mayGive(descriptor, lease)) return false;
    const next = ((descriptor >>> this.#slotBits) + 1) & this.#generationMask;
    this.#words[this.#leases + slot] = generationBits(next) | this.#cached;
    incrementWide(this.#words, this.#putLow);
    this.#stack[this.#top] = (next << this.#slotBits) | slot;
    // Only tasks of this thread can sleep, and only while the stack is empty.
    if (this.#top++ === 0) this.#notice();
    return true;
  }

  #notice(): void {
    this.#pool.wakeSleepers();
    // What is put late is not given out again.
    if (this.#words[closed] !== 0) this.empty();
  }

  /** Whether somebody holds it whom this thread gave it to. */
  #mayGive(descriptor: number, lease: number): boolean {
    this.assertMayUse();
    const { format } = this.#pool;
    return format.isDescriptor(descriptor) && isHeldIn(lease, format.generationOf(descriptor));
  }

  #mayUse(token = this.#pool.me.token): boolean {
    return this.#pool.words[owner] === token;
  }

  assertMayUse(token = this.#pool.me.token): void {
    if (this.#mayUse(token)) return;
    const id = idOf(token);
    throw new HeddleError(
      'ERR_HEDDLE_WRONG_THREAD',
      `Thread ${id} cannot use a pool of policy "owner" that another thread made: choose policy "sharded"`,
      { thread: id },
    );
  }

  hasPut(): boolean {
    return false;
  }

  /** Nobody else can get what the stack holds. */
  flush(): void {}

  empty(): void {
    while (this.#top > 0) {
      const descriptor = this.#stack[--this.#top]!;
      this.#growth.shard.free(descriptor & this.#slotMask, descriptor >>> this.#slotBits);
    }
  }
}
