import type { Step } from '@heddle/memory';
import type { OutboundLane } from './outbound-lane.js';
import type { Attempt } from './send-queue.js';

/** Waiting until everything that was written to a lane so far is handled. What is held back goes out first. */
export class Flushing implements Attempt {
  readonly #lane: OutboundLane;
  readonly #assertMaySend: () => void;
  readonly #written: number;

  /** @param assertMaySend of who waits. @throws HeddleError `ERR_HEDDLE_CLOSED`. */
  constructor(lane: OutboundLane, assertMaySend: () => void) {
    this.#lane = lane;
    this.#assertMaySend = assertMaySend;
    if (!lane.left) lane.writer.publish();
    this.#written = lane.writer.written;
  }

  attempt(): boolean {
    if (this.#lane.hasHandled(this.#written)) return true;
    this.#assertMaySend();
    return false;
  }

  sleep(): Step<never> | undefined {
    return this.#lane.writer.sleepUntilHandled(this.#written);
  }
}
