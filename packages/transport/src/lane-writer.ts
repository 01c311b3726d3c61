import { copyBytes, type Platform, realPlatform, type Step } from '@heddle/memory';
import type { LaneBell } from './doorbell.js';
import * as layout from './lane.layout.js';
import { record } from './record.js';
import * as answers from './send-answer.js';

const { ARMED, CLOSED, laneLayout, POSITION_FLAGS, UNIT, UNIT_BYTES, WAITING } = layout;
const { KIND, PADDING, RECORD_HEAD_BYTES, SLOT_BODY_BYTES, SLOT_RECORD } = record;
const { packFirst, packSecond, recordPositions, toUnits } = record;
const { SENT, NO_ROOM, LANE_CLOSED } = answers;
const { tail, head } = laneLayout.offsets;
const RECORD_HEAD_WORDS = RECORD_HEAD_BYTES / 4;

/** Up to here bytes are copied word by word: setting up a copy of the engine costs more. */
const LOOP_BYTES = 24;

/** Whether a word's first byte is its lowest, as on all but a few machines. */
const LITTLE_ENDIAN = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1;
const MOST_LOOP_BYTES = LITTLE_ENDIAN ? LOOP_BYTES : 0;

/**
 * The sending end of a lane: one thread's.
 *
 * **Records** lie in one piece and take at most half of the space, so that one always fits, behind padding at worst.
 *
 * **Ownership**: everything from the tail up to what the receiver gave back is this end's to write. `tail` is moved by
 * this end alone; others set flags in it.
 *
 * **Ordering**: L1: plain stores of the record, before the CAS of `tail` ↔ the load of `tail` before it is read. L2:
 * plain reads of the record, before the exchange of `head` ↔ the load of `head` before it is written over.
 *
 * **Death**: a record is there by one CAS of the tail. Before it nothing happened; after it only the ring of the
 * doorbell may be missing, which recovery gives.
 *
 * **Cost**, in Atomics calls: a record 1 CAS, corked 0; 1 load more each time the room known before is used up; 2 CAS
 * and 1 notify more where the receiver sleeps. Refused for lack of room: 1 load.
 */
export class LaneWriter {
  /** Of what is written next. Ahead of `tail` by what is held back. */
  position: number;
  readonly #words: Int32Array;
  readonly #space: Int32Array;
  readonly #bytes: Uint8Array;
  readonly #atomics: Platform['atomics'];
  readonly #doorbell: LaneBell;
  readonly #capacity: number;
  readonly #mask: number;
  /** As `tail` says it to the receiver. */
  #published: number;
  /** Position up to which there is room, as far as this end knows. */
  #limit: number;
  /** The same as a count that does not wrap. Exact: `head` moves by less than all positions between two looks. */
  #limitCount = 0;
  /** The same, but no further than to the end of the space: up to here records follow each other. */
  #straight: number;
  #corked = false;

  /**
   * @param words the lane from its first word on.
   * @param bytes its space, a power of two of bytes.
   */
  constructor(words: Int32Array, bytes: Uint8Array, doorbell: LaneBell, platform: Platform = realPlatform) {
    this.#words = words;
    this.#space = words.subarray(laneLayout.wordCount, laneLayout.wordCount + bytes.length / 4);
    this.#bytes = bytes;
    this.#atomics = platform.atomics;
    this.#doorbell = doorbell;
    this.#capacity = (bytes.length / UNIT_BYTES) * UNIT;
    this.#mask = this.#capacity - 1;
    this.#published = platform.atomics.load(words, tail) & ~POSITION_FLAGS;
    this.position = this.#published;
    this.#limit = this.position;
    this.#straight = this.position;
  }

