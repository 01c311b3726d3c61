import { judgeFairness, judgeRatio } from './judge.js';
import type { Plan } from './plan.js';
import type { ComparisonReport, MeasuredVariant, RatioReport, VariantReport } from './report.js';
import { jainIndex, median, pairwiseRatios, summarize } from './statistics.js';
import {
  CannotRunHere,
  type Comparison,
  type Metric,
  type RoundResult,
  type Runner,
  type Variant,
} from './suite.js';
import { warmUp } from './warm-up.js';
import { findWarnings } from './warnings.js';

/** What the measuring of a comparison needs from outside. */
export interface Measuring {
  readonly plan: Plan;
  readonly clockResolutionNs: number;
  open(comparison: Comparison, variant: Variant): Promise<Runner>;
  progress(variant: string, step: string): void;
}

/** A variant on its way through a comparison. */
interface Entry {
  readonly variant: Variant;
  readonly results: RoundResult[];
  runner?: Runner;
  warmedUp: boolean;
  unmeasured?: { readonly status: 'skipped' | 'failed'; readonly reason: string };
}

/**
 * Measures the variants of a comparison, interleaved: each round runs every variant once.
 *
 * The order turns by one place each round, so that no variant always follows the same neighbour. A variant that
 * fails leaves the comparison with its reason; the others go on.
 */
export async function measureComparison(
  comparison: Comparison,
  measuring: Measuring,
): Promise<ComparisonReport> {
  const { plan } = measuring;
  const roundMs = plan.mode === 'full' ? Math.max(plan.roundMs, comparison.roundMs ?? 0) : plan.roundMs;
  const entries = comparison.variants.map((variant): Entry => {
    const entry: Entry = { variant, results: [], warmedUp: false };
    if (variant.skip) entry.unmeasured = { status: 'skipped', reason: variant.skip };
    return entry;
  });
  const attempt = async (entry: Entry, step: string, action: (runner: Runner) => Promise<void>) => {
    if (entry.unmeasured) return;
    measuring.progress(entry.variant.name, step);
    try {
      entry.runner ??= await measuring.open(comparison, entry.variant);
      await action(entry.runner);
    } catch (error) {
      const status = error instanceof CannotRunHere ? 'skipped' : 'failed';
      entry.unmeasured = { status, reason: error instanceof Error ? error.message : String(error) };
      // At once: what is left of it might take a core from the others.
      await entry.runner?.close();
    }
  };
  try {
    for (const entry of entries) {
      await attempt(entry, 'warm-up', async (runner) => {
        entry.warmedUp = runner.warm === true || (await warmUp(runner, plan));
      });
    }
    for (let round = 0; round < plan.rounds; round++) {
      for (let place = 0; place < entries.length; place++) {
        const entry = entries[(place + round) % entries.length]!;
        await attempt(entry, `round ${round + 1} of ${plan.rounds}`, async (runner) => {
          entry.results.push(await runner.round(roundMs));
        });
      }
    }
  } finally {
    await Promise.all(entries.map((entry) => entry.runner?.close()));
  }
  return { ...headOf(comparison), variants: conclude(comparison, entries, measuring.clockResolutionNs) };
}

const units = { time: 'ns', rate: 'operations/s', bandwidth: 'bytes/s', cpu: 'ns' } as const;

function headOf({
  name,
  title,
  metric,
  operation,
  baseline,
}: Comparison): Omit<ComparisonReport, 'variants'> {
  return { name, title, metric, unit: units[metric], operation, baseline };
}

function conclude(
  comparison: Comparison,
  entries: readonly Entry[],
  clockResolutionNs: number,
): VariantReport[] {
  const rounds = new Map<string, number[]>();
  for (const { variant, results, unmeasured } of entries) {
    if (unmeasured) continue;
    rounds.set(
      variant.name,
      results.map((result) => metricValue(comparison.metric, variant, result)),
    );
  }
  return entries.map(({ variant, results, warmedUp, unmeasured }) => {
    const { name } = variant;
    if (unmeasured) return { name, ...unmeasured };
    const against = variant.against ?? comparison.baseline;
    const own = rounds.get(name)!;
    const ratioTo = (twin: string): RatioReport | undefined => {
      const theirs = rounds.get(twin);
      return theirs && ratioOf(twin, own, theirs);
    };
    const ratio = ratioTo(against);
    const jainRounds = results.map(fairness);
    const wallMs = median(results.map((result) => result.wallMs));
    const [first] = results;
    const report: Omit<MeasuredVariant, 'warnings'> = {
      name,
      status: 'measured',
      threads: first!.work.length,
      value: summarize(own),
      rounds: own,
      slowestNs: Math.max(...results.map((result) => result.slowestNs)),
      ...(ratio && { ratio }),
      jain: median(jainRounds),
      targets: (variant.targets ?? []).map((target) => {
        if ('jainAtLeast' in target) return judgeFairness(target, jainRounds, wallMs);
        const twin = target.against ?? against;
        return judgeRatio(target, twin, ratioTo(twin));
      }),
      threadReports: first!.work.map((_, index) => threadReport(results, index)),
      wallMs,
      figures: largestFigures(results),
    };
    return {
      ...report,
      warnings: findWarnings(
        { ...report, polls: variant.polls === true },
        results,
        warmedUp,
        clockResolutionNs,
      ),
    };
  });
}

function metricValue(metric: Metric, variant: Variant, result: RoundResult): number {
  if (metric === 'time') return result.nsPerOperation;
  if (metric === 'cpu') return cpuNsPerOperation(result);
  const operationsPerSecond = 1e9 / result.nsPerOperation;
  return metric === 'rate' ? operationsPerSecond : operationsPerSecond * variant.bytesPerOperation!;
}

/** Not a number where the system does not tell. */
function cpuNsPerOperation({ cpuMs, work, driving }: RoundResult): number {
  const spentMs = cpuMs.reduce<number>((sum, ms) => sum + (ms ?? Number.NaN), 0);
  const operations = work.reduce((sum, count, index) => sum + (driving[index] ? count : 0), 0);
  return (spentMs * 1e6) / operations;
}

function ratioOf(against: string, own: number[], twin: number[]): RatioReport {
  const rounds = pairwiseRatios(own, twin);
  return { against, ...summarize(rounds), rounds };
}

function fairness(result: RoundResult): number {
  return jainIndex(result.work.filter((_, index) => result.driving[index]));
}

function threadReport(results: readonly RoundResult[], index: number) {
  const cpuMs = results.map((result) => result.cpuMs[index]).filter((value) => typeof value === 'number');
  return {
    role: results[0]!.driving[index] ? ('drives' as const) : ('serves' as const),
    work: median(results.map((result) => result.work[index]!)),
    operationsPerSecond: median(results.map((result) => (result.work[index]! / result.wallMs) * 1000)),
    cpuMs: cpuMs.length > 0 ? median(cpuMs) : null,
  };
}

function largestFigures(results: readonly RoundResult[]): Record<string, number> {
  const largest: Record<string, number> = {};
  for (const { figures } of results) {
    for (const [name, value] of Object.entries(figures)) {
      largest[name] = Math.max(largest[name] ?? Number.NEGATIVE_INFINITY, value);
    }
  }
  return largest;
}
