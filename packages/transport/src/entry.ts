import { HeddleError, type Platform, realPlatform } from '@heddle/memory';
import { closedError } from './transport-errors.js';

const INSIDE = 1;
const TOKEN_BITS = 24;
const TAG_SHIFT = TOKEN_BITS + 1;
const TAGS = 64;
const TOKENS = (2 ** TOKEN_BITS - 1) << 1;
/** What a word has to agree in with that of an entrant: closed, tag, and that nobody is inside. */
const BARRED = ~TOKENS;

/** Answers of {@link Entry.tryEnter}. */
export const REFUSED = 0;
export const SAME = 1;
const CHANGED = 2;

/**
 * Who may be inside of something that any thread may enter, one at a time: a worker of thread mode `serialized`, or a
 * lane to a worker of thread mode `multi`.
 *
 * | word             | meaning                                                                     |
 * |------------------|-----------------------------------------------------------------------------|
 * | 0                | nobody was inside yet                                                       |
 * | token << 1       | nobody is inside; this thread was last                                      |
 * | token << 1 \| 1  | this thread is inside                                                       |
 * | -token           | this thread closed it: nobody enters any more                               |
 *
 * In all but the last, the six bits above the token are the generation of the worker, modulo 64: who knows an earlier
 * one in the same row, and has not learned yet that it was closed, is refused. Where 64 workers were made there since, or a
 * multiple of that, it gets in, finds the worker of its generation closed, and leaves.
 *
 * A thread that comes again needs one CAS, and knows by it that nobody else was there since.
 *
 * **Death** inside: recovery takes the mark off, and the next one who comes goes on behind what was begun. Death of the
 * owner of a serialized worker: the living thread that was inside last, and has not left for good, goes on as the owner;
 * where there is none it is closed, by a CAS of this word, so that nobody enters while its lanes end. Death of who closed
 * it: another takes over.
 *
 * **Cost**, in Atomics calls: `enter` 1 CAS, 2 where another thread was there since; `leave` 1 store, `step out` 1 CAS.
 */
export class Entry {
  readonly #words: Int32Array;
  readonly #index: number;
  readonly #atomics: Platform['atomics'];
  readonly #token: number;
  readonly #tag: number;
  readonly #mine: number;

  /** @param generation of what is entered. */
  constructor(
    words: Int32Array,
    index: number,
    token: number,
    platform: Platform = realPlatform,
    generation = 0,
  ) {
    this.#words = words;
    this.#index = index;
    this.#atomics = platform.atomics;
    this.#token = token;
    this.#tag = Entry.wordOf(generation);
    this.#mine = this.#tag | (token << 1);
  }

  /** What the word is at first. */
  static wordOf(generation: number): number {
    return (generation % TAGS) << TAG_SHIFT;
  }

