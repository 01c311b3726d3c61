import { type FileHandle, open } from 'node:fs/promises';

/** Reads files one after the other as one stream of bytes, straight into the caller's memory. */
export class BlockReader {
  readonly #paths: readonly string[];
  #next = 0;
  #file: FileHandle | undefined;

  constructor(paths: readonly string[]) {
    this.#paths = paths;
  }

  /** Fills `block`, less only at the end. Returns how many bytes; 0 is the end. */
  async read(block: Uint8Array): Promise<number> {
    let filled = 0;
    while (filled < block.byteLength) {
      if (!this.#file) {
        if (this.#next === this.#paths.length) break;
        this.#file = await open(this.#paths[this.#next++]!);
      }
      const { bytesRead } = await this.#file.read(block, filled, block.byteLength - filled, null);
      filled += bytesRead;
      if (bytesRead === 0) await this.close();
    }
    return filled;
  }

  async close(): Promise<void> {
    const file = this.#file;
    this.#file = undefined;
    await file?.close();
  }
}
