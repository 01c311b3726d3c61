/** The answer of a blocking wait. */
export type WaitResult = 'ok' | 'not-equal' | 'timed-out';

/** The answer of an asynchronous wait, as `Atomics.waitAsync` gives it. */
export type WaitAsyncResult =
  | { readonly async: false; readonly value: 'not-equal' | 'timed-out' }
  | { readonly async: true; readonly value: Promise<'ok' | 'timed-out'> };

/** What a structure needs of `Atomics`. The global object satisfies it as it is. */
export interface AtomicsLike {
  load(words: Int32Array, index: number): number;
  store(words: Int32Array, index: number, value: number): number;
  add(words: Int32Array, index: number, value: number): number;
  sub(words: Int32Array, index: number, value: number): number;
  and(words: Int32Array, index: number, value: number): number;
  or(words: Int32Array, index: number, value: number): number;
  xor(words: Int32Array, index: number, value: number): number;
  exchange(words: Int32Array, index: number, value: number): number;
  compareExchange(words: Int32Array, index: number, expected: number, replacement: number): number;
  wait(words: Int32Array, index: number, expected: number, timeoutMs?: number): WaitResult;
  notify(words: Int32Array, index: number, count?: number): number;
  /** Absent where the engine has none. */
  waitAsync?(words: Int32Array, index: number, expected: number, timeoutMs?: number): WaitAsyncResult;
}

/**
 * Everything outside its own words that a structure may touch: atomics, clock, randomness, scheduling.
 *
 * Production code takes `(words, platform)` and gets {@link realPlatform} by default. Tests hand in one that
 * counts, the schedule explorer one that simulates, so one source runs in all three. Nothing in a structure
 * reads a clock, a random number or a timer but through this object.
 */
export interface Platform {
  readonly atomics: AtomicsLike;
  /**
   * Milliseconds on a clock that never goes back. All threads read the same one, but for corrections of the system's
   * clock between their starts.
   */
  now(): number;
  /** A random unsigned 32-bit integer. */
  random(): number;
  /** Tells the processor that this thread spins. Does nothing where the engine has no `Atomics.pause`. */
  pause(): void;
  /** Whether this thread may block in {@link AtomicsLike.wait}. */
  canBlock(): boolean;
  /**
   * Calls back once after `delayMs`, without keeping the event loop alive; after 0 as soon as the event loop had its
   * turn, which may be a millisecond where nothing else goes on. Returns a function that cancels.
   */
  schedule(callback: () => void, delayMs: number): () => void;
  /** Calls back as soon as the event loop had its turn, and keeps it alive until then. Returns a function that cancels. */
  turn(callback: () => void): () => void;
  /** Keeps the event loop alive until the returned function is called. */
  keepAlive(): () => void;
}

type Timer = { unref?: () => void };

/** What is used of the engine's global object; what an engine may lack is optional where that is no error. */
interface Engine {
  Atomics: AtomicsLike & { pause?: () => void };
  performance: { now(): number; timeOrigin: number };
  crypto: { getRandomValues(array: Uint32Array): Uint32Array };
  setTimeout(callback: () => void, delayMs: number): Timer;
  clearTimeout(timer: Timer): void;
  setImmediate?(callback: () => void): Timer;
  clearImmediate?(timer: Timer): void;
  SharedArrayBuffer: new (byteLength: number) => SharedArrayBuffer;
}

const engine = globalThis as unknown as Engine;

/** Longest delay that a timer takes, in milliseconds. */
const MAX_TIMER_MS = 2 ** 31 - 1;

// `using` and the shells with [Symbol.dispose] need it in engines that have none.
(Symbol as { dispose?: symbol }).dispose ??= Symbol.for('Symbol.dispose');

const noop = () => {};
const nativePause = engine.Atomics?.pause;
let blockable: boolean | undefined;
/** Where the clock of this thread begins. */
const startedAt = engine.performance?.timeOrigin ?? 0;

/** Asks the engine once per thread, with a wait that returns at once. */
function probeBlocking(): boolean {
  try {
    engine.Atomics.wait(new Int32Array(new engine.SharedArrayBuffer(4)), 0, 1, 0);
    return true;
  } catch {
    return false;
  }
}

function unrefTimeout(callback: () => void, delayMs: number): () => void {
  const timer = engine.setTimeout(callback, delayMs);
  timer.unref?.();
  return () => engine.clearTimeout(timer);
}

/**
 * Calls back as soon as the event loop had its turn. A timer alone takes a millisecond at least; an immediate alone that
 * does not keep the loop alive waits, where nothing else wakes the loop.
 */
function afterUnrefTurn(callback: () => void): () => void {
  const cancel = () => {
    engine.clearImmediate!(turn);
    cancelTimer();
  };
  const callBack = () => {
    cancel();
    callback();
  };
  const turn = engine.setImmediate!(callBack);
  turn.unref?.();
  const cancelTimer = unrefTimeout(callBack, 1);
  return cancel;
}

/**
 * The platform of this engine.
 *
 * Its `atomics` is the global `Atomics` object itself: calls through it were measured to cost what direct
 * calls cost (`pnpm bench atomics`, rows `seam`).
 */
export const realPlatform: Platform = {
  atomics: engine.Atomics,
  now: () => startedAt + engine.performance.now(),
  // A private array: engines refuse to fill shared ones.
  random: () => engine.crypto.getRandomValues(new Uint32Array(1))[0]!,
  pause: nativePause ? () => nativePause() : noop,
  canBlock: () => (blockable ??= probeBlocking()),
  schedule(callback, delayMs) {
    if (delayMs <= 0 && engine.setImmediate) return afterUnrefTurn(callback);
    return unrefTimeout(callback, Math.min(delayMs, MAX_TIMER_MS));
  },
  turn(callback) {
    if (engine.setImmediate) {
      const immediate = engine.setImmediate(callback);
      return () => engine.clearImmediate!(immediate);
    }
    const timer = engine.setTimeout(callback, 0);
    return () => engine.clearTimeout(timer);
  },
  keepAlive() {
    let timer: Timer;
    const hold = () => {
      timer = engine.setTimeout(hold, MAX_TIMER_MS);
    };
    hold();
    return () => engine.clearTimeout(timer);
  },
};
