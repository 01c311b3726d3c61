import { defineLayout, field } from '@heddle/memory';
import { nowNs } from './clock.js';
import type { StopSignal } from './workload.js';

/**
 * The words by which the threads of a variant agree on start and end of a round.
 *
 * `arrived` counts the threads that are ready. The last one writes the start time and raises `epoch`, on which
 * the others are parked; then all spin up to that time on the one clock that the threads of a process share, so
 * those that have a core start within microseconds of each other, whoever woke first. `running` counts the drivers still at work;
 * the last one raises `stopped`.
 */
const layout = defineLayout('start-line', 1, {
  arrived: field('anyone'),
  epoch: field('last arrival'),
  running: field('drivers'),
  stopped: field('last driver'),
  startNs: field('starter', 2),
});
const at = layout.offsets;

/** From the last arrival to the start. Longer than it takes to wake a parked thread, shorter than a time slice. */
const LEAD_NS = 300_000;

/** Nobody arriving for this long means that a partner has died; it ends a hang with an error. */
const ARRIVAL_LIMIT_MS = 20_000;

export class StartLine {
  readonly buffer: SharedArrayBuffer;
  readonly #words: Int32Array;
  readonly #start: BigInt64Array;

  static create(): SharedArrayBuffer {
    return new SharedArrayBuffer(layout.byteLength);
  }

  constructor(buffer: SharedArrayBuffer) {
    this.buffer = buffer;
    this.#words = new Int32Array(buffer);
    this.#start = new BigInt64Array(buffer, at.startNs * Int32Array.BYTES_PER_ELEMENT, 1);
  }

  /** Called by the starter while all threads are at rest. */
  reset(drivers: number): void {
    Atomics.store(this.#words, at.arrived, 0);
    Atomics.store(this.#words, at.stopped, 0);
    Atomics.store(this.#words, at.running, drivers);
  }

  /** Blocks until `threads` threads have come, then returns the common start, in nanoseconds, when it is reached. */
  arrive(threads: number): number {
    const words = this.#words;
    const epoch = Atomics.load(words, at.epoch);
    if (Atomics.add(words, at.arrived, 1) === threads - 1) {
      Atomics.store(this.#start, 0, BigInt(Math.round(nowNs() + LEAD_NS)));
      Atomics.store(words, at.epoch, (epoch + 1) | 0);
      Atomics.notify(words, at.epoch);
    } else {
      const deadlineNs = nowNs() + ARRIVAL_LIMIT_MS * 1e6;
      while (Atomics.load(words, at.epoch) === epoch) {
        if (nowNs() > deadlineNs) throw new Error('Not every thread of the variant came to the start');
        Atomics.wait(words, at.epoch, epoch, ARRIVAL_LIMIT_MS);
      }
    }
    const startNs = Number(Atomics.load(this.#start, 0));
    while (nowNs() < startNs) {
      // A bounded spin: at most the lead.
    }
    return startNs;
  }

  /** A driver has done its part. */
  finish(): void {
    if (Atomics.sub(this.#words, at.running, 1) === 1) Atomics.store(this.#words, at.stopped, 1);
  }

  /** The signal for serving threads; `promise` is what resolves on the starter's message. */
  signal(promise: Promise<void>): StopSignal {
    const words = this.#words;
    return { requested: () => Atomics.load(words, at.stopped) !== 0, promise };
  }
}
