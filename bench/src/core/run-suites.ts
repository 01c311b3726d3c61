import { describeEnvironment, type Environment } from './environment.js';
import { measureComparison } from './measure.js';
import { detectPinning } from './pinning.js';
import type { Plan } from './plan.js';
import type { Report, SuiteReport } from './report.js';
import type { Comparison, Suite } from './suite.js';
import { ThreadGroup } from './thread-group.js';

export interface RunOptions {
  readonly plan: Plan;
  readonly pin: boolean;
  /** Only comparisons whose name contains this. */
  readonly filter: string;
  /** Called before each step with what is being done. */
  progress(text: string): void;
}

/** The comparisons of each suite that the filter leaves, checked. Suites without any are left out. */
export function selectComparisons(suites: readonly Suite[], filter: string, cores: number) {
  return suites
    .map((suite) => ({
      suite,
      comparisons: suite.comparisons({ cores }).filter((comparison) => comparison.name.includes(filter)),
    }))
    .filter(({ comparisons }) => comparisons.length > 0);
}

/** Runs the suites one after the other and returns all that was found. */
export async function runSuites(suites: readonly Suite[], options: RunOptions): Promise<Report> {
  const started = new Date();
  const environment = describeEnvironment(await detectPinning(options.pin));
  const selected = selectComparisons(suites, options.filter, environment.machine.cores);
  const total = selected.reduce((sum, { comparisons }) => sum + comparisons.length, 0);
  let index = 0;
  const reports: SuiteReport[] = [];
  for (const { suite, comparisons } of selected) {
    const reportOf = (comparison: Comparison) =>
      measure(comparison, environment, options, `${++index}/${total} ${suite.name} ${comparison.name}`);
    const { name, summary, limits } = suite;
    const comparisonReports = [];
    for (const comparison of comparisons) comparisonReports.push(await reportOf(comparison));
    reports.push({ name, summary, limits, comparisons: comparisonReports });
  }
  return {
    format: 'heddle-bench',
    version: 1,
    startedAt: started.toISOString(),
    durationMs: Date.now() - started.getTime(),
    plan: options.plan,
    environment,
    suites: reports,
  };
}

function measure(comparison: Comparison, environment: Environment, options: RunOptions, place: string) {
  return measureComparison(comparison, {
    plan: options.plan,
    clockResolutionNs: environment.clockResolutionNs,
    open: (owner, variant) =>
      'open' in variant
        ? variant.open(environment.pinning.cores)
        : ThreadGroup.open(owner, variant, environment.pinning),
    progress: (variant, step) => options.progress(`${place}: ${variant}, ${step}`),
  });
}
