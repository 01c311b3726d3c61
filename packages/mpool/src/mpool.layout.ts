import { defineLayout, field, LINE_BYTES, roundUp, WORD_BYTES } from '@heddle/memory';
import { ID_WORDS } from './id-bits.js';

/** Most threads that have a magazine each. */
export const MAX_SEATS = 64;

/** Entries of the log of late refusals: a power of two. */
export const LATE_LOG_ENTRIES = 8;

/** Entries of the log of damage: a power of two. */
export const DAMAGE_LOG_ENTRIES = 8;
/** Words of an entry: descriptor, kind, the thread that did it as far as that is known, the thread that found it. */
export const DAMAGE_WORDS = 4;

/** Somebody waits until it can be closed: nothing is given out, and what is out can be put. */
export const CLOSING = 1;
/** Closed, for ever. */
export const CLOSED = 2;

/**
 * A pool in its segment:
 *
 * ```
 *  | header | shards | seats | lanes | leases | links | chunk table | lock | notes | counters |    chunk        chunk ...
 *    fixed    3 lines  lines   lines   a word   a word  8 words a            only where they    ranges of the segment,
 *             each     each    each    a slot   a slot  chunk                are asked for      taken as the pool grows:
 *                                                                                               | pad | slot | slot | ...
 * ```
 */
export const mpoolLayout = defineLayout('mpool', 1, {
  policy: field('creator'),
  /** 0 latch, else a kind of lock and its size. */
  lock: field('creator'),
  lockWords: field('creator'),
  shards: field('creator'),
  seats: field('creator'),
  /** Slots that a magazine holds at most, and a batch of puts likewise. */
  magazine: field('creator'),
  /** Puts that a return lane has room for. */
  laneSlots: field('creator'),
  /** Elements that can be out in any case. */
  maxElems: field('creator'),
  /** `maxElems`, and what magazines and unsent batches can hold back beyond it. */
  slotCapacity: field('creator'),
  maxChunks: field('creator'),
  elemSizeLow: field('creator'),
  elemSizeHigh: field('creator'),
  alignLow: field('creator'),
  alignHigh: field('creator'),
  alignOffsetLow: field('creator'),
  alignOffsetHigh: field('creator'),
  maxChunkLow: field('creator'),
  maxChunkHigh: field('creator'),
  elemsPerChunk: field('creator'),
  /** A float of 64 bits in two words. */
  growFactorLow: field('creator'),
  growFactorHigh: field('creator'),
  /** Generation with which slots begin. */
  firstGeneration: field('creator'),
  /** Whether slots are prepared by a function that each thread brings along. */
  hasInit: field('creator'),
  /** Whether a second put is refused at its call, whatever waits in batches. */
  exactPut: field('creator'),
  /** Bytes that are watched before and after each element, 0 but in debug mode. */
  guardBytes: field('creator'),
  /** Words of the note of each slot. */
  noteWords: field('creator'),
  /** Rows of counters: one for each id of a thread, and one for id 0, which no thread has. 0 where nothing is counted. */
  counterRows: field('creator'),
  /** Token of the thread that made the pool. */
  owner: field('creator'),
  /** What getters sleep on: a sequence << 1 | whether somebody sleeps. */
  wakeup: field('anyone'),
  /** 0 open, {@link CLOSING} or {@link CLOSED}: written by who holds all latches, so that who holds one knows. */
  closed: field('closer'),
  /** The same for those who hold none, somewhat later. */
  closedHint: field('closer'),
  /** Threads that wait until they can close it, a bit for each id. While there are any it is closing, unless it is closed. */
  closers: field('closer', ID_WORDS),
  /** Token of the thread that closed it, while that ends the elements: until then their memory stays. */
  cleaner: field('closer'),
  /** Threads that use the pool, a bit for each id; see `PoolUsers`. */
  users: field('gate holder', ID_WORDS),
  /** 1 when it is closed and the memory of its elements was given back. */
  released: field('anyone'),
  /** The one commit of growth: chunks that count. */
  chunkCount: field('grower'),
  /** Slots in those chunks. */
  slotCount: field('grower'),
  /** Elements of the next chunk. */
  nextElems: field('grower'),
  /** Slots that ever existed: those beyond `slotCount` keep their generation for when they come back. */
  everSlots: field('grower'),
  /** Goes up before a chunk counts whose slots existed before: they may lie elsewhere now. */
  moves: field('grower'),
  /** Puts that were refused, wraps at 2^32. */
  refusals: field('refuser'),
  /** Of these, those that were refused only when they were sent off, wraps at 2^32. */
  lateRefusals: field('refuser'),
  /** The last ones: a descriptor, and the id of the thread that put it. */
  lateLog: field('refuser', 2 * LATE_LOG_ENTRIES),
  /** Damage that was found in debug mode, wraps at 2^32. */
  damages: field('finder'),
  /** The last ones, `DAMAGE_WORDS` each. */
  damageLog: field('finder', DAMAGE_LOG_ENTRIES * DAMAGE_WORDS),
  /** Slots that are out, where that is counted. */
  out: field('anyone'),
  /** Most slots that were out at the same time, where that is counted. */
  peak: field('anyone'),
});

