import { type Platform, realPlatform } from '@heddle/memory';
import * as layout from './lane.layout.js';
import { record } from './record.js';

const { ARMED, laneLayout, POSITION_FLAGS, UNIT, UNIT_BYTES, WAITING } = layout;
const { bodyBytesOf, PADDING, recordPositions } = record;
const { tail, head, begun, adopted } = laneLayout.offsets;

/**
 * The receiving end of a lane. `resume` comes first.
 *
 * **Ownership**: `head` and `begun` are moved by this end alone; the sender sets `waiting` in `head`. This end sets
 * `armed` in `tail`. The pairs of its ordering are those of {@link LaneWriter}.
 *
 * **Death**: `begun` says what the dead thread had begun to handle; nobody handles that again.
 *
 * **Cost**, in Atomics calls: nothing new 0 (a plain read, a hint); else 1 load for all that is there, and 1 exchange
 * to give it back; 1 notify more where the sender waits. `arm` 1 load and 1 CAS.
 */
export class LaneReader {
  /** Of what is read next. */
  position = 0;
  readonly #words: Int32Array;
  readonly #space: Int32Array;
  readonly #atomics: Platform['atomics'];
  readonly #mask: number;
  readonly #skip: (at: number, next: number) => void;
  /** As `head` says it to the sender. */
  #released = 0;
  /** Position up to which there is something, as far as this end knows. */
  #limit = 0;

  /**
   * @param words the lane from its first word on.
   * @param spaceBytes of its space.
   * @param skip gets the word in the space of each record that a thread died in, and the position behind it.
   */
  constructor(
    words: Int32Array,
    spaceBytes: number,
    platform: Platform = realPlatform,
    skip: (at: number, next: number) => void = () => {},
  ) {
    this.#words = words;
    this.#skip = skip;
    this.#space = words.subarray(laneLayout.wordCount, laneLayout.wordCount + spaceBytes / 4);
    this.#atomics = platform.atomics;
    this.#mask = (spaceBytes / UNIT_BYTES) * UNIT - 1;
  }

  /**
   * Goes on where whoever read last stopped, another thread perhaps, and skips what that had begun to handle and not
   * given back.
   */
  resume(): void {
    this.#released = this.#atomics.load(this.#words, head) & ~POSITION_FLAGS;
    this.position = this.#released;
    const behind = this.#words[begun]!;
    // Each round takes a record or padding off what is left.
    while (((behind - this.position) | 0) > 0) {
      const at = (this.position & this.#mask) >> 1;
      const first = this.#space[at]!;
      if (first === PADDING) {
        this.#passPadding();
        continue;
      }
      this.position = (this.position + recordPositions(bodyBytesOf(first))) | 0;
      this.#skip(at, this.position);
    }
    this.#limit = this.position;
    this.release();
  }

  /** Whether something may be there that is not read. A hint: a late answer costs time. */
  get mayHaveNews(): boolean {
    return this.position !== this.#limit || (this.#words[tail]! & ~POSITION_FLAGS) !== this.position;
  }

  /** The same where other threads read too: how far they are, `position` does not say. */
  get mayHaveUnread(): boolean {
    return this.hasKnown || ((this.#words[tail]! ^ this.#words[head]!) & ~POSITION_FLAGS) !== 0;
  }

  /** Looks for what is there. Returns whether there is a record to read. 1 load. */
  look(): boolean {
    this.#limit = this.#atomics.load(this.#words, tail) & ~POSITION_FLAGS;
    return this.position !== this.#limit;
  }

  /** Whether a record is left of what was there at the last look. */
  get hasKnown(): boolean {
    return this.position !== this.#limit;
  }

  /**
   * Moves behind the next record, which is there, and notes that its handling begins. Plain: a thread dies between Atomics
   * calls, and who reads this word afterwards learned of the death by one.
   *
   * @returns the word in the space at which it begins.
   */
  begin(): number {
    const at = (this.position & this.#mask) >> 1;
    const first = this.#space[at]!;
    if (first === PADDING) return this.#beginBehindPadding();
    const next = (this.position + recordPositions(bodyBytesOf(first))) | 0;
    this.#words[begun] = next;
    this.position = next;
    return at;
  }

  #beginBehindPadding(): number {
    this.#passPadding();
    return this.begin();
  }

  #passPadding(): void {
    this.position = ((this.position | this.#mask) + 1) | 0;
  }

  /** Notes that the slot of the record that was begun last is this thread's, or gone. */
  noteAdopted(): void {
    this.#words[adopted] = this.position;
  }

  /** Gives the space of everything that was read back to the sender. `adopted` keeps up, where all of it was short. */
  release(): void {
    if (this.position === this.#released) return;
    this.#released = this.position;
    this.noteAdopted();
    if ((this.#atomics.exchange(this.#words, head, this.position) & WAITING) !== 0) {
      this.#atomics.notify(this.#words, head);
    }
  }

  /** Position up to which is handled, whichever thread did. 1 load. */
  get handled(): number {
    return this.#atomics.load(this.#words, head) & ~POSITION_FLAGS;
  }

  /**
   * Asks the sender to ring for its next record. Returns false where there is one already.
   *
   * @param from position up to which is handled.
   */
  arm(from = this.position): boolean {
    let word = this.#atomics.load(this.#words, tail);
    // The word changes by a record, which ends the loop, or by `closed`, once.
    for (;;) {
      if ((word & ~POSITION_FLAGS) !== from) {
        // Known from now on, so that a late hint keeps nobody from it; who has read more of it since makes `resume` necessary.
        this.position = from;
        this.#limit = word & ~POSITION_FLAGS;
        return false;
      }
      if ((word & ARMED) !== 0) return true;
      const seen = this.#atomics.compareExchange(this.#words, tail, word, word | ARMED);
      if (seen === word) return true;
      word = seen;
    }
  }
}
