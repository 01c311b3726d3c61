import type { Step } from '@heddle/memory';
import type { OutboundLane } from './outbound-lane.js';
import type { Attempt } from './send-queue.js';

/** Waiting until everything that was written to a lane so far is handled. What is held back goes out first. */
export class Flushing implements Attempt {
  readonly #lane: OutboundLane;
  readonly #written: number;

  constructor(lane: OutboundLane) {
    this.#lane = lane;
    if (!lane.left) lane.writer.publish();
    this.#written = lane.writer.written;
  }

  attempt(): boolean {
    const { left, writer } = this.#lane;
    if (this.#lane.hasHandled(this.#written)) return true;
    if (left || writer.closed) this.#lane.throwClosed();
    return false;
  }

  sleep(): Step<never> | undefined {
    return this.#lane.writer.sleepUntilHandled(this.#written);
  }
}
