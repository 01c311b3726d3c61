import { type Platform, realPlatform } from '@heddle/memory';

const LEAST_SPINS = 16;
const MOST_SPINS = 2048;
const FIRST_SPINS = 64;

/**
 * How long to poll before a sleep, which costs tens of microseconds: longer where polling found something, shorter
 * where it did not, always bounded.
 */
export class Polling {
  readonly #platform: Platform;
  #spins = FIRST_SPINS;

  constructor(platform: Platform = realPlatform) {
    this.#platform = platform;
  }

  /**
   * Looks until `found` is true. Returns false where it gave up.
   *
   * @param spins how often to look, instead of what was learned.
   */
  until(found: () => boolean, spins?: number): boolean {
    const most = spins ?? this.#spins;
    for (let spin = 0; spin < most; spin++) {
      if (found()) {
        if (spins === undefined && spin > 0) this.#spins = Math.min(this.#spins * 2, MOST_SPINS);
        return true;
      }
      this.#platform.pause();
    }
    if (spins === undefined) this.#spins = Math.max(this.#spins / 2, LEAST_SPINS);
    return false;
  }
}
