/** Answers that arrived and were not asked for yet, or were asked for and have not arrived. */
export class Inbox<Item> {
  readonly #items: Item[] = [];
  #error: Error | undefined;
  #waiting: { resolve: (item: Item) => void; reject: (error: Error) => void } | undefined;

  put(item: Item): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (waiting) waiting.resolve(item);
    else this.#items.push(item);
  }

  /** Ends the inbox: the first error counts. */
  fail(error: Error): void {
    this.#error ??= error;
    this.#waiting?.reject(this.#error);
    this.#waiting = undefined;
  }

  /** @throws what the inbox was ended with, if it was. */
  assertOpen(): void {
    if (this.#error) throw this.#error;
  }

  /** The next item. One caller at a time. */
  take(): Promise<Item> {
    const item = this.#items.shift();
    if (item !== undefined) return Promise.resolve(item);
    if (this.#error) return Promise.reject(this.#error);
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
    });
  }
}
