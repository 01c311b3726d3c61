import type { Line } from './line.js';
import type { StateWord } from './state-word.js';
import { OWNER_MASK } from './word-flags.js';

/** Somebody sleeps on the word, or is about to, or has just been woken. */
const QUEUE = 1 << 24;

/**
 * A line in one word: it names the one that is first; the others sleep on it, in the engine's first-in-first-out
 * list.
 *
 * **States** of the word:
 *
 * | heir | flag  | meaning                                                                            |
 * |------|-------|------------------------------------------------------------------------------------|
 * | 0    |       | nobody stands in line: who comes is first                                          |
 * | t    |       | t is first, and alone                                                              |
 * | t    | QUEUE | t is first; others sleep                                                           |
 * | 0    | QUEUE | the place is for the one that was woken: who comes sleeps behind                   |
 *
 * **Ordering**: H1: the heir leaves the word, then notify ↔ the wait on the word.
 *
 * **Death** of the first, or of the one that was woken: recovery opens the place to everyone and wakes all.
 */
export class HeirLine implements Line {
  readonly inLine = false;
  expected = 0;
  readonly #state: StateWord;
  readonly #heir: number;
  readonly #token: number;
  #isHeir = false;
  #hasSlept = false;

  /** @param heir index of the word. */
  constructor(state: StateWord, heir: number, token: number) {
    this.#state = state;
    this.#heir = heir;
    this.#token = token;
  }

  join(): void {
    this.#isHeir = false;
    this.#hasSlept = false;
  }

  /** Who is not first sleeps: nobody stays in this line to be looked at. */
  waitFor(_sleeps: boolean): number {
    let found = this.#change(0, this.#token);
    while (found !== 0) {
      const mine = this.#hasSlept && (found & OWNER_MASK) === 0;
      const wanted = mine ? this.#token | QUEUE : found | QUEUE;
      const before = wanted === found ? found : this.#change(found, wanted);
      if (before === found) {
        if (mine) break;
        this.#hasSlept = true;
        this.expected = wanted;
        return this.#heir;
      }
      found = before === 0 ? this.#change(0, this.#token) : before;
    }
    this.#isHeir = true;
    return 0;
  }

  leave(): void {
    if (!this.#isHeir) return;
    this.#isHeir = false;
    if (this.#change(this.#token, 0) === this.#token) return;
    const { atomics, words } = this.#state;
    atomics.store(words, this.#heir, QUEUE);
    if (atomics.notify(words, this.#heir, 1) === 0) this.#open();
  }

  leaveAsOwner(): void {}

  /** Of no use here: who reserves takes it back itself. */
  isEmpty(): boolean {
    return false;
  }

  recover(deadToken: number): void {
    const { atomics, words } = this.#state;
    const found = atomics.load(words, this.#heir);
    if ((found & OWNER_MASK) === deadToken && this.#change(found, 0) !== found)
      this.#change(deadToken | QUEUE, 0);
    this.#open();
  }

  /** The place is for whoever takes it first; those who sleep look. */
  #open(): void {
    this.#change(QUEUE, 0);
    this.#state.atomics.notify(this.#state.words, this.#heir);
  }

  #change(found: number, wanted: number): number {
    return this.#state.atomics.compareExchange(this.#state.words, this.#heir, found, wanted);
  }
}
