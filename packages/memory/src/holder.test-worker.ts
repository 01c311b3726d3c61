import { registerKind } from './kind.js';
import { defineLayout, field } from './layout.js';
import type { Segment } from './segment.js';
import { MAX_THREADS } from './thread-table.layout.js';
import { Waiter } from './waiter.js';

/** A structure for tests: each thread holds one thing, under its id. Recovery takes it back, and counts. */
export const holderLayout = defineLayout('holder', 1, {
  /** How many threads have ever held. */
  held: field('anyone'),
  /** How many holds were taken back from dead threads. */
  recovered: field('recovery'),
  tokens: field('anyone', MAX_THREADS + 1),
});
const { held, recovered, tokens } = holderLayout.offsets;

/** How often recovery ran in this thread. */
let recoveries = 0;

export class Holder {
  readonly #segment: Segment;
  readonly #words: Int32Array;

  constructor(segment: Segment) {
    const { info } = segment.openOrCreateStructure({
      name: 'holder',
      layout: holderLayout,
      byteLength: holderLayout.byteLength,
    });
    this.#segment = segment;
    this.#words = segment.wordsAt(info.byteOffset, holderLayout.byteLength);
  }

  /** Holds on to something until this thread ends. */
  hold(): void {
    const { id, token } = this.#segment.thread;
    Atomics.store(this.#words, tokens + id, token);
    Atomics.add(this.#words, held, 1);
    Atomics.notify(this.#words, held);
  }

  get held(): number {
    return Atomics.load(this.#words, held);
  }

  get recovered(): number {
    return Atomics.load(this.#words, recovered);
  }

  get recoveriesHere(): number {
    return recoveries;
  }

  /** Blocks, as a parent does that is busy with something else. */
  waitUntil(which: 'held' | 'recovered', count: number): void {
    const index = which === 'held' ? held : recovered;
    for (let found = this[which]; found < count; found = this[which]) {
      if (!new Waiter(this.#words, index).wait(found, { timeout: 30_000 })) {
        throw new Error(`${which} stays at ${found} instead of ${count}`);
      }
    }
  }

  async untilAsync(which: 'held' | 'recovered', count: number): Promise<void> {
    const index = which === 'held' ? held : recovered;
    for (let found = this[which]; found < count; found = this[which]) {
      if (!(await new Waiter(this.#words, index).waitAsync(found, { timeout: 30_000 }))) {
        throw new Error(`${which} stays at ${found} instead of ${count}`);
      }
    }
  }
}

/** Makes this thread able to recover holders, and the janitor too where it may import this file. */
export function registerHolder({ forJanitor = true } = {}): void {
  registerKind({
    layout: holderLayout,
    module: forJanitor ? import.meta.url : undefined,
    recover({ segment, info, dead }) {
      recoveries++;
      const words = segment.wordsAt(info.byteOffset, holderLayout.byteLength);
      // One commit: a second recovery finds nothing.
      if (Atomics.compareExchange(words, tokens + dead.id, dead.token, 0) === dead.token) {
        Atomics.add(words, recovered, 1);
      }
      Atomics.notify(words, recovered);
    },
  });
}

registerHolder();
