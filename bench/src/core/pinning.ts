import { execFile } from 'node:child_process';
import { readFileSync, readlinkSync } from 'node:fs';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Whether threads can be tied to cores here. */
export interface Pinning {
  readonly available: boolean;
  /** The tool that does it, or why it cannot be done. */
  readonly detail: string;
  /** Cores that this process may use. Empty where that is not known. */
  readonly cores: readonly number[];
}

/**
 * Finds out by pinning nothing: asks `taskset` for the affinity of this process.
 *
 * Threads are pinned one by one by their id in the kernel, since a worker thread cannot be started pinned and the
 * main thread is better left alone.
 */
export async function detectPinning(wanted: boolean): Promise<Pinning> {
  if (!wanted) return { available: false, detail: 'switched off', cores: [] };
  if (kernelThreadId() === null) {
    return { available: false, detail: `no thread ids on ${process.platform}`, cores: [] };
  }
  try {
    await run('taskset', ['-p', '-c', String(process.pid)]);
  } catch {
    return { available: false, detail: 'taskset (util-linux) is not installed', cores: [] };
  }
  const cores = allowedCores();
  if (cores.length === 0) return { available: false, detail: 'the allowed cores are not known', cores };
  return { available: true, detail: 'taskset', cores };
}

/** Ties the thread with this kernel id to one core. Returns whether that worked. */
export async function pinThread(kernelId: number, core: number): Promise<boolean> {
  try {
    await run('taskset', ['-p', '-c', String(core), String(kernelId)]);
    return true;
  } catch {
    return false;
  }
}

/** The kernel's id of the calling thread; `null` off Linux. */
export function kernelThreadId(): number | null {
  try {
    const id = Number(readlinkSync('/proc/thread-self').split('/').at(-1));
    return Number.isInteger(id) ? id : null;
  } catch {
    return null;
  }
}

function allowedCores(): number[] {
  try {
    const line = /^Cpus_allowed_list:\s*(\S+)$/m.exec(readFileSync('/proc/self/status', 'latin1'));
    return line ? parseCoreList(line[1]!) : [];
  } catch {
    return [];
  }
}

/** `0-3,8` → `[0, 1, 2, 3, 8]`. */
export function parseCoreList(list: string): number[] {
  return list.split(',').flatMap((range) => {
    const [first, last = first] = range.split('-').map(Number);
    if (first === undefined || last === undefined || !Number.isInteger(first) || !Number.isInteger(last))
      return [];
    return Array.from({ length: last - first + 1 }, (_, step) => first + step);
  });
}
