import { constants, crc32, gzipSync } from 'node:zlib';

/** What the workers do with a block. */
export type Job = 'checksum' | 'gzip' | 'move';

/** Jobs that a person can ask for. `move` does nothing: it measures what the way costs. */
export const JOBS = ['checksum', 'gzip'] as const satisfies readonly Job[];

export interface JobResult {
  readonly crc: number;
  /** What came out, in private memory; empty for a checksum. */
  readonly output: Uint8Array;
}

const NOTHING = new Uint8Array(0);

export function runJob(job: Job, block: Uint8Array): JobResult {
  if (job === 'move') return { crc: 0, output: NOTHING };
  const crc = crc32(block);
  // The quickest level: the demonstration is about threads, not about zlib.
  return { crc, output: job === 'gzip' ? gzipSync(block, { level: constants.Z_BEST_SPEED }) : NOTHING };
}

/** The most bytes that a gzip member of so many bytes can have: zlib's bound, and the member's frame. */
export function largestOutput(job: Job, byteLength: number): number {
  if (job !== 'gzip') return 0;
  return byteLength + Math.ceil(byteLength / 4096) + Math.ceil(byteLength / 16384) + 64;
}
