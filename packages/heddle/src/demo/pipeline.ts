import type { BlockReader } from './block-reader.js';
import type { Answer, Courier } from './courier.js';
import { combineCrc32 } from './crc32.js';

/** Where blocks come from: a file, or for measuring nothing at all. */
export interface Source {
  /** Fills a block; returns how many bytes, 0 at the end. */
  read(block: Uint8Array): Promise<number> | number;
}

/** Where outputs go, in order. */
export interface Sink {
  write(bytes: Uint8Array): Promise<void> | void;
}

export interface PipelineOptions {
  readonly source: Source | BlockReader;
  readonly sink?: Sink | undefined;
  /** How many blocks may be under way, from being sent to being finished. */
  readonly window: number;
  readonly onProgress?: ((bytesDone: number) => void) | undefined;
  /** Whether a source without bytes still gives one empty block, as a gzip file needs. */
  readonly atLeastOneBlock?: boolean | undefined;
}

export interface PipelineResult {
  readonly bytes: number;
  /** CRC-32 of each block, in order. */
  readonly blockCrcs: readonly number[];
  /** CRC-32 of the whole, combined from the blocks'. */
  readonly crc: number;
}

/**
 * Reads blocks, has the workers do their job on them, and takes the answers in order.
 *
 * Reading and collecting run side by side. A block counts as under way until its output is written, so that a
 * worker always finds memory for its output: it can never wait for one that waits for it.
 */
export async function runPipeline(courier: Courier, options: PipelineOptions): Promise<PipelineResult> {
  const { source, sink, window, onProgress, atLeastOneBlock = false } = options;
  const lengths: number[] = [];
  const blockCrcs: number[] = [];
  let sent = 0;
  let finished = 0;
  let ended = false;
  let failed = false;
  let wake: (() => void) | undefined;
  const change = () => new Promise<void>((resolve) => (wake = resolve));
  const changed = () => {
    wake?.();
    wake = undefined;
  };

  const produce = async () => {
    try {
      for (;;) {
        while (sent - finished >= window && !failed) await change();
        if (failed) return;
        const block = await courier.acquire();
        const byteLength = failed ? 0 : await source.read(block.bytes);
        if (failed || (byteLength === 0 && !(atLeastOneBlock && sent === 0))) {
          courier.cancel(block);
          return;
        }
        lengths.push(byteLength);
        courier.send(block, byteLength, sent++);
        changed();
        if (byteLength === 0) return;
      }
    } catch (error) {
      failed = true;
      throw error;
    } finally {
      ended = true;
      changed();
    }
  };

  const collect = async () => {
    const early = new Map<number, Answer>();
    let bytesDone = 0;
    try {
      for (;;) {
        while (finished === sent && !ended) await change();
        if (finished === sent || failed) return;
        const arrived = await courier.receive();
        early.set(arrived.sequence, arrived);
        for (let answer = early.get(finished); answer; answer = early.get(finished)) {
          early.delete(finished);
          if (sink) await sink.write(answer.output);
          blockCrcs.push(answer.crc);
          courier.finish(answer);
          bytesDone += lengths[finished++]!;
          onProgress?.(bytesDone);
          changed();
        }
      }
    } catch (error) {
      failed = true;
      changed();
      throw error;
    }
  };

  await Promise.all([produce(), collect()]);
  const bytes = lengths.reduce((sum, length) => sum + length, 0);
  const crc = blockCrcs.reduce((whole, blockCrc, i) => combineCrc32(whole, blockCrc, lengths[i]!), 0);
  return { bytes, blockCrcs, crc };
}
