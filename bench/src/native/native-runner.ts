import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { RoundResult, Runner } from '../core/suite.js';

/** How long a program may take beyond its time before the round counts as hung. */
const HANG_LIMIT_MS = 30_000;

/** What `rounds.c` prints of a thread. */
interface NativeThread {
  readonly driving: boolean;
  readonly operations: number;
  readonly elapsedNs: number;
  readonly cpuNs: number;
  readonly batches: number;
  readonly medianNs: number;
  readonly slowestNs: number;
}

/** A native program that plays a round for each line on its stdin. */
export class NativeRunner implements Runner {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #lines: AsyncIterator<string>;
  #stderr = '';

  constructor(file: string, args: readonly string[]) {
    this.#child = spawn(file, args);
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
    this.#child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr += text;
    });
    // Where it has ended, the missing line says so.
    this.#child.stdin.on('error', () => {});
    this.#child.on('error', (error) => {
      this.#stderr += error.message;
    });
  }

  async round(timeMs: number): Promise<RoundResult> {
    const watchdog = setTimeout(() => this.#child.kill('SIGKILL'), timeMs + HANG_LIMIT_MS);
    try {
      this.#child.stdin.write(`${timeMs}\n`);
      const { value, done } = await this.#lines.next();
      if (done) throw new Error(`The program ended in a round: ${this.#stderr.trim() || 'it said nothing'}`);
      return resultOf(JSON.parse(value) as NativeThread[]);
    } finally {
      clearTimeout(watchdog);
    }
  }

  async close(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = new Promise((resolve) => this.#child.once('close', resolve));
    this.#child.kill('SIGKILL');
    await ended;
  }
}

function resultOf(threads: readonly NativeThread[]): RoundResult {
  const drivers = threads.filter(({ driving }) => driving);
  const operationsPerNs = drivers.reduce((sum, { operations, elapsedNs }) => sum + operations / elapsedNs, 0);
  return {
    nsPerOperation: threads.length === 1 ? drivers[0]!.medianNs : 1 / operationsPerNs,
    slowestNs: Math.max(...drivers.map(({ slowestNs }) => slowestNs)),
    batchNs: Math.min(...drivers.map(({ elapsedNs, batches }) => elapsedNs / batches)),
    work: threads.map(({ operations }) => operations),
    driving: threads.map(({ driving }) => driving),
    cpuMs: threads.map(({ cpuNs }) => cpuNs / 1e6),
    wallMs: Math.max(...drivers.map(({ elapsedNs }) => elapsedNs)) / 1e6,
    figures: {},
    timerSaturated: false,
  };
}
