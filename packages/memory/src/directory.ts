import {
  decidedWord,
  isProposed,
  isTaken,
  KIND_WORDS,
  NAME_WORDS,
  proposedWord,
  rangeIndexOf,
  SLOT_EMPTY,
  SLOT_FREE,
  slotWord,
  structureLayout,
} from './directory.layout.js';
import { HeddleError } from './errors.js';
import { type Layout, roundUp, WORD_BYTES } from './layout.js';
import { hashWords, packText, unpackText } from './packed-text.js';
import { type Platform, realPlatform } from './platform.js';
import { assertAlignment, type Range, type Space } from './space.js';
import { UNIT_BYTES } from './space.layout.js';

const { kind, name, version, bodyOffset, byteLengthLow, byteLengthHigh } = structureLayout.offsets;
const COPY_WORDS = 16 * 1024;
const ZEROS = new Int32Array(COPY_WORDS);

/** A named structure as the directory knows it. */
export interface StructureInfo {
  readonly name: string;
  readonly kind: string;
  readonly version: number;
  /** Of the body in the segment. */
  readonly byteOffset: number;
  /** Of the body, as asked for at creation. */
  readonly byteLength: number;
  /** Its place in the directory: what recovery counts by. */
  readonly slot: number;
  readonly range: Range;
}

/** What a structure is created from. */
export interface StructureOptions {
  readonly name: string;
  readonly layout: Pick<Layout, 'kind' | 'version'>;
  /** Bytes of the body. */
  readonly byteLength: number;
  /** Alignment of the body in bytes: a power of two up to 2^30, default 128. */
  readonly align?: number | undefined;
  /**
   * Fills the body in before anyone can see it. The memory is zero: what is 0 at first needs no store. Called once more,
   * for other memory, where another creator of the name came first and its structure was removed at once.
   */
  readonly init?: ((info: StructureInfo) => void) | undefined;
}

/**
 * The named structures of a segment.
 *
 * **Layout**: a table of one-word slots, probed from the hash of the name; a slot holds the index of the range
 * at whose beginning kind, name and version stand ({@link structureLayout}), followed by the body.
 *
 * **States** of a slot (`directory.layout.ts`):
 *
 * | state    | meaning                                                              | becomes                            |
 * |----------|----------------------------------------------------------------------|------------------------------------|
 * | empty    | never used: probing ends here                                        | proposed, when a creator takes it  |
 * | free     | used before: probing goes on                                         | the same                           |
 * | proposed | a structure that is complete, and of whose name there may be another | decided or free, by anyone         |
 * | decided  | a structure, as long as its range is live                            | free, when it was removed          |
 *
 * **Invariant**: of one name at most one slot is decided and its range live. A creator proposes first, and then looks
 * at the whole probe sequence (so of two at least one sees the other): it gives way to one that is decided, or proposed
 * at an earlier place; one that is proposed at a later place gives way to it, by CAS. Whoever meets a proposal of the
 * name that it wants decides it in the same way, so nobody waits for a creator that sleeps or died.
 *
 * **One commit**: a structure is complete, body included, before the CAS of its slot from proposed to decided makes it
 * visible. Losers see the winner's and free their range. A removal is committed by the CAS that retires the range.
 *
 * **Ordering**: D1: body and names, then the slot's CAS to proposed, then that to decided ↔ the slot's load before names
 * and body. A reader looks again after it whether slot and range are the same, since the memory of a removed structure
 * may be in use for another.
 *
 * **Death**: before it is decided the range belongs to its thread and is discarded, and its slot is free; after it, kept.
 * A removal retires the range, frees the slot, then the range: recovery finishes it.
 *
 * **Limits**: who sleeps between its look at a proposal and its CAS is deceived where that slot is used again by the same
 * range 2^13 times meanwhile, and just then has a proposal of that name.
 *
 * **Cost**: a slow path; `find` makes 6 loads for a slot with another name (more where the first 4 bytes agree),
 * and 13 and one for each 4 bytes of name and kind for the one that it finds.
 */
export class Directory {
  readonly capacity: number;
  readonly #slots: Int32Array;
  readonly #segment: Int32Array;
  readonly #space: Space;
  readonly #platform: Platform;

  /**
   * @param slots one word a slot, all zero at first.
   * @param segment the words of the whole segment, for the structures in it.
   */
  constructor(slots: Int32Array, segment: Int32Array, space: Space, platform: Platform = realPlatform) {
    this.#slots = slots;
    this.#segment = segment;
    this.#space = space;
    this.#platform = platform;
    this.capacity = slots.length;
  }

