import type { KeepAlive } from './keep-alive.js';
import type { Message, MessageCursor } from './message.js';
import type { Pace } from './pace.js';
import { nextWaits } from './transport-errors.js';

/** What an iteration needs of a receiver. */
export interface Iterated {
  newCursor(): MessageCursor;
  readonly keepAlive: KeepAlive;
  /** @param isOver ends a sleep, after `wake`. */
  pace(isOver: () => boolean): Pace;
  /** Whether there are no more messages. */
  isOver(): boolean;
  /** Gives out the next message, if there is one: moves the cursor to it. */
  give(cursor: MessageCursor): boolean;
  /** Ends the message that the cursor is at, if it is not over. */
  takeBack(cursor: MessageCursor): void;
  /** Makes sleeps on this worker look whether they are over. */
  wake(): void;
  /** Whether this error is how iterations end, and no failure. */
  isEnd(error: unknown): boolean;
}

const DONE = { done: true, value: undefined } as const;

/**
 * The messages of a worker, one at a time.
 *
 * A message that was given out is over with whatever receives next on its worker in this thread: `next` and `return` of
 * this, another iteration, `progress`, `wait`, `arm`, `close`. So an iteration that is dropped, with or without a
 * `return`, stands in nobody's way. A message that is used afterwards says so.
 *
 * `return` ends a `next` that waits, at once; another `next` is refused meanwhile, with `ERR_HEDDLE_OUTSTANDING`: it would
 * end the message of the first one before anybody has seen it.
 */
export class MessageIterator implements AsyncGenerator<Message, void, undefined> {
  readonly #iterated: Iterated;
  readonly #cursor: MessageCursor;
  readonly #pace: Pace;
  #pause: Promise<unknown> | undefined;
  /** A `next` has not ended. */
  #asked = false;
  #over = false;

  constructor(iterated: Iterated) {
    this.#iterated = iterated;
    this.#cursor = iterated.newCursor();
    this.#pace = iterated.pace(() => this.#over);
  }

  async next(): Promise<IteratorResult<Message, void>> {
    if (this.#asked && !this.#over) throw nextWaits();
    const { keepAlive } = this.#iterated;
    this.#asked = true;
    keepAlive.hold();
    try {
      this.#iterated.takeBack(this.#cursor);
      if (this.#pause) await this.#pause;
      while (!this.#over && !this.#iterated.isOver()) {
        const given = this.#iterated.give(this.#cursor);
        this.#pause = this.#pace.after(given);
        if (given) return { done: false, value: this.#cursor };
        if (this.#pause) await this.#pause;
      }
    } catch (error) {
      this.#over = true;
      if (!this.#iterated.isEnd(error)) throw error;
    } finally {
      this.#asked = false;
      keepAlive.drop();
    }
    this.#over = true;
    return DONE;
  }

  async return(): Promise<IteratorResult<Message, void>> {
    this.#end();
    return DONE;
  }

  async throw(error: unknown): Promise<IteratorResult<Message, void>> {
    this.#end();
    throw error;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#end();
  }

  #end(): void {
    if (this.#over) return;
    this.#over = true;
    this.#iterated.takeBack(this.#cursor);
    this.#iterated.wake();
  }
}
