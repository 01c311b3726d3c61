import { randomUUID } from 'node:crypto';
import { rename, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Where an output goes: it is there whole or not at all, since it is written under another name beside it and
 * renamed at the end.
 *
 * Without a path it is a temporary file. What exists and is not a regular file (`/dev/null`) is written in place.
 */
export class OutputPlace {
  /** Where to write. */
  readonly writingPath: string;
  /** Whether what was written can be read back. */
  readonly readable: boolean;
  readonly #finalPath: string | undefined;

  private constructor(writingPath: string, finalPath: string | undefined, readable: boolean) {
    this.writingPath = writingPath;
    this.#finalPath = finalPath;
    this.readable = readable;
  }

  static async choose(path: string | undefined): Promise<OutputPlace> {
    const unique = randomUUID().slice(0, 8);
    if (path === undefined)
      return new OutputPlace(join(tmpdir(), `heddle-demo-${unique}.gz`), undefined, true);
    const found = await stat(path).catch(() => undefined);
    if (found && !found.isFile()) return new OutputPlace(path, undefined, false);
    return new OutputPlace(`${path}.${unique}.part`, path, true);
  }

  /** Puts the file where it was asked for. */
  async commit(): Promise<void> {
    if (this.#finalPath !== undefined) await rename(this.writingPath, this.#finalPath);
  }

  /** Leaves nothing behind. Does nothing after {@link commit}. */
  async discard(): Promise<void> {
    if (this.readable) await rm(this.writingPath, { force: true });
  }
}