  /**
   * Creates a structure for the thread `owner`.
   *
   * @throws HeddleError `ERR_HEDDLE_NAME_TAKEN`, `ERR_HEDDLE_DIRECTORY_FULL`, `ERR_HEDDLE_OUT_OF_SPACE`;
   *   TypeError or RangeError for a bad name or size. What `init` throws comes through. Nothing is left behind.
   */
  create(options: StructureOptions, owner: number): StructureInfo {
    const { info, created } = this.#place(options, owner);
    if (created) return info;
    throw new HeddleError(
      'ERR_HEDDLE_NAME_TAKEN',
      `The segment has a ${info.kind} named "${info.name}" already: open it, or choose another name`,
      { name: info.name, kind: info.kind },
    );
  }

  /**
   * Opens a structure, or creates it where there is none; of many threads that try at once, one creates.
   *
   * @throws as {@link create} and {@link open} do.
   */
  openOrCreate(options: StructureOptions, owner: number): { info: StructureInfo; created: boolean } {
    const placed = this.#place(options, owner);
    checkKind(placed.info, options.layout);
    return placed;
  }

  /**
   * @throws HeddleError `ERR_HEDDLE_NAME_UNKNOWN` where nothing has that name, `ERR_HEDDLE_KIND_MISMATCH` where
   *   it is of another kind, `ERR_HEDDLE_VERSION` where its layout has another version.
   */
  open(structureName: string, layout: Pick<Layout, 'kind' | 'version'>): StructureInfo {
    const info = this.find(structureName);
    if (!info) {
      throw new HeddleError(
        'ERR_HEDDLE_NAME_UNKNOWN',
        `The segment has no structure named "${structureName}"; it has ${this.#names()}`,
        { name: structureName },
      );
    }
    checkKind(info, layout);
    return info;
  }

  /** The structure of that name, undefined where there is none. */
  find(structureName: string): StructureInfo | undefined {
    const nameWords = packText('The name of a structure', structureName, NAME_WORDS);
    for (const slot of this.#probe(nameWords)) {
      const held = this.#load(slot);
      if (held === SLOT_EMPTY) return undefined;
      const info = isProposed(held) ? undefined : this.#read(slot, held, nameWords);
      if (info) return info;
    }
    return undefined;
  }

