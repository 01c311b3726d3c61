/** What progress is written to: `process.stderr`, or a stand-in. */
export interface ProgressStream {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

const CLEAR_LINE = '\r\u001b[2K';

/** One line on a terminal that says what is being measured. Silent in a pipe. */
export class Progress {
  readonly #stream: ProgressStream;

  constructor(stream: ProgressStream) {
    this.#stream = stream;
  }

  show(text: string): void {
    if (this.#stream.isTTY) this.#stream.write(CLEAR_LINE + text.slice(0, (this.#stream.columns || 80) - 1));
  }

  clear(): void {
    if (this.#stream.isTTY) this.#stream.write(CLEAR_LINE);
  }
}
