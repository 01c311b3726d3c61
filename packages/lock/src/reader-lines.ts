import { HeddleError, idOf, type Platform } from '@heddle/memory';
import { LINE_WORDS, LOOKING, READING, rwLockLayout, WAITING } from './rw-lock.layout.js';
import { StateWord } from './state-word.js';
import { COURTESY, OWNER_MASK } from './word-flags.js';

const { state, taskGate, writing, readers } = rwLockLayout.offsets;

/** The two words of a thread's line: for itself, and for its tasks. */
const OF_THREAD = 0;
const OF_TASKS = 1;

/** What readers and writers of a read-write lock know of each other. */
export class ReaderLines {
  readonly words: Int32Array;
  readonly platform: Platform;
  readonly atomics: Platform['atomics'];
  /** The word `writing`. Those who sleep on a line count on its counters. */
  readonly writing: StateWord;
  readonly #capacity: number;

  constructor(words: Int32Array, platform: Platform) {
    this.words = words;
    this.platform = platform;
    this.atomics = platform.atomics;
    this.writing = new StateWord(words, writing, taskGate, platform);
    this.#capacity = Math.floor((words.length - rwLockLayout.wordCount) / LINE_WORDS);
  }

  /**
   * Index of the word of this thread, or of its tasks.
   *
   * @throws HeddleError `ERR_HEDDLE_THREADS_FULL` where the lock has no line for a thread of this id.
   */
  wordOf(token: number, asTask: boolean): number {
    const id = idOf(token);
    if (id > this.#capacity) {
      throw new HeddleError(
        'ERR_HEDDLE_THREADS_FULL',
        `The lock has lines for threads 1 to ${this.#capacity}, this is thread ${id}: create it with a larger maxThreads`,
        { id, capacity: this.#capacity },
      );
    }
    return rwLockLayout.wordCount + (id - 1) * LINE_WORDS + (asTask ? OF_TASKS : OF_THREAD);
  }

  /** Notes that a thread of this id may read, before it does so for the first time. */
  noteReader(token: number): void {
    const id = idOf(token);
    let found = this.atomics.load(this.words, readers);
    while (found < id) {
      const before = this.atomics.compareExchange(this.words, readers, found, id);
      if (before === found) return;
      found = before;
    }
  }

  load(index: number): number {
    return this.atomics.load(this.words, index);
  }

  /** A task that has waited for long: who blocks to write steps aside for a moment. */
  askForCourtesy(): void {
    this.atomics.or(this.words, state, COURTESY);
  }

  change(index: number, found: number, wanted: number): boolean {
    return this.atomics.compareExchange(this.words, index, found, wanted) === found;
  }

  notify(index: number): void {
    this.atomics.notify(this.words, index);
  }

  /** The word where its owner reads, else 0. */
  readingAt(index: number): number {
    const found = this.load(index);
    return found & READING ? found : 0;
  }

  /** Index of a word whose owner reads, from `first` on; 0 for none. */
  findReading(first = rwLockLayout.wordCount): number {
    const end = this.#end();
    for (let index = first; index < end; index = this.#next(index)) {
      if (this.readingAt(index) !== 0) return index;
    }
    return 0;
  }

  /** Lets every thread in that waits to read, and tells every task to look. */
  admit(): void {
    const end = this.#end();
    for (let index = rwLockLayout.wordCount; index < end; index = this.#next(index)) {
      const found = this.load(index);
      if (!(found & WAITING)) continue;
      const told = index % LINE_WORDS === OF_TASKS ? LOOKING : READING;
      if (this.change(index, found, (found & OWNER_MASK) | told)) this.notify(index);
    }
  }

  /** Frees the words of a dead thread, and wakes everyone who sleeps on any. */
  recover(deadToken: number): void {
    const end = this.#end();
    for (let index = rwLockLayout.wordCount; index < end; index = this.#next(index)) {
      let found = this.load(index);
      // A writer may be letting it in at this moment, once.
      while ((found & OWNER_MASK) === deadToken && !this.change(index, found, 0)) found = this.load(index);
      this.notify(index);
    }
  }

  #end(): number {
    return rwLockLayout.wordCount + this.atomics.load(this.words, readers) * LINE_WORDS;
  }

  #next(index: number): number {
    return index % LINE_WORDS === OF_THREAD ? index + OF_TASKS : index + LINE_WORDS - OF_TASKS;
  }
}
