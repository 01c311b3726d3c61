import { execFileSync } from 'node:child_process';
import { availableParallelism, cpus, loadavg, release, totalmem } from 'node:os';
import { fileURLToPath } from 'node:url';
import { clockResolutionNs } from './clock.js';
import type { Pinning } from './pinning.js';

/** Where a run took place: without it a figure says nothing. */
export interface Environment {
  readonly machine: {
    readonly cpu: string;
    readonly cores: number;
    readonly memoryBytes: number;
    readonly platform: string;
    readonly release: string;
    readonly arch: string;
    /** One-minute load average before the run: above the number of cores, others were at work too. */
    readonly loadAverage: number;
  };
  readonly engine: {
    readonly name: string;
    readonly version: string;
    readonly v8: string;
    readonly flags: string[];
  };
  /** `null` where the sources are not in a git repository, or have no commit yet. */
  readonly commit: { readonly id: string; readonly modified: boolean } | null;
  readonly pinning: Pinning;
  readonly clockResolutionNs: number;
}

export function describeEnvironment(pinning: Pinning): Environment {
  return {
    machine: {
      cpu: cpus()[0]?.model.trim() ?? 'unknown',
      cores: availableParallelism(),
      memoryBytes: totalmem(),
      platform: process.platform,
      release: release(),
      arch: process.arch,
      loadAverage: loadavg()[0]!,
    },
    engine: {
      name: 'node',
      version: process.versions.node,
      v8: process.versions.v8,
      flags: process.execArgv,
    },
    commit: readCommit(),
    pinning,
    clockResolutionNs: clockResolutionNs(),
  };
}

function readCommit(): Environment['commit'] {
  try {
    return { id: git('rev-parse', 'HEAD'), modified: git('status', '--porcelain') !== '' };
  } catch {
    return null;
  }
}

function git(...args: string[]): string {
  const cwd = fileURLToPath(new URL('.', import.meta.url));
  return execFileSync('git', args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
}