  /** Whether the lane is closed. 1 load. */
  get closed(): boolean {
    return (this.#atomics.load(this.#words, tail) & CLOSED) !== 0;
  }

  /** Sends header and data in the lane itself. */
  writeInline(id: number, header: Uint8Array, data: Uint8Array): number {
    const headerBytes = header.length;
    const dataBytes = data.length;
    const dataAt = toUnits(headerBytes);
    const bodyBytes = dataAt + dataBytes;
    const at = this.#reserve(recordPositions(bodyBytes));
    if (at < 0) return this.refuse();
    this.#space[at] = packFirst(KIND.inline, bodyBytes);
    this.#space[at + 1] = packSecond(id, headerBytes);
    const body = at + RECORD_HEAD_WORDS;
    if (headerBytes > 0) this.#copy(header, headerBytes, body);
    this.#copy(data, dataBytes, body + (dataAt >> 2));
    return this.#finish(bodyBytes);
  }

  /**
   * Sends data without headers in the lane itself, from number `from` on, corked: as far as each is bytes, `most` at most,
   * and there is room that is known and in one piece. Returns the number of the first that is not sent.
   *
   * Reading one may run code of the program, which may send here, or {@link leave}: so the place is looked at afterwards.
   */
  writeManyInline(id: number, all: readonly unknown[], from: number, most: number): number {
    const space = this.#space;
    const mask = this.#mask;
    const second = packSecond(id, 0);
    for (let at = from; at < all.length; at++) {
      const data = all[at];
      if (!(data instanceof Uint8Array)) return at;
      const { length } = data;
      if (length > most) return at;
      const { position } = this;
      const next = (position + recordPositions(length)) | 0;
      if (((this.#straight - next) | 0) < 0) return at;
      const first = (position & mask) >> 1;
      space[first] = packFirst(KIND.inline, length);
      space[first + 1] = second;
      this.#copy(data, length, first + RECORD_HEAD_WORDS);
      this.position = next;
    }
    return all.length;
  }

  /** Sends a header, and a descriptor of where the data is. @param size of the slot, @param kind of the record. */
  writeSlot(
    id: number,
    header: Uint8Array,
    descriptor: number,
    dataBytes: number,
    dataAt: number,
    size = 0,
    kind: number = KIND.slot,
  ): number {
    const headerBytes = header.length;
    const bodyBytes = SLOT_BODY_BYTES + headerBytes;
    const at = this.#reserve(recordPositions(bodyBytes));
    if (at < 0) return this.refuse();
    this.#space[at] = packFirst(kind, bodyBytes);
    this.#space[at + 1] = packSecond(id, headerBytes);
    this.#space[at + SLOT_RECORD.descriptor] = descriptor;
    this.#space[at + SLOT_RECORD.dataBytes] = dataBytes;
    this.#space[at + SLOT_RECORD.dataAt] = dataAt;
    this.#space[at + SLOT_RECORD.size] = size;
    if (headerBytes > 0) this.#copy(header, headerBytes, at + RECORD_HEAD_WORDS + SLOT_BODY_BYTES / 4);
    return this.#finish(bodyBytes);
  }

  /** Whether a record with such a body finds room. 0 or 1 load. */
  hasRoomFor(bodyBytes: number): boolean {
    const needed = this.#neededFor(bodyBytes);
    return this.#known(needed) || this.#look(needed);
  }

  /** After an attempt for which there is no room: what is held back goes out, or the receiver could never make room. */
  refuse(): number {
    return !this.publish() || this.closed ? LANE_CLOSED : NO_ROOM;
  }

  /** Whether what is written is held back. */
  get corked(): boolean {
    return this.#corked;
  }

  /** This end leaves the lane: {@link writeManyInline} that is at it stops. */
  leave(): void {
    this.#straight = this.position;
  }

  /** Holds back what is written from now on, until {@link uncork} or until there is no more room. */
  cork(): void {
    this.#corked = true;
  }

  /** Publishes what was held back. Returns false where the lane is closed. */
  uncork(): boolean {
    this.#corked = false;
    return this.publish();
  }

  /** Position up to which is published. What is behind it is held back: corked, or the lane was closed. */
  get published(): number {
    return this.#published;
  }

  /** How much is written, as a count that does not wrap: for who asks later, after however much, whether it is handled. */
  get written(): number {
    return this.#limitCount - ((this.#limit - this.position) | 0);
  }

  /** How much of that is handled. 1 load. */
  get handled(): number {
    this.#see(this.#atomics.load(this.#words, head));
    return this.#limitCount - this.#capacity;
  }

  /**
   * Announces a sleep until there is room for such a record, and looks once more; closing is looked for last, so that
   * whoever closes later wakes this end.
   *
   * @returns what to sleep on; undefined where there is something to do: room, or the lane is closed.
   */
  sleepUntilRoom(bodyBytes: number): Step<never> | undefined {
    return this.sleepUntilHandled(this.written + this.#neededFor(bodyBytes) - this.#capacity);
  }

  /** The same, until so much of what is written is handled. */
  sleepUntilHandled(written: number): Step<never> | undefined {
    let word = this.#atomics.load(this.#words, head);
    // Each round but the last is one in which the receiver moved on: at most as many as there are records.
    for (;;) {
      this.#see(word);
      if (this.#limitCount - this.#capacity >= written) return undefined;
      if ((word & WAITING) !== 0) break;
      const seen = this.#atomics.compareExchange(this.#words, head, word, word | WAITING);
      if (seen === word) {
        word |= WAITING;
        break;
      }
      word = seen;
    }
    return this.closed ? undefined : { done: false, index: head, expected: word };
  }

  /** Positions that a record takes from here on, padding in front of it included. */
  #neededFor(bodyBytes: number): number {
    const needed = recordPositions(bodyBytes);
    const toEnd = this.#capacity - (this.position & this.#mask);
    return needed > toEnd ? toEnd + needed : needed;
  }

  /** The word of the record's place in the space, -1 where there is no room. */
  #reserve(needed: number): number {
    if (((this.#straight - this.position - needed) | 0) >= 0) return (this.position & this.#mask) >> 1;
    return this.#reserveSlow(needed);
  }

  /** At the end of the space, or where the room that was known is used up. */
  #reserveSlow(needed: number): number {
    const inSpace = this.position & this.#mask;
    const toEnd = this.#capacity - inSpace;
    const withPadding = needed > toEnd ? toEnd + needed : needed;
    if (!this.#known(withPadding) && !this.#look(withPadding)) return -1;
    if (needed > toEnd) {
      this.#space[inSpace >> 1] = PADDING;
      this.position = (this.position + toEnd) | 0;
    }
    this.#straighten();
    return (this.position & this.#mask) >> 1;
  }

  #known(positions: number): boolean {
    return ((this.#limit - this.position - positions) | 0) >= 0;
  }

  #look(positions: number): boolean {
    this.#see(this.#atomics.load(this.#words, head));
    return this.#known(positions);
  }

  #see(headWord: number): void {
    const limit = ((headWord & ~POSITION_FLAGS) + this.#capacity) | 0;
    this.#limitCount += (limit - this.#limit) | 0;
    this.#limit = limit;
    this.#straighten();
  }

  #straighten(): void {
    const toEnd = this.#capacity - (this.position & this.#mask);
    const known = (this.#limit - this.position) | 0;
    this.#straight = (this.position + Math.min(known, toEnd)) | 0;
  }

  #finish(bodyBytes: number): number {
    const before = this.position;
    this.position = (before + recordPositions(bodyBytes)) | 0;
    if (this.#corked || this.publish()) return SENT;
    // As if it had never been written. What is held back stays, until its slots are taken back.
    this.position = before;
    return LANE_CLOSED;
  }

  /** Makes everything before `position` visible: the one commit of sending. Returns false where the lane is closed. */
  publish(): boolean {
    const before = this.#published;
    const next = this.position;
    if (before === next) return true;
    const seen = this.#atomics.compareExchange(this.#words, tail, before, next);
    if (seen !== before && !this.#publishFlagged(seen, next)) return false;
    this.#published = next;
    return true;
  }

  /** The word has flags. Each is set once while the position stays, so this ends after three rounds. */
  #publishFlagged(word: number, next: number): boolean {
    let flagged = word;
    for (;;) {
      if ((flagged & CLOSED) !== 0) return false;
      const seen = this.#atomics.compareExchange(this.#words, tail, flagged, next);
      if (seen === flagged) break;
      flagged = seen;
    }
    if ((flagged & ARMED) !== 0) this.#doorbell.ring(); // B1
    return true;
  }

  /** Copies so many bytes to a word of the space. What follows up to the next unit may be written over. */
  #copy(source: Uint8Array, length: number, word: number): void {
    if (length > MOST_LOOP_BYTES) {
      copyBytes(this.#bytes, source, word * 4, length);
      return;
    }
    const space = this.#space;
    let to = word;
    let from = 0;
    for (const whole = length & -4; from < whole; from += 4) {
      space[to++] =
        source[from]! | (source[from + 1]! << 8) | (source[from + 2]! << 16) | (source[from + 3]! << 24);
    }
    if (from === length) return;
    let last = 0;
    for (let shift = 0; from < length; shift += 8) last |= source[from++]! << shift;
    space[to] = last;
  }
}
