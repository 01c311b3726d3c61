import { isGivenTo } from './hand-over.js';
import { Lane } from './lane.js';
import { noteLateRefusal } from './late-refusals.js';
import { descriptorOfLease, generationBits, LEASE, leaseWord, STATE_MASK } from './lease.js';
import { gotByOf, linkWord } from './link-word.js';
import { CLOSED, mpoolLayout, shardLayout } from './mpool.layout.js';
import type { PoolWords } from './pool-words.js';

const { closed } = mpoolLayout.offsets;
const { lanes } = shardLayout.offsets;

const NONE_YET: Int32Array = new Int32Array(0);

/** Seats that a word of the mark of used lanes has bits for. */
const SEATS_PER_WORD = 32;

/** What a thread keeps for itself. */
export interface Magazine {
  /** Descriptors of cached slots. */
  readonly slots: Int32Array;
  /** Of each slot, its descriptor while it is cached or got by this thread; with the sign set once it has put it. */
  readonly marks: Int32Array;
}

/** What a collection needs of the shard: its list and its counters. */
interface Home {
  readonly number: number;
  free(slot: number, generation: number): void;
  link(slot: number): void;
  countPut(amount: number, acrossThreads: number): void;
}

/**
 * The puts that reach one shard: the return lanes that lead to it, and the seats of its own threads. All of this is for
 * the holder of the shard's latch.
 *
 * **A put is decided here.** An entry is compared with the lease word: where the slot is held in that generation, and
 * this latch governs it, the store of the lease word is the put. Where it was given away to the putter, or to anyone, and
 * not adopted, a CAS of it is both. Else the descriptor was put already, or adopted since it was put: that is counted and
 * logged with the name of who put it, and changes nothing.
 *
 * **Cost**, in Atomics calls: 1 load for the marks of 32 seats, 1 load a lane in use, 1 store more a lane where there is
 * something.
 */
export class Returns {
  readonly #pool: PoolWords;
  readonly #home: Home;
  // Fields that begin with a value of their own kind: the engine checks the kind of others at each use.
  #words: Int32Array = NONE_YET;
  #leases = 0;
  #links = 0;
  #slotBits = 0;
  #slotMask = 0;
  #generationMask = 0;
  /** What lease words of slots that this shard's threads hold have in common. */
  #governedMask = 0;
  #governed = 0;
  #me = 0;
  /** Lease words of this thread without their generation, and the link word of what it caches. */
  #cached = 0;
  /** No lease word is like this one where another latch governs what this thread holds. */
  #held = 0;
  #mine = 0;
  #marks = 0;
  /** Whose turn it was among the lanes. */
  #turn = 0;
  /** Of the last collection: the first entry that it did not look at. */
  #stopped = 0;
  /** The lanes in use, and the marks that said so. */
  readonly #lanes: Lane[] = [];
  readonly #seen: Int32Array;

  constructor(pool: PoolWords, home: Home) {
    this.#pool = pool;
    this.#home = home;
    this.#words = pool.words;
    this.#leases = pool.regions.leases;
    this.#links = pool.regions.links;
    this.#slotBits = pool.format.slotBits;
    this.#slotMask = pool.format.slotMask;
    this.#generationMask = pool.format.generationMask;
    this.#governedMask = leaseWord(0, STATE_MASK, pool.shape.shards - 1);
    this.#governed = leaseWord(0, LEASE.held, home.number);
    this.#me = pool.me.id;
    const governsMe = (pool.me.id & (pool.shape.shards - 1)) === home.number;
    this.#held = leaseWord(0, governsMe ? LEASE.held : STATE_MASK, pool.me.id);
    this.#cached = leaseWord(0, LEASE.cached, pool.me.id);
    this.#mine = linkWord(pool.me.id, pool.me.id);
    this.#marks = pool.regions.shards + home.number * shardLayout.wordCount + lanes;
    this.#seen = new Int32Array(Math.ceil(pool.shape.seats / SEATS_PER_WORD));
  }

