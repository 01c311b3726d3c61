import type { Range } from '@heddle/memory';
import {
  chunkByteLength,
  elemsOfChunk,
  type GrowthParameters,
  nextElems,
  paddingOf,
  strideOf,
} from './growth-arithmetic.js';
import type { Guard } from './guard.js';
import { generationOfLease, LEASE, leaseWord, stateOfLease } from './lease.js';
import {
  CHUNK_ELEMS,
  CHUNK_FIRST_SLOT,
  CHUNK_GENERATION,
  CHUNK_NEXT_ELEMS,
  CHUNK_OFFSET,
  CHUNK_RANGE,
  CHUNK_WORDS,
  mpoolLayout,
} from './mpool.layout.js';
import type { PoolWords } from './pool-words.js';
import { forgetPuts } from './put-mark.js';
import { Shard } from './shard.js';
import { readWide, writeWide } from './wide-word.js';

const {
  chunkCount,
  closed,
  everSlots,
  firstGeneration,
  moves,
  slotCount,
  nextElems: nextElemsAt,
} = mpoolLayout.offsets;

/** Where chunks come from: the space of a segment. */
export interface ChunkSource {
  /** Takes memory for this thread; undefined where there is no more. */
  allocate(byteLength: number): Range | undefined;
  /** Makes it part of the pool, so that no thread's death frees it. Can be repeated. */
  keep(range: { readonly index: number; readonly generation: number }): void;
  /** Whether the memory was neither freed nor given to somebody else. */
  isLive(range: { readonly index: number; readonly generation: number }): boolean;
  /** Frees it, where it is still live. */
  discard(range: { readonly index: number; readonly generation: number }): void;
}

/** A chunk that counts. */
export interface Chunk {
  readonly firstSlot: number;
  readonly elems: number;
  /** Of its first element, in the segment. */
  readonly byteOffset: number;
}

interface GrowthOptions {
  /** What guards shard 0. Default a latch. */
  readonly guard?: Guard | undefined;
  /** Is told of the memory of new elements before anyone can get them, under no latch. What it throws comes through. */
  readonly onCreated?: (chunk: Chunk) => void;
}

/**
 * Makes a pool larger, chunk by chunk.
 *
 * **One commit**: memory is taken first; then, under the latch of shard 0, the chunk's entry is written as a record
 * of intent, its memory kept, and `chunkCount` moved on, which commits it. Its slots are free in shard 0 from then
 * on, as their lease words say already; linking them is what a repair of the shard does too.
 *
 * **Death** before the intent leaves memory that belongs to the dead thread and is freed with it; after it, the next
 * holder of the latch finishes the chunk.
 *
 * Several threads may grow at once: under the latch, all but the first find that the pool has grown and give their
 * memory back.
 */
export class Growth {
  /** Shard 0, where new slots appear. */
  readonly shard: Shard;
  /** Bytes from one element to the next. */
  readonly stride: number;
  readonly #pool: PoolWords;
  readonly #parameters: GrowthParameters;
  readonly #source: ChunkSource;
  readonly #onCreated: ((chunk: Chunk) => void) | undefined;
  #seenChunks: number;

