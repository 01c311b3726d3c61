import { constants, setPriority } from 'node:os';
import { Worker } from 'node:worker_threads';
import { type Pinning, pinThread } from './pinning.js';
import { StartLine } from './start-line.js';
import {
  type Comparison,
  type Metric,
  type RoundResult,
  type Runner,
  type ThreadSpec,
  type ThreadVariant,
  threadCount,
} from './suite.js';
import type { ThreadAnswer, ThreadCommand, ThreadData, ThreadRound } from './thread-protocol.js';

/** How long a thread may take beyond its time before the round counts as hung. */
const HANG_LIMIT_MS = 30_000;

interface Thread {
  readonly worker: Worker;
  readonly label: string;
  driving: boolean;
}

/**
 * The threads of one variant, from start to end of its comparison.
 *
 * They live through warm-up and all rounds, so that what the engine learned stays learned; between rounds they
 * sleep. Whatever goes wrong in a thread ends the round with an error that names it.
 */
export class ThreadGroup implements Runner {
  readonly #line: StartLine;
  readonly #threads: Thread[] = [];
  readonly #name: string;
  readonly #metric: Metric;
  #release: (() => void) | undefined;
  #failure: Error | undefined;
  /** What the present step waits for: gets each answer, or the failure. */
  #listener: { take(index: number, answer: ThreadAnswer): void; fail(error: Error): void } | undefined;

  private constructor(name: string, metric: Metric) {
    this.#name = name;
    this.#metric = metric;
    this.#line = new StartLine(StartLine.create());
  }

  /** Starts the threads, waits until their workloads are loaded, and pins them as the variant wants it. */
  static async open(comparison: Comparison, variant: ThreadVariant, pinning: Pinning): Promise<ThreadGroup> {
    const group = new ThreadGroup(`${comparison.name}/${variant.name}`, comparison.metric);
    try {
      const kernelIds = await group.#start(variant, (variant.module ?? comparison.module)!);
      await place(variant, kernelIds, pinning);
      return group;
    } catch (error) {
      await group.close();
      throw error;
    }
  }

  async #start(variant: ThreadVariant, module: URL): Promise<(number | null)[]> {
    const threads = threadCount(variant);
    const prepared = variant.prepare?.(threads) ?? {};
    this.#release = prepared.release;
    const specs = specsOf(variant);
    const kernelIds: (number | null)[] = specs.map(() => null);
    const ready = this.#expect(threads, HANG_LIMIT_MS, (index, answer) => {
      if (answer.type !== 'ready') return false;
      this.#threads[index]!.driving = answer.driving;
      kernelIds[index] = answer.kernelId;
      return true;
    });
    // If a thread cannot even be made, nobody awaits this any more.
    ready.catch(() => {});
    for (const [index, { workload, parameters = {} }] of specs.entries()) {
      const own = prepared.own?.[index];
      const workerData: ThreadData = {
        moduleUrl: module.href,
        workload,
        index,
        threads,
        startLine: this.#line.buffer,
        shared: prepared.shared,
        own: own?.value,
        parameters,
      };
      const worker = new Worker(new URL('./bench-thread.worker.js', import.meta.url), {
        workerData,
        transferList: [...(own?.transfer ?? [])],
      });
      this.#threads.push({ worker, label: `thread ${index} (${workload}) of ${this.#name}`, driving: false });
      this.#watch(index);
    }
    await ready;
    if (!this.#threads.some((thread) => thread.driving)) {
      throw new TypeError(`No workload of ${this.#name} drives: one needs batch() or batchAsync()`);
    }
    return kernelIds;
  }

  #watch(index: number): void {
    const { worker, label } = this.#threads[index]!;
    worker.on('message', (answer: ThreadAnswer) => {
      if (answer.type === 'failed') this.#fail(new Error(`${label} failed: ${answer.reason}`));
      else this.#listener?.take(index, answer);
    });
    worker.on('error', (error) =>
      this.#fail(new Error(`${label} failed: ${String(error)}`, { cause: error })),
    );
    worker.on('exit', (code) => this.#fail(new Error(`${label} ended with exit code ${code}`)));
  }

  #fail(error: Error): void {
    this.#failure ??= error;
    this.#listener?.fail(error);
  }

  /** Resolves when `accept` has returned true `count` times; rejects on failure or when nothing comes for too long. */
  #expect(
    count: number,
    limitMs: number,
    accept: (index: number, answer: ThreadAnswer) => boolean,
  ): Promise<void> {
    let missing = count;
    return new Promise<void>((resolve, reject) => {
      if (this.#failure) return reject(this.#failure);
      const settle = (error?: Error) => {
        clearTimeout(watchdog);
        this.#listener = undefined;
        if (error) reject(error);
        else resolve();
      };
      const watchdog = setTimeout(
        () => this.#fail(new Error(`${this.#name} hangs: ${missing} of ${count} threads did not answer`)),
        limitMs,
      );
      this.#listener = {
        take: (index, answer) => {
          if (accept(index, answer) && --missing === 0) settle();
        },
        fail: settle,
      };
    });
  }

  async round(timeMs: number): Promise<RoundResult> {
    const threads = this.#threads;
    const parts: ThreadRound[] = [];
    let drivers = threads.filter((thread) => thread.driving).length;
    this.#line.reset(drivers);
    const done = this.#expect(threads.length, timeMs + HANG_LIMIT_MS, (index, answer) => {
      if (answer.type !== 'round') return false;
      parts[index] = answer.result;
      if (threads[index]!.driving && --drivers === 0) this.#stopServing();
      return true;
    });
    for (const thread of threads) tell(thread, { type: 'round', timeMs });
    await done;
    return combine(
      parts,
      threads.map((thread) => thread.driving),
      this.#metric,
    );
  }

  #stopServing(): void {
    for (const thread of this.#threads) if (!thread.driving) tell(thread, { type: 'stop' });
  }

  async close(): Promise<void> {
    this.#fail(new Error(`${this.#name} is closed`));
    await Promise.all(this.#threads.map((thread) => thread.worker.terminate()));
    this.#release?.();
    this.#release = undefined;
  }
}