  /** Says that the lane from this seat is in use from now on. For the putter, under no latch. 1 or. */
  announce(seat: number): void {
    const { atomics } = this.#pool.platform;
    atomics.or(this.#words, this.#marks + Math.floor(seat / SEATS_PER_WORD), 1 << (seat % SEATS_PER_WORD));
  }

  /**
   * Takes slots from the lanes straight into this thread's magazine, as cached, until it is full.
   *
   * @param top how many it holds.
   * @returns how many it holds then.
   */
  collect(magazine: Magazine, top: number): number {
    const filled = this.#collectKnown(magazine, top);
    // Only where the lanes that this thread knows do not suffice: are there others?
    return filled < magazine.slots.length && this.#look() ? this.#collectKnown(magazine, filled) : filled;
  }

  #collectKnown(magazine: Magazine, top: number): number {
    const lanes = this.#lanes;
    let filled = top;
    for (let turns = lanes.length; turns > 0 && filled < magazine.slots.length; turns--) {
      if (++this.#turn >= lanes.length) this.#turn = 0;
      const lane = lanes[this.#turn]!;
      const from = lane.headHeld();
      const to = lane.tail();
      if (from === to) continue;
      filled = this.#recycle(lane.entries, lane.mask, from, to, lane.putter(), magazine, filled);
      lane.advance(this.#stopped);
    }
    return filled;
  }

  /**
   * Does puts of this thread that are in its seat: those that the magazine has room for straight into it, the others
   * onto the list.
   *
   * @param room how many the magazine may hold.
   */
  collectOwn(entries: number, count: number, magazine: Magazine, top: number, keep: boolean): number {
    let filled = top;
    this.#stopped = 0;
    if (keep) {
      filled = this.#recycleOwn(entries, count, magazine, top);
      filled = this.#recycle(entries, -1, this.#stopped, count, this.#me, magazine, filled);
    }
    this.#release(entries, -1, this.#stopped, count, this.#me);
    return filled;
  }

  /** Puts everything in the lanes onto the list. */
  drain(): void {
    for (const lane of this.#used()) {
      const to = lane.tail();
      const from = lane.headHeld();
      if (from === to) continue;
      this.#release(lane.entries, lane.mask, from, to, lane.putter());
      lane.advance(to);
    }
  }

  /** Steps over what a holder of the latch had done that died before it said so. */
  skipDone(): void {
    for (const lane of this.#used()) {
      const to = lane.tail();
      const putter = lane.putter();
      let at = lane.headHeld();
      for (; at !== to; at = (at + 1) | 0) {
        const descriptor = this.#words[lane.entries + (at & lane.mask)]!;
        if (this.#isDue(descriptor) || this.#givenLease(descriptor, putter) !== 0) break;
      }
      lane.advance(at);
    }
  }

  /** Those that this thread got itself, the common case, up to the first that is anything else. */
  #recycleOwn(entries: number, count: number, magazine: Magazine, top: number): number {
    const words = this.#words;
    const leases = this.#leases;
    const links = this.#links;
    const slotBits = this.#slotBits;
    const slotMask = this.#slotMask;
    const generationMask = this.#generationMask;
    const held = this.#held;
    const cached = this.#cached;
    const mine = this.#mine;
    const { slots, marks } = magazine;
    const end = entries + Math.min(count, slots.length - top);
    let filled = top;
    for (let at = entries; at < end; at++) {
      const descriptor = words[at]!;
      const slot = descriptor & slotMask;
      const generation = descriptor >>> slotBits;
      if (words[leases + slot] !== (generationBits(generation) | held) || words[links + slot] !== mine) break;
      const next = (generation + 1) & generationMask;
      words[leases + slot] = generationBits(next) | cached;
      marks[slot] = slots[filled++] = (next << slotBits) | slot;
    }
    this.#home.countPut(filled - top, 0);
    this.#stopped = filled - top;
    return filled;
  }

  /** Any puts. As above all in locals, and no call while there is nothing to refuse: these are the loops of a busy pool. */
  #recycle(
    entries: number,
    mask: number,
    from: number,
    to: number,
    putter: number,
    magazine: Magazine,
    top: number,
  ): number {
    const words = this.#words;
    const leases = this.#leases;
    const links = this.#links;
    const slotBits = this.#slotBits;
    const slotMask = this.#slotMask;
    const generationMask = this.#generationMask;
    const cached = this.#cached;
    const mine = this.#mine;
    const held = this.#held;
    const { slots, marks } = magazine;
    const limit = slots.length;
    let filled = top;
    let across = 0;
    let at = from;
    while (at !== to && filled < limit) {
      const descriptor = words[entries + (at & mask)]!;
      at = (at + 1) | 0;
      const slot = descriptor & slotMask;
      const generation = descriptor >>> slotBits;
      const lease = words[leases + slot]!;
      if (lease === (generationBits(generation) | held) && marks[slot] === descriptor) {
        // Got by this thread and not put by it, the common case: its link says so already.
        across++;
      } else if (this.#isDue(descriptor)) {
        if (gotByOf(words[links + slot]!) !== putter) across++;
        words[links + slot] = mine;
      } else {
        this.#putGiven(descriptor, putter);
        continue;
      }
      const next = (generation + 1) & generationMask;
      words[leases + slot] = generationBits(next) | cached;
      marks[slot] = slots[filled++] = (next << slotBits) | slot;
    }
    this.#home.countPut(filled - top, across);
    this.#stopped = at;
    return filled;
  }

  #release(entries: number, mask: number, from: number, to: number, putter: number): void {
    const { format } = this.#pool;
    const words = this.#words;
    if (from === to) return;
    let done = 0;
    let across = 0;
    for (let at = from; at !== to; at = (at + 1) | 0) {
      const descriptor = words[entries + (at & mask)]!;
      if (!this.#isDue(descriptor)) {
        this.#putGiven(descriptor, putter);
        continue;
      }
      const slot = format.slotOf(descriptor);
      if (gotByOf(words[this.#links + slot]!) !== putter) across++;
      this.#home.free(slot, format.next(format.generationOf(descriptor)));
      done++;
    }
    this.#home.countPut(done, across);
  }

  /** Whether a thread of this shard holds the slot in that generation. */
  #isDue(descriptor: number): boolean {
    const slot = descriptor & this.#slotMask;
    const lease = this.#words[this.#leases + slot]!;
    return (
      (lease & this.#governedMask) === this.#governed &&
      descriptorOfLease(lease, slot, this.#slotBits) === descriptor
    );
  }

  /** The lease word of a slot that was given away in that generation, to the putter or to anyone; else 0. */
  #givenLease(descriptor: number, putter: number): number {
    const slot = descriptor & this.#slotMask;
    const lease = this.#pool.lease(slot);
    return isGivenTo(lease, putter) && descriptorOfLease(lease, slot, this.#slotBits) === descriptor
      ? lease
      : 0;
  }

  /** What nobody holds: adopted and put at once where it was given away, which others may adopt meanwhile; else refused. */
  #putGiven(descriptor: number, putter: number): void {
    const { format, platform } = this.#pool;
    const slot = descriptor & this.#slotMask;
    const given = this.#givenLease(descriptor, putter);
    const free = leaseWord(format.next(format.generationOf(descriptor)), LEASE.free, this.#home.number);
    const at = this.#leases + slot;
    if (given !== 0 && platform.atomics.compareExchange(this.#words, at, given, free) === given) {
      const across = gotByOf(this.#words[this.#links + slot]!) === putter ? 0 : 1;
      this.#home.link(slot);
      this.#home.countPut(1, across);
      return;
    }
    // A closed pool has taken what was underway by itself.
    if (this.#words[closed] !== CLOSED) noteLateRefusal(this.#pool, descriptor, putter);
  }

  #used(): readonly Lane[] {
    this.#look();
    return this.#lanes;
  }

  /** Whether there are lanes in use that this thread did not know. */
  #look(): boolean {
    const { atomics } = this.#pool.platform;
    let more = false;
    for (let word = 0; word < this.#seen.length; word++) {
      const marks = atomics.load(this.#words, this.#marks + word);
      if (marks === this.#seen[word]) continue;
      this.#add(word, marks);
      more = true;
    }
    return more;
  }

  #add(word: number, marks: number): void {
    for (let bit = 0; bit < SEATS_PER_WORD; bit++) {
      if (((marks & ~this.#seen[word]!) >>> bit) & 1) {
        this.#lanes.push(new Lane(this.#pool, word * SEATS_PER_WORD + bit, this.#home.number));
      }
    }
    this.#seen[word] = marks;
  }
}