  /**
   * @returns whether another thread was inside since this one was.
   * @throws HeddleError `ERR_HEDDLE_WRONG_THREAD` where a thread is inside: calls overlap, which is an error of the
   *   program; `ERR_HEDDLE_CLOSED`. Nothing has changed then.
   */
  enter(): boolean {
    const answer = this.tryEnter();
    if (answer !== REFUSED) return answer === CHANGED;
    const word = this.#atomics.load(this.#words, this.#index);
    if (((word ^ this.#tag) & BARRED & ~INSIDE) !== 0) throw closedError('This worker');
    throw overlap(tokenOf(word));
  }

  /** Enters, if nobody is inside and it is not closed. Says whether another thread was inside since this one was. */
  tryEnter(): number {
    let expected = this.#mine;
    // Each round but the last saw another thread leave.
    for (;;) {
      const seen = this.#atomics.compareExchange(this.#words, this.#index, expected, this.#mine | INSIDE);
      if (seen === expected) return expected === this.#mine ? SAME : CHANGED;
      if (((seen ^ this.#tag) & BARRED) !== 0) return REFUSED;
      expected = seen;
    }
  }

  /** Leaves what cannot be reset meanwhile. */
  leave(): void {
    this.#atomics.store(this.#words, this.#index, this.#mine);
  }

  /** Leaves what may have been reset meanwhile: a lane that this thread entered by mistake. */
  stepOut(): void {
    this.#atomics.compareExchange(this.#words, this.#index, this.#mine | INSIDE, this.#mine);
  }

  /** Whether a living thread is inside. */
  isOccupied(isAlive: (token: number) => boolean): boolean {
    const word = this.#atomics.load(this.#words, this.#index);
    return word > 0 && (word & INSIDE) !== 0 && isAlive(tokenOf(word));
  }

  /** From inside: nobody enters any more. */
  close(): void {
    this.#atomics.store(this.#words, this.#index, -this.#token);
  }

  /**
   * Closes it, or takes over from a dead thread that did, so that this thread alone may end it.
   *
   * @returns false where another living thread is inside, or closed it.
   */
  takeToClose(isAlive: (token: number) => boolean): boolean {
    let word = this.#atomics.load(this.#words, this.#index);
    // Each round but the last saw another thread enter or leave.
    for (;;) {
      if (word === -this.#token) return true;
      const other = word < 0 ? -word : (word & INSIDE) === 0 ? 0 : tokenOf(word);
      if (other !== 0 && other !== this.#token && isAlive(other)) return false;
      const seen = this.#atomics.compareExchange(this.#words, this.#index, word, -this.#token);
      if (seen === word) return true;
      word = seen;
    }
  }

  /** Takes a close of this thread back, which was a mistake. */
  reopen(): void {
    this.#atomics.compareExchange(this.#words, this.#index, -this.#token, this.#tag);
  }

  /** Takes the close of a thread back that died before it found that it was a mistake. */
  reopenAfterDeath(isAlive: (token: number) => boolean): void {
    const word = this.#atomics.load(this.#words, this.#index);
    if (word < 0 && !isAlive(-word)) this.#atomics.compareExchange(this.#words, this.#index, word, this.#tag);
  }

  /** This thread does not come again: it is not to be an heir. */
  forget(): void {
    this.#atomics.compareExchange(this.#words, this.#index, this.#mine, this.#tag);
  }

  /** Closes it, if nobody was inside who may come again. Returns whether it did. */
  closeForgotten(): boolean {
    return this.#atomics.compareExchange(this.#words, this.#index, this.#tag, -this.#token) === this.#tag;
  }

  /** Takes the mark of a dead thread off. */
  recover(deadToken: number): void {
    const dead = this.#tag | (deadToken << 1);
    this.#atomics.compareExchange(this.#words, this.#index, dead | INSIDE, dead);
  }

  /**
   * The living thread that goes on after the death of the owner, or has closed this; 0 where there is none: then this
   * thread, or a dead one, has closed it; -1 where it is that of a later worker by now.
   */
  heirOf(deadToken: number, isAlive: (token: number) => boolean): number {
    let word = this.#atomics.load(this.#words, this.#index);
    // Each round but the last saw another thread enter or leave.
    for (;;) {
      if (word < 0) return word !== -this.#token && isAlive(-word) ? -word : 0;
      if (((word ^ this.#tag) & BARRED & ~INSIDE) !== 0) return -1;
      const last = tokenOf(word);
      if (last !== 0 && last !== deadToken && isAlive(last)) return last;
      const seen = this.#atomics.compareExchange(this.#words, this.#index, word, -this.#token);
      if (seen === word) return 0;
      word = seen;
    }
  }
}

function tokenOf(word: number): number {
  return (word & TOKENS) >>> 1;
}

function overlap(token: number): HeddleError {
  return new HeddleError(
    'ERR_HEDDLE_WRONG_THREAD',
    `Calls overlap on a worker of thread mode "serialized": the thread with token ${token} is inside. Let one thread at a time call it, under a lock of the program, or give each thread a worker of its own`,
    { inside: token },
  );
}
