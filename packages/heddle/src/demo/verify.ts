import { createReadStream } from 'node:fs';
import { crc32, createGunzip } from 'node:zlib';
import { BlockReader } from './block-reader.js';

/** The checksums of the same blocks, computed on this thread alone. */
export interface Reference {
  readonly bytes: number;
  readonly blockCrcs: readonly number[];
  readonly crc: number;
  readonly wallMs: number;
  readonly cpuMs: number;
}

export async function computeReference(
  files: readonly string[],
  blockBytes: number,
  onProgress: (bytesDone: number) => void,
  signal: AbortSignal,
): Promise<Reference> {
  const reader = new BlockReader(files);
  const block = new Uint8Array(blockBytes);
  const blockCrcs: number[] = [];
  const cpuBefore = process.cpuUsage();
  const startMs = performance.now();
  let bytes = 0;
  let crc = 0;
  try {
    for (let length = await reader.read(block); length > 0; length = await reader.read(block)) {
      signal.throwIfAborted();
      const filled = block.subarray(0, length);
      blockCrcs.push(crc32(filled));
      crc = crc32(filled, crc);
      bytes += length;
      onProgress(bytes);
    }
  } finally {
    await reader.close();
  }
  const cpu = process.cpuUsage(cpuBefore);
  return {
    bytes,
    blockCrcs,
    crc,
    wallMs: performance.now() - startMs,
    cpuMs: (cpu.user + cpu.system) / 1000,
  };
}

/** Whether checksums agree, each block's and that of the whole. An empty block stands for an empty file. */
export function checksumsAgree(
  reference: Reference,
  result: { readonly bytes: number; readonly blockCrcs: ArrayLike<number>; readonly crc: number },
): boolean {
  const blocks = result.bytes === 0 ? 0 : result.blockCrcs.length;
  return (
    result.bytes === reference.bytes &&
    result.crc === reference.crc &&
    blocks === reference.blockCrcs.length &&
    reference.blockCrcs.every((crc, i) => crc === result.blockCrcs[i])
  );
}

/** Whether a gzip file holds exactly the bytes of the files, compared byte for byte. */
export async function gzipMatches(
  path: string,
  files: readonly string[],
  onProgress: (bytesDone: number) => void,
  signal: AbortSignal,
): Promise<boolean> {
  const reader = new BlockReader(files);
  const gunzip = createGunzip();
  let bytes = 0;
  const input = createReadStream(path).on('error', (error) => gunzip.destroy(error));
  try {
    for await (const chunk of input.pipe(gunzip) as AsyncIterable<Buffer>) {
      signal.throwIfAborted();
      const expected = Buffer.alloc(chunk.byteLength);
      if ((await reader.read(expected)) !== chunk.byteLength || !expected.equals(chunk)) return false;
      bytes += chunk.byteLength;
      onProgress(bytes);
    }
    return (await reader.read(new Uint8Array(1))) === 0;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code?.startsWith('Z_')) return false;
    throw error;
  } finally {
    input.destroy();
    await reader.close();
  }
}
