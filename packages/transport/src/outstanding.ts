import type { HeddleError } from '@heddle/memory';
import type { Completion } from './completion.js';
import { doAll } from './do-all.js';
import type { OutboundLane } from './outbound-lane.js';
import type { SlotPool } from './slot-pools.js';
import { closedError } from './transport-errors.js';

/** A message whose sender asked to know when the receiver is done with it. */
export interface Asked {
  readonly completion: Completion;
  readonly lane: OutboundLane;
  /** How much was written when it was. */
  readonly written: number;
  readonly pool: SlotPool;
  readonly descriptor: number;
  /** The endpoint that sent it. */
  readonly by: object;
}

/**
 * The messages of a worker's endpoints that are not known to be done, as one thread sees them.
 *
 * A message is **done** when the lane's head is behind it, and its slot is out no more in its generation: the handler has
 * returned, and nobody holds the data. Both words are written for other reasons, so nobody writes anything for this.
 * The head says that it was not just taken back unread.
 *
 * **Ordering** C1: the receiver moves the head and sends the put off, then rings the sender's doorbell ↔ the sender
 * announces its sleep, then looks at both.
 *
 * **Death** of the receiver, or of who holds the data: recovery brings the slot back, closes the lane, then wakes
 * everyone. What was not done when this side sees the lane closed ends with an error.
 *
 * **Exactly once**: an entry is taken off the list before its completion hears of it.
 */
export class Outstanding {
  #asked: Asked[] = [];

  add(asked: Asked): void {
    asked.completion.began();
    this.#asked.push(asked);
  }

  get isEmpty(): boolean {
    return this.#asked.length === 0;
  }

  /** Whether one has ended that was not told yet. 1 or 2 loads each. */
  get mayHaveNews(): boolean {
    return this.#asked.some((asked) => asked.lane.left || isDone(asked));
  }

  /**
   * Tells those that have ended, in the order in which they were sent. From `progress`. Returns how many.
   *
   * @throws what the functions of completions threw first, after all were called.
   */
  tell(): number {
    return this.#asked.length > 0 ? this.#end((asked) => asked.lane.left || isDone(asked)) : 0;
  }

  /** The endpoint was closed: ends what it sent. @throws as {@link tell} does. */
  endOf(endpoint: object): void {
    if (this.#asked.length > 0) this.#end(({ by }) => by === endpoint);
  }

  #end(which: (asked: Asked) => boolean): number {
    const ended: [Asked, HeddleError | undefined][] = [];
    const left: Asked[] = [];
    for (const asked of this.#asked) {
      if (!which(asked)) left.push(asked);
      else ended.push([asked, isDone(asked) ? undefined : notKnown()]);
    }
    this.#asked = left;
    doAll(ended, ([{ completion }, error]) => completion.ended(error));
    return ended.length;
  }
}

function isDone({ lane, written, pool, descriptor }: Asked): boolean {
  return lane.hasHandled(written) && !pool.isOut(descriptor);
}

function notKnown(): HeddleError {
  return closedError('The way to the receiver', {}, 'whether it was done with the message is not known');
}
