import { type Platform, realPlatform } from '@heddle/memory';
import { DescriptorFormat } from './descriptor.js';
import { type IsAlive, PATIENCE, type Patience } from './latch.js';
import { CLOSED, mpoolLayout, type Regions, regionsOf, type Shape } from './mpool.layout.js';

const { wakeup, closed, slotCount } = mpoolLayout.offsets;

/** Bit of the wakeup word: somebody sleeps, or is about to. */
export const SLEEPERS = 1;

/** This thread, as the pool's words name it. */
interface Holder {
  readonly id: number;
  readonly token: number;
}

/**
 * The words of a pool as one thread sees them: where its parts lie, and the word that getters sleep on.
 *
 * **Ordering** of sleeping: W1: a getter marks the wakeup word, then looks for slots under the latches ↔ a putter
 * frees a slot under its latch, or publishes its put in a lane, then reads the wakeup word. One of the two sees the other. A putter that finds the
 * mark moves the sequence on, which clears the mark, and wakes all.
 */
export class PoolWords {
  readonly words: Int32Array;
  readonly shape: Shape;
  readonly regions: Regions;
  readonly format: DescriptorFormat;
  readonly me: Holder;
  readonly isAlive: IsAlive;
  readonly platform: Platform;
  /** How this thread waits for a latch. */
  readonly patience: Patience;

  constructor(
    words: Int32Array,
    shape: Shape,
    me: Holder,
    isAlive: IsAlive,
    platform: Platform = realPlatform,
    patience = PATIENCE,
  ) {
    this.patience = patience;
    this.words = words;
    this.shape = shape;
    this.regions = regionsOf(shape);
    this.format = new DescriptorFormat(shape.slotCapacity);
    this.me = me;
    this.isAlive = isAlive;
    this.platform = platform;
  }

  /** Slots that exist by now. 1 load. */
  slotCount(): number {
    return this.platform.atomics.load(this.words, slotCount);
  }

  /** Index of the note of a slot, where slots have notes. */
  noteOf(slot: number): number {
    return this.regions.notes + slot * this.shape.noteWords;
  }

  /** The lease word of a slot as it is now. 1 load. */
  lease(slot: number): number {
    return this.platform.atomics.load(this.words, this.regions.leases + slot);
  }

  /** Whether the pool was closed. 1 load. */
  isClosed(): boolean {
    return this.platform.atomics.load(this.words, closed) === CLOSED;
  }

  /** Whether it gives slots out: not where it was closed, or somebody waits until it can be. 1 load. */
  isOpen(): boolean {
    return this.platform.atomics.load(this.words, closed) === 0;
  }

  get wakeupIndex(): number {
    return wakeup;
  }

  /** Says that this thread is about to sleep. Returns the value to sleep on. 1 or. */
  announceSleep(): number {
    return this.platform.atomics.or(this.words, wakeup, SLEEPERS) | SLEEPERS;
  }

  /** Wakes who sleeps, where somebody does. 1 load; with sleepers 1 CAS and 1 notify more. */
  wakeSleepers(): void {
    const { atomics } = this.platform;
    const word = atomics.load(this.words, wakeup);
    if ((word & SLEEPERS) === 0) return;
    // Odd + 1: the mark is gone and the sequence one further. Where this fails, somebody else did it.
    atomics.compareExchange(this.words, wakeup, word, word + 1);
    atomics.notify(this.words, wakeup);
  }

  /** Wakes who sleeps, whatever the mark says. For recovery and close. */
  wakeAll(): void {
    const { atomics } = this.platform;
    atomics.add(this.words, wakeup, 2 * SLEEPERS);
    atomics.notify(this.words, wakeup);
  }
}
