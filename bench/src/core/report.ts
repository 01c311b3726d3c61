import type { Environment } from './environment.js';
import type { Plan } from './plan.js';
import type { Summary } from './statistics.js';
import type { Metric } from './suite.js';

/** What a run found, as it is written to JSON. Everything in it is plain. */
export interface Report {
  readonly format: 'heddle-bench';
  /** Changes with every change of the shape or meaning of a field. */
  readonly version: 1;
  readonly startedAt: string;
  readonly durationMs: number;
  readonly plan: Plan;
  readonly environment: Environment;
  readonly suites: readonly SuiteReport[];
}

export interface SuiteReport {
  readonly name: string;
  readonly summary: string;
  readonly limits: string;
  readonly comparisons: readonly ComparisonReport[];
}

export interface ComparisonReport {
  readonly name: string;
  readonly title: string;
  readonly metric: Metric;
  /** Of the variants' values. */
  readonly unit: 'ns' | 'operations/s' | 'bytes/s';
  readonly operation: string;
  readonly baseline: string;
  readonly variants: readonly VariantReport[];
}

export type VariantReport = MeasuredVariant | UnmeasuredVariant;

export interface UnmeasuredVariant {
  readonly name: string;
  readonly status: 'skipped' | 'failed';
  readonly reason: string;
}

export interface MeasuredVariant {
  readonly name: string;
  readonly status: 'measured';
  readonly threads: number;
  /** Over the rounds, in the comparison's unit. */
  readonly value: Summary;
  readonly rounds: readonly number[];
  /** The slowest batch of all rounds, in nanoseconds an operation whatever the metric. */
  readonly slowestNs: number;
  /** Round by round against the twin; absent where the twin has no figures. */
  readonly ratio?: RatioReport;
  /** Median over the rounds of the fairness among driving threads. */
  readonly jain: number;
  /** In the order in which the variant has them. */
  readonly targets: readonly TargetReport[];
  /** Per thread, in the order of the variant; medians over the rounds. */
  readonly threadReports: readonly ThreadReport[];
  readonly wallMs: number;
  /** Further figures of the workload: the largest of all threads and rounds. */
  readonly figures: Readonly<Record<string, number>>;
  readonly warnings: readonly Warning[];
}

export interface RatioReport extends Summary {
  readonly against: string;
  readonly rounds: readonly number[];
}

export interface TargetReport {
  readonly of: 'ratio' | 'jain';
  /** Of a ratio: the twin. */
  readonly against?: string;
  readonly atMost?: number;
  readonly atLeast?: number;
  /** Median over the rounds; absent where it could not be had. */
  readonly value?: number;
  /**
   * `within-spread`: the value is beyond the bound, by less than the rounds differ. `not-judged`: the twin has no
   * figures, or the rounds were too short.
   */
  readonly outcome: 'met' | 'within-spread' | 'missed' | 'not-judged';
}

export interface ThreadReport {
  readonly role: 'drives' | 'serves';
  /** Operations in a round. */
  readonly work: number;
  readonly operationsPerSecond: number;
  readonly cpuMs: number | null;
}

/** Why a figure should not be trusted. */
export interface Warning {
  readonly code: 'spread' | 'timer' | 'warm-up' | 'core-taken';
  readonly message: string;
}
