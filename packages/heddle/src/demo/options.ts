import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { dirname } from 'node:path';
import { InvalidArgumentError } from 'commander';
import { JOBS, type Job } from './job.js';

const MAX_WORKERS = 128;
const MIN_BLOCK_BYTES = 4096;
const MAX_BLOCK_BYTES = 64 * 1024 * 1024;
export const DEFAULT_BLOCK_BYTES = 1024 * 1024;

export interface DemoOptions {
  readonly files: readonly string[];
  readonly job: Job;
  readonly workers: number;
  readonly blockBytes: number;
  readonly output: string | undefined;
  /** For tests: terminate the worker that gets this block. */
  readonly killAtBlock: number | undefined;
}

/** What is wrong with what was asked for, and what to do: no fault of the program. */
export class UsageError extends Error {}

export function defaultWorkers(): number {
  return Math.max(2, Math.min(availableParallelism(), MAX_WORKERS));
}

export function parseWorkers(text: string): number {
  const workers = parseWhole(text);
  if (workers >= 1 && workers <= MAX_WORKERS) return workers;
  throw new InvalidArgumentError(`It is a whole number from 1 to ${MAX_WORKERS}.`);
}

const UNITS: Readonly<Record<string, number>> = { '': 1, k: 2 ** 10, m: 2 ** 20 };

export function parseBlockBytes(text: string): number {
  const [, digits = '', unit = ''] = /^(\d+)(?:([km])(?:i?b)?)?$/i.exec(text) ?? [];
  const bytes = parseWhole(digits) * UNITS[unit.toLowerCase()]!;
  if (bytes >= MIN_BLOCK_BYTES && bytes <= MAX_BLOCK_BYTES) return bytes;
  throw new InvalidArgumentError(
    `It is a number of bytes from ${MIN_BLOCK_BYTES} to 64M, such as 65536, 256k or 1M.`,
  );
}

export function parseJob(text: string): Job {
  const job = JOBS.find((known) => known === text);
  if (job) return job;
  throw new InvalidArgumentError(`It is one of: ${JOBS.join(', ')}.`);
}

export function parseWhole(text: string): number {
  return /^\d+$/.test(text) ? Number(text) : Number.NaN;
}

/**
 * Looks at the files before anything starts.
 *
 * @returns how many bytes they have together, 0 for what has no size (a pipe).
 * @throws UsageError that names the file and what is wrong with it.
 */
export async function checkFiles({ files, job, output }: DemoOptions): Promise<number> {
  if (output !== undefined && job !== 'gzip') {
    throw new UsageError(`--output is for --job gzip: a ${job} has nothing to write`);
  }
  let bytes = 0;
  for (const file of files) {
    const found = await explain(file, 'read', () => stat(file));
    if (found.isDirectory()) throw new UsageError(`Cannot read ${file}: it is a directory, name files`);
    await explain(file, 'read', () => access(file, constants.R_OK));
    if (!found.isFile())
      throw new UsageError(`Cannot read ${file}: it is not a regular file, and is read several times`);
    bytes += found.size;
  }
  if (output !== undefined) {
    const found = await stat(output).catch(() => undefined);
    if (found?.isDirectory()) throw new UsageError(`Cannot write ${output}: it is a directory, name a file`);
    for (const file of files) {
      const input = await stat(file);
      if (found && found.ino === input.ino && found.dev === input.dev) {
        throw new UsageError(`Cannot write ${output}: it is one of the files to read`);
      }
    }
    await explain(output, 'write', () => access(found ? output : dirname(output), constants.W_OK));
  }
  return bytes;
}

async function explain<Value>(path: string, verb: string, action: () => Promise<Value>): Promise<Value> {
  try {
    return await action();
  } catch (error) {
    throw new UsageError(`Cannot ${verb} ${path}: ${describe(error)}`);
  }
}

/** A system error in plain words. */
export function describe(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  const known: Readonly<Record<string, string>> = {
    ENOENT: 'there is no such file or folder',
    ENOTDIR: 'a part of its path is not a folder',
    EACCES: 'permission denied',
    EPERM: 'not permitted',
    EROFS: 'the file system is read-only',
    EISDIR: 'it is a directory',
    ENOSPC: 'no space is left on the device',
    EMFILE: 'too many files are open',
  };
  return (code && known[code]) ?? message;
}
