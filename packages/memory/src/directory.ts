import { KIND_WORDS, NAME_WORDS, SLOT_EMPTY, SLOT_REMOVED, structureLayout } from './directory.layout.js';
import { HeddleError } from './errors.js';
import { type Layout, roundUp, WORD_BYTES } from './layout.js';
import { hashWords, packText, unpackText } from './packed-text.js';
import { type Platform, realPlatform } from './platform.js';
import { assertAlignment, type Range, type Space } from './space.js';
import { UNIT_BYTES } from './space.layout.js';

const { kind, name, version, bodyOffset, byteLengthLow, byteLengthHigh } = structureLayout.offsets;
const NAME_END = name + NAME_WORDS;
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
   * Fills the body in before anyone can see it. The memory is zero: what is 0 at first needs no store.
   */
  readonly init?: ((info: StructureInfo) => void) | undefined;
}

/**
 * The named structures of a segment.
 *
 * **Layout**: a table of one-word slots, probed from the hash of the name; a slot holds the index of the range
 * at whose beginning kind, name and version stand ({@link structureLayout}), followed by the body.
 *
 * **States** of a slot: 0 empty → range index + 1 → -1 removed, for ever. A name is created at the first empty
 * slot of its probe sequence, so two creators of one name meet at the same slot.
 *
 * **One commit**: a structure is complete, body included, before one CAS of its slot makes it visible. Losers
 * see the winner's and free their range.
 *
 * **Ordering**: D1: body and names before the slot's CAS ↔ the slot's load before names and body. A reader loads
 * the slot again after it, since the memory of a removed structure may be in use for another.
 *
 * **Death**: before the CAS the range belongs to its thread and is discarded; after it, kept. A removal retires the
 * range, marks the slot, then frees: recovery finishes it.
 *
 * **Cost**: a slow path; `find` loads the 33 words that describe a structure, for each slot that it looks at.
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
      const info = this.#read(slot, held);
      if (info?.name === structureName) return info;
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
    if (this.#load(info.slot) !== info.range.index + 1 || !this.#space.retire(info.range, owner))
      return false;
    this.#platform.atomics.store(this.#slots, info.slot, SLOT_REMOVED);
    this.#space.free(info.range);
    return true;
  }

  /** The structure in a slot, undefined where there is none. */
  at(slot: number): StructureInfo | undefined {
    return this.#read(slot, this.#load(slot));
  }

  /** All structures, in no order. */
  list(): StructureInfo[] {
    const all: StructureInfo[] = [];
    for (let slot = 0; slot < this.capacity; slot++) {
      const info = this.at(slot);
      if (info) all.push(info);
    }
    return all;
  }

  /**
   * Settles the ranges that a dead thread left: a published structure is kept, a removal that it began is
   * finished, everything else is discarded. Can be repeated. Who opened a structure may remove it at the same time:
   * then the range is theirs to free.
   */
  settle(deadOwner: number): void {
    const slotOf = new Map<number, number>();
    for (let slot = 0; slot < this.capacity; slot++) slotOf.set(this.#load(slot) - 1, slot);
    for (const range of this.#space.owned(deadOwner)) {
      const slot = slotOf.get(range.index);
      if (slot !== undefined && this.#space.isLive(range)) {
        this.#space.keep(range);
        continue;
      }
      if (slot !== undefined) this.#platform.atomics.store(this.#slots, slot, SLOT_REMOVED);
      this.#space.discardOf(deadOwner, range);
    }
  }

  #place(options: StructureOptions, owner: number): { info: StructureInfo; created: boolean } {
    const nameWords = packText('The name of a structure', options.name, NAME_WORDS);
    const kindWords = packText('The kind of a structure', options.layout.kind, KIND_WORDS);
    assertByteLength(options.byteLength);
    assertAlignment(options.align ?? UNIT_BYTES);
    let built: StructureInfo | undefined;
    try {
      for (const slot of this.#probe(nameWords)) {
        let held = this.#load(slot);
        if (held === SLOT_EMPTY) {
          built ??= this.#build(options, kindWords, nameWords, owner);
          const { range } = built;
          held = this.#platform.atomics.compareExchange(this.#slots, slot, SLOT_EMPTY, range.index + 1); // D1
          if (held === SLOT_EMPTY) {
            const info = { ...built, slot };
            built = undefined;
            this.#space.keep(range);
            return { info, created: true };
          }
        }
        const info = this.#read(slot, held);
        if (info?.name === options.name) return { info, created: false };
      }
    } finally {
      if (built) this.#space.discard(built.range);
    }
    throw new HeddleError(
      'ERR_HEDDLE_DIRECTORY_FULL',
      `All ${this.capacity} names of the directory are used, those of removed structures included: create the segment with a larger maxStructures`,
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
      for (let i = 0; i < KIND_WORDS; i++) atomics.store(words, kind + i, kindWords[i]!);
      for (let i = 0; i < NAME_WORDS; i++) atomics.store(words, name + i, nameWords[i]!);
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

  /** The structure in a slot that held this; undefined where it holds none, or what it held was removed meanwhile. */
  #read(slot: number, held: number): StructureInfo | undefined {
    if (held === SLOT_EMPTY || held === SLOT_REMOVED) return undefined;
    const { atomics } = this.#platform;
    const range = this.#space.at(held - 1);
    const words = this.#wordsOf(range.byteOffset, structureLayout.byteLength);
    const texts = new Int32Array(NAME_END);
    for (let i = kind; i < NAME_END; i++) texts[i] = atomics.load(words, i);
    const info = {
      name: unpackText(texts.subarray(name, NAME_END)),
      kind: unpackText(texts.subarray(kind, kind + KIND_WORDS)),
      version: atomics.load(words, version),
      byteOffset: range.byteOffset + atomics.load(words, bodyOffset),
      byteLength: atomics.load(words, byteLengthHigh) * 2 ** 32 + (atomics.load(words, byteLengthLow) >>> 0),
      slot,
      range,
    };
    return this.#load(slot) === held ? info : undefined;
  }

  #wordsOf(byteOffset: number, byteLength: number): Int32Array {
    return this.#segment.subarray(byteOffset / WORD_BYTES, (byteOffset + byteLength) / WORD_BYTES);
  }

  #load(slot: number): number {
    return this.#platform.atomics.load(this.#slots, slot);
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
