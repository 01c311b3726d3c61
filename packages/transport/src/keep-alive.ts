import { type Platform, realPlatform } from '@heddle/memory';

/** Whether what runs on the event loop keeps it alive: yes while anything runs, until `unref`. */
export class KeepAlive {
  readonly #platform: Platform;
  #running = 0;
  #wanted = true;
  #release: (() => void) | undefined;

  constructor(platform: Platform = realPlatform) {
    this.#platform = platform;
  }

  /** Something begins to run. */
  hold(): void {
    this.#running++;
    this.#apply();
  }

  /** It has ended. */
  drop(): void {
    this.#running--;
    this.#apply();
  }

  /** Whether the event loop is kept alive now. */
  get holds(): boolean {
    return this.#release !== undefined;
  }

  ref(): void {
    this.#wanted = true;
    this.#apply();
  }

  unref(): void {
    this.#wanted = false;
    this.#apply();
  }

  #apply(): void {
    if (this.#wanted && this.#running > 0) {
      this.#release ??= this.#platform.keepAlive();
    } else {
      this.#release?.();
      this.#release = undefined;
    }
  }
}
