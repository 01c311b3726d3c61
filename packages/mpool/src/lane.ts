import { idOf, type Platform } from '@heddle/memory';
import { laneLayout, seatLayout } from './mpool.layout.js';
import type { PoolWords } from './pool-words.js';

const { head, tail } = laneLayout.offsets;
const { token } = seatLayout.offsets;

const NONE_YET: Int32Array = new Int32Array(0);

/**
 * The return lane from one seat to one shard: puts of the thread in that seat which the shard's latch governs.
 *
 * ```
 *          head            tail          written
 *  │ done   │   published   │   unsent    │   free │   entries are descriptors, positions run freely
 * ```
 *
 * **Ownership**: entries from `tail` on, `tail` and `written` belong to the putter, and after its death to who recovers
 * it; entries from `head` to `tail`, and `head`, to the holder of the shard's latch, whoever that is.
 *
 * **Ordering**: R1: entries, then the store of `tail` ↔ its load, then the entries. R2: the last look at an entry, then
 * the store of `head` ↔ its load, then the next entry in that place.
 *
 * **One commit** a put: the store of `written`. It is a plain one: nobody relies on it while the putter lives.
 *
 * **Death** of the putter leaves puts up to `written`, which recovery publishes. Death of who collects leaves entries
 * that are done and that `head` has not passed: they are stale, and the next holder of the latch steps over them.
 *
 * **Cost**, in Atomics calls: 1 store a batch for the putter, and 1 load where the lane seems full.
 */
export class Lane {
  readonly #atomics: Platform['atomics'];
  // Fields that begin with a value of their own kind: the engine checks the kind of others at each use.
  /** Index of the first entry. */
  readonly entries: number = 0;
  readonly mask: number = 0;
  /** Number of the shard that it leads to. */
  readonly shard: number = 0;
  #words: Int32Array = NONE_YET;
  #headIndex = 0;
  #tailIndex = 0;
  #writtenIndex = 0;
  #tokenIndex = 0;
  /** Of the putter: where its next entry goes, and how far the lane was collected when it last looked. */
  #next = 0;
  #published = 0;
  #knownHead = 0;

  constructor(pool: PoolWords, seat: number, shard: number) {
    const { regions, shape, words } = pool;
    const base = regions.lanes + (seat * shape.shards + shard) * regions.laneWords;
    const seatBase = regions.seats + seat * regions.seatWords;
    this.#words = words;
    this.shard = shard;
    this.#atomics = pool.platform.atomics;
    this.#headIndex = base + head;
    this.#tailIndex = base + tail;
    this.#writtenIndex = seatBase + seatLayout.wordCount + shape.magazine + shard;
    this.#tokenIndex = seatBase + token;
    this.entries = base + laneLayout.wordCount;
    this.mask = shape.laneSlots - 1;
  }

  /** Makes ready to push: for the putter, once. 2 loads. */
  begin(): void {
    this.#next = this.#published = this.tail();
    this.#knownHead = this.head();
  }

  /** Appends a put, which is not published yet. False where the lane is full. For the putter. */
  push(descriptor: number): boolean {
    const at = this.#next;
    if (((at - this.#knownHead) | 0) > this.mask) {
      this.#knownHead = this.head();
      if (((at - this.#knownHead) | 0) > this.mask) return false;
    }
    this.#words[this.entries + (at & this.mask)] = descriptor;
    this.#next = (at + 1) | 0;
    this.#words[this.#writtenIndex] = this.#next;
    return true;
  }

  /** Lets the holder of the shard's latch have what was pushed. For the putter. 1 store, where there is something. */
  publish(): void {
    if (this.#published === this.#next) return;
    this.#published = this.#next;
    this.#atomics.store(this.#words, this.#tailIndex, this.#next);
  }

  /** The same for a dead putter. Can be repeated. 1 load, 1 store. */
  publishAll(): void {
    this.#atomics.store(this.#words, this.#tailIndex, this.#written());
  }

  /** Up to where puts are published. 1 load. */
  tail(): number {
    return this.#atomics.load(this.#words, this.#tailIndex);
  }

  /** Up to where they were collected. 1 load. */
  head(): number {
    return this.#atomics.load(this.#words, this.#headIndex);
  }

  /** The same, for the holder of the shard's latch. */
  headHeld(): number {
    return this.#words[this.#headIndex]!;
  }

  /** Says up to where they were collected. 1 store. The shard's latch must be held. */
  advance(position: number): void {
    this.#atomics.store(this.#words, this.#headIndex, position);
  }

  /** Id of the thread that puts. After a look at `tail` that found something. */
  putter(): number {
    return idOf(this.#words[this.#tokenIndex]!);
  }

  /** The puts that are not published, as they were read, one by one. 2 loads, and 1 for each. */
  unsent(): number[] {
    return this.#entriesFrom(this.tail());
  }

  /** Those that were not collected. */
  underway(): number[] {
    return this.#entriesFrom(this.head());
  }

  #entriesFrom(start: number): number[] {
    const length = Math.min(Math.max((this.#written() - start) | 0, 0), this.mask + 1);
    return Array.from({ length }, (_, i) =>
      this.#atomics.load(this.#words, this.entries + ((start + i) & this.mask)),
    );
  }

  #written(): number {
    return this.#atomics.load(this.#words, this.#writtenIndex);
  }
}
