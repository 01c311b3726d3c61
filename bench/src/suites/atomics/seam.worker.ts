import { type AtomicsLike, type Platform, realPlatform } from '@heddle/memory';
import type { DrivingWorkload } from '../../core/workload.js';

/**
 * One small structure written twice, word for word: with the global `Atomics`, and with the atomics of an injected
 * platform. What differs between the two is the seam, and nothing else.
 */

interface Gate {
  /** One `compareExchange` and one `exchange`. */
  cross(): number;
  /** One `load`. */
  look(): number;
}

class DirectGate implements Gate {
  readonly #words: Int32Array;
  readonly #index: number;

  constructor(words: Int32Array, index: number) {
    this.#words = words;
    this.#index = index;
  }

  cross(): number {
    const words = this.#words;
    const index = this.#index;
    return Atomics.compareExchange(words, index, 0, 1) + Atomics.exchange(words, index, 0);
  }

  look(): number {
    return Atomics.load(this.#words, this.#index);
  }
}

/** Takes the atomics out of the platform once, when it is constructed. */
class InjectedGate implements Gate {
  readonly #words: Int32Array;
  readonly #index: number;
  readonly #atomics: AtomicsLike;

  constructor(words: Int32Array, index: number, platform: Platform = realPlatform) {
    this.#words = words;
    this.#index = index;
    this.#atomics = platform.atomics;
  }

  cross(): number {
    const words = this.#words;
    const index = this.#index;
    const atomics = this.#atomics;
    return atomics.compareExchange(words, index, 0, 1) + atomics.exchange(words, index, 0);
  }

  look(): number {
    return this.#atomics.load(this.#words, this.#index);
  }
}

/** Keeps the platform, and takes the atomics out of it at every call. */
class PlatformGate implements Gate {
  readonly #words: Int32Array;
  readonly #index: number;
  readonly #platform: Platform;

  constructor(words: Int32Array, index: number, platform: Platform = realPlatform) {
    this.#words = words;
    this.#index = index;
    this.#platform = platform;
  }

  cross(): number {
    const words = this.#words;
    const index = this.#index;
    const { atomics } = this.#platform;
    return atomics.compareExchange(words, index, 0, 1) + atomics.exchange(words, index, 0);
  }

  look(): number {
    return this.#platform.atomics.load(this.#words, this.#index);
  }
}

/** Forwards each call, as a platform that counts or simulates does: other functions at the call sites of the class. */
function forwardingPlatform(): Platform {
  const atomics: AtomicsLike = {
    ...realPlatform.atomics,
    load: (words, index) => Atomics.load(words, index),
    store: (words, index, value) => Atomics.store(words, index, value),
    add: (words, index, value) => Atomics.add(words, index, value),
    sub: (words, index, value) => Atomics.sub(words, index, value),
    and: (words, index, value) => Atomics.and(words, index, value),
    or: (words, index, value) => Atomics.or(words, index, value),
    xor: (words, index, value) => Atomics.xor(words, index, value),
    exchange: (words, index, value) => Atomics.exchange(words, index, value),
    compareExchange: (words, index, expected, replacement) =>
      Atomics.compareExchange(words, index, expected, replacement),
    wait: (words, index, expected, timeoutMs) => Atomics.wait(words, index, expected, timeoutMs),
    notify: (words, index, count) => Atomics.notify(words, index, count),
  };
  return { ...realPlatform, atomics };
}

const WORDS = 2;

function newWords(): Int32Array {
  return new Int32Array(new SharedArrayBuffer(WORDS * Int32Array.BYTES_PER_ELEMENT));
}

/** Each of the loops below meets one class in its isolate, so `cross` and `look` are inlined. */
function crossing(gate: Gate): DrivingWorkload {
  return {
    batch(operations) {
      let sum = 0;
      for (let i = 0; i < operations; i++) sum = (sum + gate.cross()) | 0;
      return sum;
    },
  };
}

function looking(gate: Gate): DrivingWorkload {
  return {
    batch(operations) {
      let sum = 0;
      for (let i = 0; i < operations; i++) sum = (sum + gate.look()) | 0;
      return sum;
    },
  };
}

export const crossDirect = () => crossing(new DirectGate(newWords(), 1));
export const crossInjected = () => crossing(new InjectedGate(newWords(), 1));
export const crossPlatform = () => crossing(new PlatformGate(newWords(), 1));
export const lookDirect = () => looking(new DirectGate(newWords(), 1));
export const lookInjected = () => looking(new InjectedGate(newWords(), 1));
export const lookPlatform = () => looking(new PlatformGate(newWords(), 1));

/** The class has seen two implementations before it is measured with the real one. */
export const crossTwoSeen = () => {
  const other = crossing(new InjectedGate(newWords(), 1, forwardingPlatform()));
  for (let call = 0; call < 200; call++) other.batch(1000);
  return crossing(new InjectedGate(newWords(), 1));
};
