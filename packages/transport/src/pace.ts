import type { Platform } from '@heddle/memory';
import type { IdleStrategy } from './idle.js';
import type { KeepAlive } from './keep-alive.js';

/** Milliseconds of work after which the event loop has its turn. */
const SLICE_MS = 5;

/** Paces a loop that receives on the event loop: when it looks again, and when it lets go of the thread. */
export class Pace {
  readonly #idle: IdleStrategy;
  readonly #platform: Platform;
  readonly #keepAlive: KeepAlive;
  readonly #sleep: () => Promise<unknown>;
  #looks = 0;
  #sliceEnd = 0;

  /** @param sleep sleeps on the event loop until there is something. */
  constructor(idle: IdleStrategy, platform: Platform, keepAlive: KeepAlive, sleep: () => Promise<unknown>) {
    this.#idle = idle;
    this.#platform = platform;
    this.#keepAlive = keepAlive;
    this.#sleep = sleep;
  }

  /** After each look: what to wait for before the next one, undefined where it may follow at once. */
  after(found: boolean): Promise<unknown> | undefined {
    if (found) {
      if (this.#looks > 0) this.#idle.found?.(this.#looks);
      this.#looks = 0;
    } else {
      const step = this.#idle.idle(++this.#looks, this.#platform);
      if (step !== 'look') return this.#letGo(step === 'sleep');
    }
    const now = this.#platform.now();
    if (this.#sliceEnd === 0) this.#sliceEnd = now + SLICE_MS;
    return now < this.#sliceEnd ? undefined : this.#letGo(false);
  }

  #letGo(sleep: boolean): Promise<unknown> {
    this.#sliceEnd = 0;
    if (!sleep) return new Promise<void>((resolve) => this.#turn(resolve));
    this.#looks = 0;
    return this.#sleep();
  }

  /** One that keeps the event loop alive takes microseconds, the other one a millisecond where nothing else goes on. */
  #turn(callback: () => void): void {
    if (this.#keepAlive.holds) this.#platform.turn(callback);
    else this.#platform.schedule(callback, 0);
  }
}