/** What each thread of a variant is to do. */
function specsOf({ threads }: ThreadVariant): ThreadSpec[] {
  return threads.flatMap((spec) => Array.from({ length: spec.count ?? 1 }, () => spec));
}

/** Ties threads to cores, those that work and those in the background apart, and puts the latter behind the others. */
async function place(
  variant: ThreadVariant,
  kernelIds: readonly (number | null)[],
  { available, cores }: Pinning,
): Promise<void> {
  const specs = specsOf(variant);
  const threads = kernelIds.flatMap((id, index) =>
    id === null ? [] : [{ id, background: specs[index]!.background === true }],
  );
  for (const { id } of threads.filter(({ background }) => background)) {
    setPriority(id, constants.priority.PRIORITY_LOW);
  }
  if (!available || (variant.placement ?? 'spread') === 'free') return;
  for (const background of [false, true]) {
    const alike = threads.filter((thread) => thread.background === background);
    if (alike.length > cores.length) continue;
    await Promise.all(alike.map(({ id }, index) => pinThread(id, cores[index]!)));
  }
}

function tell(thread: Thread, command: ThreadCommand): void {
  thread.worker.postMessage(command);
}

function combine(parts: readonly ThreadRound[], driving: readonly boolean[], metric: Metric): RoundResult {
  const drivers = parts.filter((_, index) => driving[index]);
  // Several drivers work at once: their rates add up.
  const operationsPerNs = drivers.reduce((sum, part) => sum + 1 / part.meanNs, 0);
  const undisturbed = parts.length === 1 || (metric === 'time' && drivers.length === 1);
  const figures: Record<string, number> = {};
  for (const part of parts) {
    for (const [name, value] of Object.entries(part.figures)) {
      figures[name] = Math.max(figures[name] ?? Number.NEGATIVE_INFINITY, value);
    }
  }
  return {
    nsPerOperation: undisturbed ? drivers[0]!.medianNs : 1 / operationsPerNs,
    slowestNs: Math.max(...drivers.map((part) => part.slowestNs)),
    batchNs: Math.min(...drivers.map((part) => part.batchNs)),
    work: parts.map((part) => part.operations),
    driving,
    cpuMs: parts.map((part) => part.cpuMs),
    wallMs: Math.max(...drivers.map((part) => part.elapsedNs)) / 1e6,
    figures,
    timerSaturated: drivers.some((part) => part.timerSaturated),
  };
}
