import type { StateVector } from './state-vector.js';

/**
 * Finds data races: two accesses to one place, at least one of them plain and one a write, of which neither
 * happens before the other.
 *
 * In place of clocks it keeps what clocks would tell, as bits: for each tracked access whether it happens before
 * the present moment of each thread, and before the last write of each atomic word. The bits are part of the state
 * vector, so that pruning states and finding races go together: two states with equal memory but different
 * knowledge are different states.
 *
 * A *place* is a word, or a byte once a model uses elements smaller than a word. Only places that some thread
 * accesses plainly are tracked. For each there is a bit for
 *
 * - the last plain write,
 * - the last plain read of each thread,
 * - the last atomic write of each thread,
 * - the last atomic read of each thread.
 *
 * | row | a set bit means |
 * |---|---|
 * | of a thread | there was such an access, and the thread does **not** know of it |
 * | of an atomic word | its last write knew of the access |
 * | `#happened` | there was such an access |
 *
 * Edges: an atomic read of a word takes over what its last write knew; a store replaces it, a read-modify-write
 * adds to it, both as the JavaScript memory model has it; a woken thread knows what its waker knew; a recovering
 * thread knows what the dead one knew.
 */
export class HappensBefore {
  readonly #state: StateVector;
  readonly #threads: number;
  readonly #stride: number;
  /** Places to the index of their first bit. */
  readonly #bits = new Map<number, number>();
  /** Words of a row. */
  readonly #width: number;
  readonly #threadRows: number;
  readonly #happened: number;
  /** Word with a bit for each thread that has ended: what it knows tells no states apart. */
  readonly #retired: number;
  /** Addresses of atomic words to their rows, made as they are first written. */
  readonly #syncRows = new Map<number, number>();
  readonly #syncRowList: number[] = [];

  constructor(state: StateVector, threads: number, places: Iterable<number>) {
    this.#state = state;
    this.#threads = threads;
    this.#stride = 1 + 3 * threads;
    for (const place of places) this.#bits.set(place, this.#bits.size * this.#stride);
    this.#width = Math.ceil((this.#bits.size * this.#stride) / 32);
    this.#threadRows = state.allocate(this.#width * threads);
    this.#happened = state.allocate(this.#width);
    this.#retired = state.allocate(1);
  }

  /** Whether there is anything to track. */
  get active(): boolean {
    return this.#width > 0;
  }

  tracks(place: number): boolean {
    return this.#bits.has(place);
  }

  /** A plain read of a place by a thread: the threads that it races with, as bits. */
  plainRead(thread: number, place: number): number {
    const base = this.#bits.get(place);
    if (base === undefined) return 0;
    let racing = this.#unknown(thread, base) ? UNNAMED : 0;
    for (let other = 0; other < this.#threads; other++) {
      if (this.#unknown(thread, this.#atomicWrite(base, other))) racing |= 1 << other;
    }
    this.#record(thread, base + 1 + thread);
    return racing;
  }

  plainWrite(thread: number, place: number): number {
    const base = this.#bits.get(place);
    if (base === undefined) return 0;
    let racing = this.#unknown(thread, base) ? UNNAMED : 0;
    for (let bit = 1; bit < this.#stride; bit++) {
      if (this.#unknown(thread, base + bit)) racing |= 1 << ((bit - 1) % this.#threads);
    }
    // All earlier accesses happen before this one: whoever knows of this one knows of them.
    for (let bit = 1; bit < this.#stride; bit++) this.#forget(base + bit);
    this.#record(thread, base);
    return racing;
  }

  atomicRead(thread: number, place: number): number {
    const base = this.#bits.get(place);
    if (base === undefined) return 0;
    this.#record(thread, base + 1 + 2 * this.#threads + thread);
    return this.#unknown(thread, base) ? UNNAMED : 0;
  }

  atomicWrite(thread: number, place: number): number {
    const base = this.#bits.get(place);
    if (base === undefined) return 0;
    let racing = this.#unknown(thread, base) ? UNNAMED : 0;
    for (let other = 0; other < this.#threads; other++) {
      if (this.#unknown(thread, base + 1 + other)) racing |= 1 << other;
    }
    this.#record(thread, this.#atomicWrite(base, thread));
    return racing;
  }

  /** The thread has read an atomic word: it knows what the last write of the word knew. */
  acquire(thread: number, address: number): void {
    const row = this.#syncRows.get(address);
    if (row === undefined) return;
    const { values } = this.#state;
    const own = this.#threadRows + thread * this.#width;
    for (let at = 0; at < this.#width; at++) {
      this.#state.put(own + at, values[own + at]! & ~values[row + at]!);
    }
  }

  /** The thread has written an atomic word: the word knows what the thread knows. */
  release(thread: number, address: number): void {
    let row = this.#syncRows.get(address);
    if (row === undefined) {
      row = this.#state.allocate(this.#width);
      this.#syncRows.set(address, row);
      this.#syncRowList.push(row);
    }
    const { values } = this.#state;
    const own = this.#threadRows + thread * this.#width;
    for (let at = 0; at < this.#width; at++) {
      this.#state.put(row + at, values[this.#happened + at]! & ~values[own + at]!);
    }
  }

  /** `thread` learns what `from` knows. */
  learn(thread: number, from: number): void {
    const { values } = this.#state;
    const own = this.#threadRows + thread * this.#width;
    const other = this.#threadRows + from * this.#width;
    for (let at = 0; at < this.#width; at++) {
      this.#state.put(own + at, values[own + at]! & values[other + at]!);
    }
  }

  /** The thread has ended: its knowledge is forgotten. */
  retire(thread: number): void {
    if (!this.active) return;
    const own = this.#threadRows + thread * this.#width;
    for (let at = 0; at < this.#width; at++) this.#state.put(own + at, 0);
    this.#state.put(this.#retired, this.#state.values[this.#retired]! | (1 << thread));
  }

  #atomicWrite(base: number, thread: number): number {
    return base + 1 + this.#threads + thread;
  }

  #unknown(thread: number, bit: number): boolean {
    const row = this.#threadRows + thread * this.#width;
    return (this.#state.values[row + (bit >>> 5)]! & (1 << (bit & 31))) !== 0;
  }

  /** A new access: its own thread knows of it, nothing else does. */
  #record(thread: number, bit: number): void {
    const at = bit >>> 5;
    const mask = 1 << (bit & 31);
    const state = this.#state;
    const retired = state.values[this.#retired]!;
    for (let other = 0; other < this.#threads; other++) {
      if ((retired & (1 << other)) !== 0) continue;
      const index = this.#threadRows + other * this.#width + at;
      const value = state.values[index]!;
      state.put(index, other === thread ? value & ~mask : value | mask);
    }
    for (const row of this.#syncRowList) state.put(row + at, state.values[row + at]! & ~mask);
    state.put(this.#happened + at, state.values[this.#happened + at]! | mask);
  }

  #forget(bit: number): void {
    const at = bit >>> 5;
    const mask = ~(1 << (bit & 31));
    const state = this.#state;
    for (let thread = 0; thread < this.#threads; thread++) {
      const index = this.#threadRows + thread * this.#width + at;
      state.put(index, state.values[index]! & mask);
    }
    for (const row of this.#syncRowList) state.put(row + at, state.values[row + at]! & mask);
    state.put(this.#happened + at, state.values[this.#happened + at]! & mask);
  }
}

/** Set where the race is with the last plain write, whose thread the bits do not tell. */
const UNNAMED = 1 << 30;
