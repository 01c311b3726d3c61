import type { Transferable } from 'node:worker_threads';

/**
 * What is measured.
 *
 * - `time`: nanoseconds an operation, less is better. Where one thread drives, the median of its batches, so that
 *   a time slice that went to another program does not count; where several do, the time over all of them.
 * - `rate`: operations a second of all driving threads together, more is better. Where the variant has several
 *   threads, stalls count: they are part of what threads do to each other.
 * - `bandwidth`: bytes a second, otherwise as `rate`.
 * - `cpu`: nanoseconds that all threads together spent on a core, by operations of the driving ones; less is better.
 */
export type Metric = 'time' | 'rate' | 'bandwidth' | 'cpu';

/** `count` threads that run one workload of the variant's worker file. */
export interface ThreadSpec {
  readonly workload: string;
  readonly count?: number;
  readonly parameters?: Readonly<Record<string, unknown>>;
  /**
   * It only keeps a core from falling asleep: tied to the cores in their order beside the threads that work, with the
   * lowest priority.
   */
  readonly background?: true;
}

/** What a variant's threads share, made anew for each run. */
export interface Prepared {
  readonly shared?: unknown;
  /** One entry a thread, in order. */
  readonly own?: readonly { readonly value: unknown; readonly transfer?: readonly Transferable[] }[];
  /** Called when the threads have ended: what is left of it in this one. */
  readonly release?: () => void;
}

/** What one round of a variant came to. */
export interface RoundResult {
  /** Nanoseconds an operation, as the metric defines it. */
  readonly nsPerOperation: number;
  /** The slowest batch of the round, in nanoseconds an operation. */
  readonly slowestNs: number;
  /** How long a batch lasted, which is what the clock had to resolve. */
  readonly batchNs: number;
  /** Operations of each thread. */
  readonly work: readonly number[];
  /** Which threads drive; the others answer to them. */
  readonly driving: readonly boolean[];
  /** CPU time of each thread in milliseconds; `null` where the system does not tell. */
  readonly cpuMs: readonly (number | null)[];
  readonly wallMs: number;
  readonly figures: Readonly<Record<string, number>>;
  /** The timer could not resolve the batches. */
  readonly timerSaturated: boolean;
}

/** Something that can be measured round by round. */
export interface Runner {
  /** Warms up by itself in each round, if it has to at all. */
  readonly warm?: boolean;
  round(timeMs: number): Promise<RoundResult>;
  close(): Promise<void>;
}

/** Bounds of the ratio to a twin. */
export interface RatioTarget {
  readonly atMost?: number;
  readonly atLeast?: number;
  /** The twin, where it is not the one that the row is divided by. */
  readonly against?: string;
}

/** The least fairness index among the driving threads, judged where rounds last long enough to show it. */
export interface FairnessTarget {
  readonly jainAtLeast: number;
  readonly overMs: number;
}

export type Target = RatioTarget | FairnessTarget;

/** Thrown by the `open` of a variant that lacks something on this machine: it is skipped, with the message as reason. */
export class CannotRunHere extends Error {
  override readonly name = 'CannotRunHere';
}

interface VariantFacts {
  /** Named by topology and pattern: `spsc-batch64`, `mutex-4t-cs10-ncs40`. */
  readonly name: string;
  /** The twin that this one is divided by, where it is not the comparison's baseline. */
  readonly against?: string;
  /** Only for the metric `bandwidth`. */
  readonly bytesPerOperation?: number;
  /** Its threads never sleep: where one was off its core for long, the figures say so. One thread alone never does. */
  readonly polls?: boolean;
  /** What is aimed at. A figure beyond a bound is marked, it fails nothing. */
  readonly targets?: readonly Target[];
  /** Why it cannot run here; absent or empty where it can. What `open` has to find out itself throws {@link CannotRunHere}. */
  readonly skip?: string | undefined;
}

/** Measured on threads of this process. One thread goes through tinybench, several through the agreed start. */
export interface ThreadVariant extends VariantFacts {
  /** The worker file, as `new URL('./x.worker.js', import.meta.url)`. Default: that of the comparison. */
  readonly module?: URL;
  readonly threads: readonly ThreadSpec[];
  readonly prepare?: (threads: number) => Prepared;
  /** `spread` (default) pins one thread a core while the cores suffice; `free` pins none. */
  readonly placement?: 'spread' | 'free';
}

/** Measured by other means: a native program, for example. */
export interface ExternalVariant extends VariantFacts {
  /** @param cores to tie one thread each to, as far as they suffice; empty where threads are not to be tied. */
  readonly open: (cores: readonly number[]) => Promise<Runner>;
}

export type Variant = ThreadVariant | ExternalVariant;

/** Variants that are run in the same rounds and divided by a baseline among them. */
export interface Comparison {
  readonly name: string;
  readonly title: string;
  readonly metric: Metric;
  /** What one operation is: `op`, `round trip`, `copy`. */
  readonly operation: string;
  readonly baseline: string;
  readonly module?: URL;
  /** Longer rounds than planned, for what takes time to show, such as fairness. A quick run keeps to its plan. */
  readonly roundMs?: number;
  readonly variants: readonly Variant[];
}

export interface Suite {
  readonly name: string;
  /** One line for the list. */
  readonly summary: string;
  /** A paragraph: what the figures do not show. */
  readonly limits: string;
  readonly comparisons: (machine: { readonly cores: number }) => readonly Comparison[];
}

/** Declares a suite. Every comparison is checked when it is asked for, before anything runs. */
export function defineSuite(suite: Suite): Suite {
  return {
    ...suite,
    comparisons: (machine) => {
      const comparisons = suite.comparisons(machine);
      assertDistinct(comparisons, `suite "${suite.name}"`);
      for (const comparison of comparisons) checkComparison(comparison);
      return comparisons;
    },
  };
}

/** Number of threads that a variant runs on. */
export function threadCount(variant: ThreadVariant): number {
  return variant.threads.reduce((sum, spec) => sum + (spec.count ?? 1), 0);
}

function checkComparison(comparison: Comparison): void {
  const place = `comparison "${comparison.name}"`;
  assertDistinct(comparison.variants, place);
  const names = new Set(comparison.variants.map((variant) => variant.name));
  if (!names.has(comparison.baseline)) {
    throw new TypeError(`The baseline "${comparison.baseline}" is none of the variants of ${place}`);
  }
  for (const variant of comparison.variants) {
    const where = `variant "${variant.name}" of ${place}`;
    for (const twin of twinsOf(variant)) {
      if (!names.has(twin)) throw new TypeError(`The twin "${twin}" of ${where} is none of its variants`);
    }
    if (comparison.metric === 'bandwidth' && !(variant.bytesPerOperation! > 0)) {
      throw new TypeError(`A bandwidth needs bytesPerOperation: give it to ${where}`);
    }
    if ('open' in variant) continue;
    if (threadCount(variant) < 1) throw new TypeError(`There is no thread in ${where}`);
    if (!(variant.module ?? comparison.module)) throw new TypeError(`There is no worker file for ${where}`);
  }
}

/** The variants that this one is divided by, where it names any. */
function twinsOf({ against, targets = [] }: Variant): string[] {
  const named = [against, ...targets.map((target) => ('jainAtLeast' in target ? undefined : target.against))];
  return named.filter((name) => name !== undefined);
}

function assertDistinct(things: readonly { readonly name: string }[], place: string): void {
  const seen = new Set<string>();
  for (const { name } of things) {
    if (seen.has(name)) throw new TypeError(`The name "${name}" is used twice in ${place}`);
    seen.add(name);
  }
}
