import { availableParallelism } from 'node:os';
import Table from 'cli-table3';
import type { PoolAccount, Variant } from './courier.js';
import { formatBytes, formatMs, megabytesPerSecond } from './format.js';
import type { Job } from './job.js';

export interface VariantFigures {
  readonly wallMs: number;
  readonly megabytesPerSecond: number;
  readonly cpuMs: number;
  readonly movingMs: number;
  readonly peakMemoryBytes: number;
  readonly verified: boolean;
}

/** What the demonstration found: printed as a table, or as JSON as it is. */
export interface DemoReport {
  readonly files: readonly string[];
  readonly bytes: number;
  readonly blocks: number;
  readonly job: Job;
  readonly workers: number;
  readonly blockBytes: number;
  /** CRC-32 of the whole, in hexadecimal. */
  readonly crc32: string;
  readonly output: string | null;
  /** Whether every variant's result is right. */
  readonly verified: boolean;
  /** How it was verified. */
  readonly verification: string;
  /** Slots of the pool that nobody gave back. */
  readonly outstanding: number;
  readonly pool: PoolAccount;
  readonly machine: { readonly node: string; readonly cores: number; readonly platform: string };
  /** The checksums on one thread, for comparison; only where the job is a checksum. */
  readonly oneThread: {
    readonly wallMs: number;
    readonly megabytesPerSecond: number;
    readonly cpuMs: number;
  } | null;
  readonly variants: Readonly<Record<Variant, VariantFigures>>;
}

export function machine(): DemoReport['machine'] {
  return {
    node: process.version,
    cores: availableParallelism(),
    platform: `${process.platform} ${process.arch}`,
  };
}

/** Columns apart by spaces: the table fits a terminal of 80. */
const PLAIN = {
  ...{ top: '', 'top-mid': '', 'top-left': '', 'top-right': '' },
  ...{ bottom: '', 'bottom-mid': '', 'bottom-left': '', 'bottom-right': '' },
  ...{ left: '', 'left-mid': '', mid: '', 'mid-mid': '', right: '', 'right-mid': '', middle: '  ' },
};

const LABELS: Readonly<Record<Variant, string>> = {
  heddle: 'Heddle, by descriptor',
  clone: 'postMessage, copied',
  transfer: 'postMessage, transferred',
};

export function formatReport(report: DemoReport): string {
  const table = new Table({
    head: ['', 'wall\ntime', 'MB/s', 'CPU\ntime', 'moving\ndata', 'peak\nmemory', 'result'],
    colAligns: ['left', 'right', 'right', 'right', 'right', 'right', 'left'],
    chars: PLAIN,
    style: {
      head: process.stdout.isTTY ? ['bold'] : [],
      border: [],
      'padding-left': 0,
      'padding-right': 0,
    },
  });
  for (const variant of Object.keys(LABELS) as Variant[]) {
    const figures = report.variants[variant];
    table.push([
      LABELS[variant],
      formatMs(figures.wallMs),
      figures.megabytesPerSecond.toFixed(0),
      formatMs(figures.cpuMs),
      formatMs(figures.movingMs),
      formatBytes(figures.peakMemoryBytes),
      figures.verified ? 'verified' : 'WRONG',
    ]);
  }
  if (report.oneThread) {
    const { wallMs, megabytesPerSecond: rate, cpuMs } = report.oneThread;
    table.push(['one thread', formatMs(wallMs), rate.toFixed(0), formatMs(cpuMs), '-', '-', 'reference']);
  }
  const { pool } = report;
  const names = report.files.length > 3 ? `${report.files.length} files` : report.files.join(', ');
  return [
    `${names}: ${formatBytes(report.bytes)} in ${report.blocks} block${report.blocks === 1 ? '' : 's'} of ${formatBytes(report.blockBytes)}, ${report.job} on ${report.workers} workers`,
    '',
    table.toString(),
    '',
    `pool: got ${pool.got}, put ${pool.put} (across threads ${pool.putAcrossThreads}), outstanding ${pool.outstanding}`,
    `CRC-32 ${report.crc32}; ${report.verification}`,
    ...(report.output === null ? [] : [`written: ${report.output}`]),
    '',
    'moving data: the same blocks sent to the workers and back with no work on',
    'them. Each variant ran in a process of its own, one after the other; peak',
    'memory is that of the whole process, Node itself included.',
  ].join('\n');
}

export function figuresOf(
  result: { wallMs: number; cpuMs: number; movingMs: number; peakMemoryBytes: number; bytes: number },
  verified: boolean,
): VariantFigures {
  const { wallMs, cpuMs, movingMs, peakMemoryBytes, bytes } = result;
  return {
    wallMs,
    megabytesPerSecond: megabytesPerSecond(bytes, wallMs),
    cpuMs,
    movingMs,
    peakMemoryBytes,
    verified,
  };
}