  /**
   * Removes a structure and frees its memory. Whoever still uses it corrupts what comes after: the structure's
   * own `close` makes sure first that nobody does.
   *
   * @returns whether this call removed it.
   */
  remove(info: StructureInfo, owner: number): boolean {
    const word = slotWord(info.range);
    if (this.#load(info.slot) !== word || !this.#space.retire(info.range, owner)) return false;
    this.#replace(info.slot, word, SLOT_FREE);
    this.#space.free(info.range);
    return true;
  }

  /** The structure in a slot, undefined where there is none. */
  at(slot: number): StructureInfo | undefined {
    const held = this.#load(slot);
    return isProposed(held) ? undefined : this.#read(slot, held);
  }

  /**
   * All structures, in no order. Of those that come and go meanwhile some may be missing, and one that is removed and created
   * anew may be there twice.
   */
  list(): StructureInfo[] {
    const all: StructureInfo[] = [];
    for (let slot = 0; slot < this.capacity; slot++) {
      const info = this.at(slot);
      if (info) all.push(info);
    }
    return all;
  }

  /**
   * Takes back what a dead thread proposed and nobody has decided. Before anything is recovered: what counts from then
   * on is in the directory already. Can be repeated.
   */
  withdraw(deadOwner: number): void {
    for (const [slot, held] of this.#heldBy(deadOwner)) {
      if (isProposed(held)) this.#replace(slot, held, SLOT_FREE);
    }
  }

  /**
   * Settles the ranges that a dead thread left: a published structure is kept, a removal that it began is
   * finished, everything else is discarded. Can be repeated. Who opened a structure may remove it at the same time:
   * then the range is theirs to free.
   */
  settle(deadOwner: number): void {
    this.withdraw(deadOwner);
    for (const [slot, held, range] of this.#heldBy(deadOwner)) {
      if (this.#space.isLive(range)) this.#space.keep(range);
      else this.#replace(slot, held, SLOT_FREE);
    }
    for (const range of this.#space.owned(deadOwner)) this.#space.discardOf(deadOwner, range);
  }

  /** The slots that refer to ranges of a thread: slot, its word, the range. */
  #heldBy(owner: number): [number, number, Range][] {
    const ranges = new Map(this.#space.owned(owner).map((range) => [slotWord(range), range]));
    const all: [number, number, Range][] = [];
    for (let slot = 0; slot < this.capacity; slot++) {
      const held = this.#load(slot);
      const range = isTaken(held) ? ranges.get(decidedWord(held)) : undefined;
      if (range) all.push([slot, held, range]);
    }
    return all;
  }

  #place(options: StructureOptions, owner: number): { info: StructureInfo; created: boolean } {
    const nameWords = packText('The name of a structure', options.name, NAME_WORDS);
    const kindWords = packText('The kind of a structure', options.layout.kind, KIND_WORDS);
    assertByteLength(options.byteLength);
    assertAlignment(options.align ?? UNIT_BYTES);
    let built: StructureInfo | undefined;
    try {
      // Each turn of this loop finds that another thread took a slot, or that another structure of this name goes first.
      for (;;) {
        const { info, slot, held } = this.#findOrPlace(nameWords);
        if (info) return { info, created: false };
        if (slot < 0) throw this.#full();
        built ??= this.#build(options, kindWords, nameWords, owner);
        const { range } = built;
        const proposed = proposedWord(range);
        if (!this.#replace(slot, held, proposed)) continue; // D1
        const counts = this.#decide(slot, proposed, nameWords);
        const placed = { ...built, slot };
        built = undefined;
        // What is not live any more did count, and was removed at once by who found it.
        if (!counts && this.#space.isLive(range)) {
          // It gave way. Who has looked at it may be about to decide it still: that word must not come again.
          this.#space.discard(range);
          continue;
        }
        this.#space.keep(range);
        return { info: placed, created: true };
      }
    } finally {
      if (built) this.#space.discard(built.range);
    }
  }

  /** The structure of that name; else the first slot where one can be proposed, and its word; slot -1 where there is none. */
  #findOrPlace(nameWords: Int32Array): { info?: StructureInfo; slot: number; held: number } {
    let slot = -1;
    let held = SLOT_EMPTY;
    for (const at of this.#probe(nameWords)) {
      const word = this.#load(at);
      const info = this.#read(at, word, nameWords);
      if (info && (!isProposed(word) || this.#decide(at, word, nameWords)))
        return { info, slot: at, held: word };
      if (slot < 0 && !isTaken(word)) [slot, held] = [at, word];
      if (word === SLOT_EMPTY) break;
    }
    return { slot, held };
  }

  /**
   * Decides whether a proposed structure counts. Anyone may, and several at once.
   *
   * @returns whether it does.
   */
  #decide(slot: number, proposed: number, nameWords: Int32Array): boolean {
    let isLater = false;
    for (const at of this.#probe(nameWords)) {
      if (at === slot) {
        isLater = true;
        continue;
      }
      const found = this.#clear(at, nameWords, isLater);
      if (found === 'empty') break;
      if (found === 'goes first') {
        this.#replace(slot, proposed, SLOT_FREE);
        break;
      }
    }
    const decided = decidedWord(proposed);
    return this.#replace(slot, proposed, decided) || this.#load(slot) === decided;
  }

  /** Makes a proposal of that name give way, where it `mayGiveWay`. */
  #clear(slot: number, nameWords: Int32Array, mayGiveWay: boolean): 'empty' | 'no such name' | 'goes first' {
    // Each turn of this loop finds that another thread has changed the slot.
    for (;;) {
      const word = this.#load(slot);
      if (word === SLOT_EMPTY) return 'empty';
      if (this.#read(slot, word, nameWords)) {
        if (!mayGiveWay || !isProposed(word)) return 'goes first';
        if (this.#replace(slot, word, SLOT_FREE)) return 'no such name';
      } else if (!isTaken(word) || this.#load(slot) === word) return 'no such name';
    }
  }

  #full(): HeddleError {
    return new HeddleError(
      'ERR_HEDDLE_DIRECTORY_FULL',
      `All ${this.capacity} names of the directory are used: remove structures, or create the segment with a larger maxStructures`,
      { capacity: this.capacity },
    );
  }

  /** Everything of a structure but its slot. */
  #build(
    { name: structureName, layout, byteLength, init, align = UNIT_BYTES }: StructureOptions,
    kindWords: Int32Array,
    nameWords: Int32Array,
    owner: number,
  ): StructureInfo {
    const { atomics } = this.#platform;
    const offset = roundUp(structureLayout.byteLength, align);
    const range = this.#space.allocate(offset + byteLength, owner, align);
    try {
      const words = this.#wordsOf(range.byteOffset, range.byteLength);
      if (range.generation > 0) clear(words);
      this.#storeText(words, kind, kindWords);
      this.#storeText(words, name, nameWords);
      atomics.store(words, version, layout.version);
      atomics.store(words, bodyOffset, offset);
      atomics.store(words, byteLengthLow, byteLength | 0);
      atomics.store(words, byteLengthHigh, Math.floor(byteLength / 2 ** 32));
      const info = {
        name: structureName,
        kind: layout.kind,
        version: layout.version,
        byteOffset: range.byteOffset + offset,
        byteLength,
        slot: -1,
        range,
      };
      init?.(info);
      return info;
    } catch (error) {
      this.#space.discard(range);
      throw error;
    }
  }

  /**
   * The structure in a slot that held this, whether it counts or not; undefined where it holds none, or what it held was
   * removed or replaced meanwhile.
   *
   * @param nameWords of which name it has to be, where that matters.
   */
  #read(slot: number, held: number, nameWords?: Int32Array): StructureInfo | undefined {
    if (!isTaken(held)) return undefined;
    const { atomics } = this.#platform;
    const range = this.#space.at(rangeIndexOf(held));
    if (slotWord(range) !== decidedWord(held)) return undefined;
    const words = this.#wordsOf(range.byteOffset, structureLayout.byteLength);
    // The name first: in most slots it is another one.
    const nameFound = this.#loadText(words, name, NAME_WORDS, nameWords);
    if (!nameFound) return undefined;
    const info = {
      name: unpackText(nameFound),
      kind: unpackText(this.#loadText(words, kind, KIND_WORDS)!),
      version: atomics.load(words, version),
      byteOffset: range.byteOffset + atomics.load(words, bodyOffset),
      byteLength: atomics.load(words, byteLengthHigh) * 2 ** 32 + (atomics.load(words, byteLengthLow) >>> 0),
      slot,
      range,
    };
    return this.#load(slot) === held && this.#space.isLive(range) ? info : undefined;
  }

  /** Text up to its end; undefined where it is not the one that is wanted. */
  #loadText(words: Int32Array, at: number, mostWords: number, wanted?: Int32Array): Int32Array | undefined {
    const text = new Int32Array(mostWords);
    for (let i = 0; i < mostWords; i++) {
      text[i] = this.#platform.atomics.load(words, at + i);
      if (wanted && text[i] !== wanted[i]) return undefined;
      if (text[i] === 0) break;
    }
    return text;
  }

  #storeText(words: Int32Array, at: number, text: Int32Array): void {
    for (const [i, word] of text.entries()) if (word !== 0) this.#platform.atomics.store(words, at + i, word);
  }