/** A shard: a free list and the latch that guards it. */
export const shardLayout = defineLayout('mpool-shard', 1, {
  latch: field('anyone'),
  /** First free slot + 1, 0 for none. */
  head: field('latch holder'),
  /** Slots put, 53 bits. */
  putLow: field('latch holder'),
  putHigh: field('latch holder'),
  /** Of these, how many were got by another thread. */
  acrossLow: field('latch holder'),
  acrossHigh: field('latch holder'),
  /** Slots that came back from dead threads, wraps at 2^32. */
  recovered: field('latch holder'),
  /** A bit for each seat whose lane to this shard is in use. */
  lanes: field('putters', MAX_SEATS / 32),
});

/** A return lane from a seat to a shard: {@link Shape.laneSlots} descriptors follow. Positions run freely. */
export const laneLayout = defineLayout('mpool-lane', 1, {
  /** Up to where puts are published. */
  tail: field('putter'),
  /** Up to where they were collected. */
  head: field('latch holder'),
});

/**
 * A seat: the puts of one thread that are not sent off yet. As many descriptors follow as a magazine holds, and for each
 * shard up to where the lane to it is written.
 */
export const seatLayout = defineLayout('mpool-seat', 1, {
  token: field('anyone'),
  count: field('owner'),
});

/** What one thread did, 53 bits each. */
export const counterLayout = defineLayout('mpool-counters', 1, {
  gotLow: field('its thread'),
  gotHigh: field('its thread'),
  putLow: field('its thread'),
  putHigh: field('its thread'),
  acrossLow: field('its thread'),
  acrossHigh: field('its thread'),
  batchesLow: field('its thread'),
  batchesHigh: field('its thread'),
  stealsLow: field('its thread'),
  stealsHigh: field('its thread'),
  waitsLow: field('its thread'),
  waitsHigh: field('its thread'),
});

/**
 * The note of a slot, as far as it is asked for: a mark, then a time, then a place.
 *
 * Its mark: which generation of it was put last, and by whom.
 */
export const NOTE_MARK = 0;
/** Milliseconds of the clock at which it was got, modulo 2^32. */
export const NOTE_GOT_AT = 1;
/** Words of a note with a time. */
export const NOTE_WORDS = 2;
/** In debug mode: where it was got, or put last: up to 48 characters. */
export const NOTE_PLACE = 2;
export const PLACE_WORDS = 12;

/** An entry of the chunk table, written by the holder of shard 0's latch. Entries below `chunkCount` count; the one at it is a record of intent. */
export const CHUNK_WORDS = 8;
export const CHUNK_RANGE = 0;
/** Generation of the range + 1; 0 is no intent. */
export const CHUNK_GENERATION = 1;
export const CHUNK_FIRST_SLOT = 2;
export const CHUNK_ELEMS = 3;
/** Byte offset of the first slot in the segment, in two words. */
export const CHUNK_OFFSET = 4;
/** Elements of the chunk after this one. */
export const CHUNK_NEXT_ELEMS = 6;

/** What the tables of a pool are sized by. */
export interface Shape {
  /** A power of two. */
  readonly shards: number;
  readonly seats: number;
  readonly magazine: number;
  /** A power of two, at least as many as a magazine. */
  readonly laneSlots: number;
  readonly slotCapacity: number;
  readonly maxChunks: number;
  /** Words of the lock of policy `locked`, where it is not a latch. */
  readonly lockWords: number;
  readonly noteWords: number;
  readonly counterRows: number;
}

/** Word index of each part of a pool. */
export interface Regions {
  readonly shards: number;
  readonly seats: number;
  /** Words of a seat. */
  readonly seatWords: number;
  readonly lanes: number;
  /** Words of a lane. */
  readonly laneWords: number;
  readonly leases: number;
  readonly links: number;
  readonly chunks: number;
  readonly lock: number;
  readonly notes: number;
  readonly counters: number;
  readonly end: number;
}

const LINE_WORDS = LINE_BYTES / WORD_BYTES;

export function regionsOf(shape: Shape): Regions {
  const { shards, seats, magazine, laneSlots, slotCapacity, maxChunks } = shape;
  const { lockWords, noteWords, counterRows } = shape;
  const seatsAt = mpoolLayout.wordCount + shards * shardLayout.wordCount;
  const seatWords = seatLayout.wordCount + roundUp(magazine + shards, LINE_WORDS);
  const lanes = seatsAt + seats * seatWords;
  const laneWords = laneLayout.wordCount + roundUp(laneSlots, LINE_WORDS);
  const leases = lanes + seats * shards * laneWords;
  // A word for each slot that a descriptor can name, there or not, so that a put need not ask which there are.
  const links = leases + roundUp(1 << (32 - Math.clz32(slotCapacity - 1)), LINE_WORDS);
  const chunks = links + roundUp(slotCapacity, LINE_WORDS);
  const lock = chunks + roundUp(maxChunks * CHUNK_WORDS, LINE_WORDS);
  const notes = lock + roundUp(lockWords, LINE_WORDS);
  const counters = notes + roundUp(slotCapacity * noteWords, LINE_WORDS);
  const end = counters + counterRows * counterLayout.wordCount;
  const early = { shards: mpoolLayout.wordCount, seats: seatsAt, seatWords, lanes, laneWords };
  return { ...early, leases, links, chunks, lock, notes, counters, end };
}