  constructor(
    pool: PoolWords,
    parameters: GrowthParameters,
    source: ChunkSource,
    { guard, onCreated }: GrowthOptions = {},
  ) {
    this.#onCreated = onCreated;
    this.#pool = pool;
    this.#parameters = parameters;
    this.#source = source;
    this.stride = strideOf(parameters);
    this.shard = new Shard(pool, 0, guard, () => this.#finish());
    this.#seenChunks = pool.platform.atomics.load(pool.words, chunkCount);
  }

  /**
   * Makes the pool larger by a chunk.
   *
   * @returns false where it cannot become larger. True where there may be new slots, its own or another thread's.
   */
  grow(): boolean {
    const { atomics } = this.#pool.platform;
    const { words } = this.#pool;
    const chunks = atomics.load(words, chunkCount);
    const grown = chunks > this.#seenChunks;
    this.#seenChunks = chunks;
    if (grown) return true;
    if (chunks >= this.#pool.shape.maxChunks) return false;
    const firstSlot = this.#pool.slotCount();
    const wanted = atomics.load(words, nextElemsAt);
    const elems = elemsOfChunk(this.#parameters, wanted, this.#pool.shape.slotCapacity - firstSlot);
    if (elems < 1) return false;
    const range = this.#source.allocate(chunkByteLength(this.#parameters, elems));
    if (!range) return false;
    const byteOffset = range.byteOffset + paddingOf(this.#parameters) + this.#parameters.guardBytes;
    try {
      this.#onCreated?.({ firstSlot, elems, byteOffset });
    } catch (error) {
      this.#source.discard(range);
      throw error;
    }
    this.shard.acquire();
    const isClosed = words[closed] !== 0;
    const moved = atomics.load(words, chunkCount) !== chunks || this.#pool.slotCount() !== firstSlot;
    if (isClosed || moved) {
      this.shard.release();
      this.#source.discard(range);
      return !isClosed;
    }
    const entry = this.#entry(chunks);
    // What an attempt before this one may have left is no intent any more.
    words[entry + CHUNK_GENERATION] = 0;
    words[entry + CHUNK_RANGE] = range.index;
    words[entry + CHUNK_FIRST_SLOT] = firstSlot;
    words[entry + CHUNK_ELEMS] = elems;
    writeWide(words, entry + CHUNK_OFFSET, byteOffset);
    words[entry + CHUNK_NEXT_ELEMS] = nextElems(this.#parameters, wanted, elems);
    // The record of intent is complete with this store.
    words[entry + CHUNK_GENERATION] = range.generation + 1;
    this.#finish();
    for (let slot = firstSlot + elems - 1; slot >= firstSlot; slot--) this.shard.link(slot);
    this.shard.release();
    this.#pool.wakeSleepers();
    return true;
  }

  /** The chunks from `from` on, for who looks up where slots lie. 1 load. */
  chunks(from: number): Chunk[] {
    const { words } = this.#pool;
    const all: Chunk[] = [];
    const count = this.#pool.platform.atomics.load(words, chunkCount);
    for (let chunk = from; chunk < count; chunk++) {
      const entry = this.#entry(chunk);
      all.push({
        firstSlot: words[entry + CHUNK_FIRST_SLOT]!,
        elems: words[entry + CHUNK_ELEMS]!,
        byteOffset: readWide(words, entry + CHUNK_OFFSET),
      });
    }
    return all;
  }

  /** Gives the memory of a closed pool back. Can be repeated, by several threads at once. */
  releaseChunks(): void {
    const count = this.#pool.platform.atomics.load(this.#pool.words, chunkCount);
    for (let chunk = 0; chunk < count; chunk++) this.#discard(chunk);
  }

  /**
   * Gives the last chunks back whose slots are all free. All latches must be held.
   *
   * **One commit** a chunk: the store of `chunkCount`. Its slots belong to shard 0 before; its entry stands behind the
   * last one then, as a record of intent does: if this thread dies before the memory is given back, the chunk counts
   * again.
   *
   * @returns the chunks whose slots are gone.
   */
  dropFreeChunks(shards: readonly Shard[]): Chunk[] {
    const { atomics } = this.#pool.platform;
    const { words } = this.#pool;
    const dropped: Chunk[] = [];
    for (const shard of shards) shard.returns.drain();
    for (let chunks = this.chunks(0), last = chunks.pop(); last; last = chunks.pop()) {
      if (!this.#toShardZero(last)) break;
      atomics.store(words, chunkCount, chunks.length);
      this.#settle(chunks.length);
      for (const shard of shards) shard.relink();
      this.#discard(chunks.length);
      dropped.push(last);
    }
    return dropped;
  }

  /** Makes the slots of a chunk free in shard 0, where they all are free. */
  #toShardZero({ firstSlot, elems }: Chunk): boolean {
    const { words, regions } = this.#pool;
    for (let slot = firstSlot; slot < firstSlot + elems; slot++) {
      if (stateOfLease(this.#pool.lease(slot)) !== LEASE.free) return false;
    }
    for (let slot = firstSlot; slot < firstSlot + elems; slot++) {
      const lease = words[regions.leases + slot]!;
      words[regions.leases + slot] = leaseWord(generationOfLease(lease), LEASE.free, 0);
    }
    return true;
  }

  #discard(chunk: number): void {
    const { words } = this.#pool;
    const entry = this.#entry(chunk);
    this.#source.discard({
      index: words[entry + CHUNK_RANGE]!,
      generation: words[entry + CHUNK_GENERATION]! - 1,
    });
  }

  /** Commits the chunk whose intent is recorded, where there is one. Can be repeated. Shard 0's latch is held. */
  #finish(): void {
    const { atomics } = this.#pool.platform;
    const { words } = this.#pool;
    const chunks = atomics.load(words, chunkCount);
    // Where a thread died that gave a chunk back, these words are behind.
    this.#settle(chunks);
    if (chunks >= this.#pool.shape.maxChunks) return;
    const entry = this.#entry(chunks);
    const generation = words[entry + CHUNK_GENERATION]! - 1;
    const range = { index: words[entry + CHUNK_RANGE]!, generation };
    if (generation < 0 || !this.#source.isLive(range)) return;
    this.#source.keep(range);
    // Before anyone can get them: they may lie elsewhere than before, and who knows where forgets it. While they do not
    // count nobody can look them up.
    if (words[entry + CHUNK_FIRST_SLOT]! < words[everSlots]!) atomics.add(words, moves, 1);
    this.#prepareLeases(words[entry + CHUNK_FIRST_SLOT]!, words[entry + CHUNK_ELEMS]!);
    this.#settle(chunks + 1);
    atomics.store(words, chunkCount, chunks + 1);
  }

  /**
   * New slots are free in shard 0, in the first generation; those that come back are free there already, in the
   * generation that they had. Nobody looks at them before the chunk counts.
   */
  #prepareLeases(firstSlot: number, elems: number): void {
    const { words, regions } = this.#pool;
    const end = firstSlot + elems;
    const lease = leaseWord(words[firstGeneration]!, LEASE.free, 0);
    for (let slot = Math.max(firstSlot, words[everSlots]!); slot < end; slot++)
      words[regions.leases + slot] = lease;
    if (end > words[everSlots]!) words[everSlots] = end;
    forgetPuts(this.#pool, firstSlot, end);
  }

  /**
   * Stores what follows from the first `chunks` chunks: how many slots there are, and how large the next chunk is. So a
   * chunk has the same size each time it is made, and as many as can count hold all slots.
   */
  #settle(chunks: number): void {
    const { atomics } = this.#pool.platform;
    const { words } = this.#pool;
    const last = this.#entry(chunks - 1);
    const slots = chunks === 0 ? 0 : words[last + CHUNK_FIRST_SLOT]! + words[last + CHUNK_ELEMS]!;
    atomics.store(
      words,
      nextElemsAt,
      chunks === 0 ? this.#parameters.elemsPerChunk : words[last + CHUNK_NEXT_ELEMS]!,
    );
    atomics.store(words, slotCount, slots);
  }

  #entry(chunk: number): number {
    return this.#pool.regions.chunks + chunk * CHUNK_WORDS;
  }
}
