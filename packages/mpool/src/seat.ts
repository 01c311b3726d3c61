import { Lane } from './lane.js';
import { seatLayout } from './mpool.layout.js';
import type { PoolWords } from './pool-words.js';
import type { Shard } from './shard.js';

const { token, count } = seatLayout.offsets;

/**
 * The place of one thread in a pool: the puts that it has not sent off yet, where recovery finds them.
 *
 * **Layout**: {@link seatLayout}; as many descriptors as a magazine has slots, puts of what the thread's own shard
 * governs; for each shard up to where the {@link Lane} to it is written, puts of what others govern.
 *
 * **States**: token 0, free; else taken, and the first `count` entries are puts that are not sent off.
 *
 * **Ownership**: `token` by CAS; the rest by the thread that has the seat, and after its death by who recovers it.
 *
 * **One commit** a put: the store of `count`, or of the word of its lane. It is a plain one: nobody relies on it while
 * the thread lives.
 *
 * **Death** leaves puts that nobody has checked. Recovery puts them again: those that had been sent off already are
 * stale and fall away.
 */
export class Seat {
  readonly number: number;
  /** Index of the first entry. */
  readonly entries: number;
  /** Index of the word that says how many entries there are. */
  readonly count: number;
  readonly #pool: PoolWords;
  readonly #base: number;

  constructor(pool: PoolWords, number: number) {
    this.#pool = pool;
    this.number = number;
    this.#base = pool.regions.seats + number * pool.regions.seatWords;
    this.count = this.#base + count;
    this.entries = this.#base + seatLayout.wordCount;
  }

  /** Every seat of a pool. */
  static all(pool: PoolWords): Seat[] {
    return Array.from({ length: pool.shape.seats }, (_, number) => new Seat(pool, number));
  }

  /** Takes a seat for this thread; undefined where all are taken. 1 load a seat, 1 CAS. */
  static take(pool: PoolWords): Seat | undefined {
    const { atomics } = pool.platform;
    return Seat.all(pool).find(
      (seat) =>
        seat.owner() === 0 && atomics.compareExchange(pool.words, seat.#base + token, 0, pool.me.token) === 0,
    );
  }

  /** Token of the thread that has it, 0 for nobody. 1 load. */
  owner(): number {
    return this.#pool.platform.atomics.load(this.#pool.words, this.#base + token);
  }

  /** The puts that its shard governs and that are not sent off. Only after the death of its thread. */
  own(): number[] {
    const { words } = this.#pool;
    return Array.from({ length: words[this.count]! }, (_, i) => words[this.entries + i]!);
  }

  /** All puts of a living thread that are not sent off: as they were read, one by one. */
  unsent(): number[] {
    const { atomics } = this.#pool.platform;
    const { words } = this.#pool;
    const length = Math.min(atomics.load(words, this.count), this.#pool.shape.magazine);
    const own = Array.from({ length }, (_, i) => atomics.load(words, this.entries + i));
    return own.concat(...this.lanes().map((lane) => lane.unsent()));
  }

  /** Its lane to each shard. */
  lanes(): Lane[] {
    return Array.from(
      { length: this.#pool.shape.shards },
      (_, shard) => new Lane(this.#pool, this.number, shard),
    );
  }

  /** Makes it free, where it is still that thread's. Its puts must be sent off. */
  leave(ownerToken: number): void {
    if (this.owner() !== ownerToken) return;
    this.#pool.words[this.count] = 0;
    this.#pool.platform.atomics.compareExchange(this.#pool.words, this.#base + token, ownerToken, 0);
  }
}

/**
 * Collects the puts that were sent off, in all shards, and answers with those that were not. In the order in which a put
 * goes: one that is sent off meanwhile is in the answer, or collected. All latches must be held.
 */
export function collectPuts(pool: PoolWords, shards: readonly Shard[]): number[] {
  const unsent = Seat.all(pool).flatMap((seat) => (seat.owner() === 0 ? [] : seat.unsent()));
  for (const shard of shards) shard.returns.drain();
  return unsent;
}
