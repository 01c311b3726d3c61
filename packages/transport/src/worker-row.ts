import { type Platform, realPlatform } from '@heddle/memory';
import { MAX_GENERATION } from './address.js';
import { Doorbell } from './doorbell.js';
import { Entry } from './entry.js';
import { workerRowLayout } from './transport.layout.js';

const { owner, state, threadMode, attention, doorbell, entry } = workerRowLayout.offsets;

const OPEN = 1;

/**
 * The row of a worker in its context: who owns it, whether it is open, and how to get its attention.
 *
 * **States**: `owner` 0 is free; a token claims it by CAS. `state` is generation << 1 | open: an address holds the
 * generation, so one of an earlier worker in this row leads nowhere. After the last generation comes 0.
 *
 * **Death** of the owner: recovery closes the row, ends its lanes, then frees it.
 */
export class WorkerRow {
  readonly doorbell: Doorbell;
  readonly #words: Int32Array;
  readonly #atomics: Platform['atomics'];

  /** @param words the row from its first word on. */
  constructor(words: Int32Array, platform: Platform = realPlatform) {
    this.#words = words;
    this.#atomics = platform.atomics;
    this.doorbell = new Doorbell(words, doorbell, platform);
  }

  /** Takes a free row. Returns the generation that it has from now on, or -1 where it is not free. */
  claim(token: number, mode: number): number {
    if (this.#atomics.compareExchange(this.#words, owner, 0, token) !== 0) return -1;
    const generation = ((this.#atomics.load(this.#words, state) >>> 1) + 1) & MAX_GENERATION;
    this.#atomics.store(this.#words, threadMode, mode);
    this.#atomics.store(this.#words, entry, Entry.wordOf(generation));
    this.#atomics.store(this.#words, doorbell, 0);
    this.#atomics.store(this.#words, state, (generation << 1) | OPEN);
    return generation;
  }

  get owner(): number {
    return this.#atomics.load(this.#words, owner);
  }

  get threadMode(): number {
    return this.#atomics.load(this.#words, threadMode);
  }

  /** The generation of the worker that is here or was here last. */
  get generation(): number {
    return this.#atomics.load(this.#words, state) >>> 1;
  }

  get open(): boolean {
    return (this.#atomics.load(this.#words, state) & OPEN) !== 0;
  }

  /** Whether the worker of this generation can be sent to. 1 load. */
  isOpen(generation: number): boolean {
    return this.#atomics.load(this.#words, state) === ((generation << 1) | OPEN);
  }

  /** Makes connecting to this generation fail from now on. */
  shut(generation: number): void {
    this.#atomics.compareExchange(this.#words, state, (generation << 1) | OPEN, generation << 1);
  }

  /** Frees the row, when no lane leads here any more that has not been ended. */
  free(token: number): void {
    this.#atomics.compareExchange(this.#words, owner, token, 0);
  }

  /** Makes another thread the owner, after the death of the one before. */
  passOn(deadToken: number, heir: number): void {
    this.#atomics.compareExchange(this.#words, owner, deadToken, heir);
  }

  /** A number that changes when this worker has to look at all lanes. 1 load. */
  get attention(): number {
    return this.#atomics.load(this.#words, attention);
  }

  /** The same by a plain read: a hint. */
  get attentionHint(): number {
    return this.#words[attention]!;
  }

  /** Asks the worker to look at all lanes, and wakes it. */
  callAttention(): void {
    this.#atomics.add(this.#words, attention, 1);
    this.doorbell.ring();
  }

  /** Wakes whoever sleeps here, after a death. */
  wakeAfterDeath(): void {
    this.#atomics.add(this.#words, attention, 1);
    this.doorbell.ringAfterDeath();
  }
}
