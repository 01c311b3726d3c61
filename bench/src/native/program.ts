import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { CannotRunHere } from '../core/suite.js';

const run = promisify(execFile);

/** Where the sources of native peers are, and where what was made of them is kept. */
const SOURCES = fileURLToPath(new URL('../../native/', import.meta.url));
const CACHE = fileURLToPath(new URL('../../../node_modules/.cache/heddle-bench/', import.meta.url));

const COMPILER = 'cc';
const FLAGS = ['-std=gnu11', '-O2', '-pthread', '-fno-builtin-malloc', '-fno-builtin-free'];

/** A program in C that takes part in a comparison. */
export interface NativeProgram {
  readonly sources: readonly string[];
  readonly defines: Readonly<Record<string, string | number>>;
  /** As the linker takes them: `-lucs`. */
  readonly libraries: readonly string[];
  /** What has to be installed, for whoever has not. */
  readonly needs: string;
}

/**
 * Compiles a program, unless the same was compiled before, and returns its path.
 *
 * @throws CannotRunHere where there is no compiler, or what the program needs is missing.
 */
export async function compile(program: NativeProgram): Promise<string> {
  const defines = Object.entries(program.defines).map(([name, value]) => `-D${name}=${value}`);
  const args = [...FLAGS, ...defines, ...program.sources, ...program.libraries];
  const file = `${CACHE}${fingerprint(args)}`;
  if (existsSync(file)) return file;
  mkdirSync(CACHE, { recursive: true });
  // Under another name first, so that nobody ever finds half of it.
  const unfinished = `${file}.${process.pid}`;
  try {
    await run(COMPILER, [...args, '-o', unfinished], { cwd: SOURCES });
  } catch (error) {
    throw new CannotRunHere(whyNot(program, error as NodeJS.ErrnoException & { stderr?: string }));
  }
  renameSync(unfinished, file);
  return file;
}

function fingerprint(args: readonly string[]): string {
  const hash = createHash('sha256').update(args.join('\0'));
  for (const name of readdirSync(SOURCES).sort()) hash.update(name).update(readFileSync(SOURCES + name));
  return hash.digest('hex').slice(0, 16);
}

function whyNot({ needs }: NativeProgram, error: NodeJS.ErrnoException & { stderr?: string }): string {
  if (error.code === 'ENOENT') return `there is no C compiler (${COMPILER})`;
  const reason = error.stderr?.split('\n').find((line) => /error|cannot find/.test(line));
  return `it needs ${needs} (${reason?.trim() ?? error.message})`;
}