  #wordsOf(byteOffset: number, byteLength: number): Int32Array {
    return this.#segment.subarray(byteOffset / WORD_BYTES, (byteOffset + byteLength) / WORD_BYTES);
  }

  #load(slot: number): number {
    return this.#platform.atomics.load(this.#slots, slot);
  }

  #replace(slot: number, expected: number, replacement: number): boolean {
    return this.#platform.atomics.compareExchange(this.#slots, slot, expected, replacement) === expected;
  }

  *#probe(nameWords: Int32Array): Generator<number> {
    const first = hashWords(nameWords) % this.capacity;
    for (let i = 0; i < this.capacity; i++) yield (first + i) % this.capacity;
  }

  #names(): string {
    const names = this.list().map((info) => `"${info.name}" (${info.kind})`);
    if (names.length === 0) return 'none at all';
    const more = names.length > 10 ? ` and ${names.length - 10} more` : '';
    return names.slice(0, 10).join(', ') + more;
  }
}

function assertByteLength(byteLength: number): void {
  if (Number.isSafeInteger(byteLength) && byteLength >= 0) return;
  throw new RangeError(`The size of a structure is a whole number of bytes, not ${byteLength}`);
}

function checkKind(info: StructureInfo, layout: Pick<Layout, 'kind' | 'version'>): void {
  if (info.kind !== layout.kind) {
    throw new HeddleError(
      'ERR_HEDDLE_KIND_MISMATCH',
      `"${info.name}" is a ${info.kind}, not a ${layout.kind}`,
      { name: info.name, kind: info.kind, asked: layout.kind },
    );
  }
  if (info.version !== layout.version) {
    throw new HeddleError(
      'ERR_HEDDLE_VERSION',
      `The ${info.kind} "${info.name}" has layout version ${info.version}, this code knows version ${layout.version}: load one version of Heddle in all threads`,
      { name: info.name, version: info.version, asked: layout.version },
    );
  }
}

/** Zeroes words by copies from private zeros: `fill` is many times slower on shared views. */
function clear(words: Int32Array): void {
  for (let at = 0; at < words.length; at += COPY_WORDS) {
    const left = Math.min(COPY_WORDS, words.length - at);
    words.set(left === COPY_WORDS ? ZEROS : ZEROS.subarray(0, left), at);
  }
}
