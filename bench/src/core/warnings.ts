import type { MeasuredVariant, Warning } from './report.js';
import type { RoundResult } from './suite.js';

/** A median that its rounds spread around by more than this does not carry a second digit. */
const SPREAD_LIMIT = 0.15;

/** A batch has to be this many clock steps long for one percent. */
const CLOCK_STEPS = 100;

/** A thread that only computes and was on a core for less of its time than this had to share it. */
const ON_CORE_LIMIT = 0.7;

/** Shorter rounds than this are over before the system has brought its account of CPU time up to date. */
const ACCOUNTED_MS = 50;

type Figures = Pick<MeasuredVariant, 'value' | 'ratio' | 'threadReports' | 'wallMs'> & {
  /** Its threads never sleep. */
  readonly polls: boolean;
};

/** Looks for what makes a variant's figures useless, and says it in a sentence each. */
export function findWarnings(
  figures: Figures,
  results: readonly RoundResult[],
  warmedUp: boolean,
  clockResolutionNs: number,
): Warning[] {
  const warnings: Warning[] = [];
  const { ratio, value } = figures;
  const spread = ratio && ratio.maximum > ratio.minimum ? ratio.mad / ratio.median : value.mad / value.median;
  if (!(spread <= SPREAD_LIMIT)) {
    const message = `the rounds differ by ±${Math.round(spread * 100)} %: repeat it on a quieter machine, or do not use it`;
    warnings.push({ code: 'spread', message });
  }
  const unresolved = results.filter(
    (result) => result.timerSaturated || result.batchNs < clockResolutionNs * CLOCK_STEPS,
  );
  if (unresolved.length > results.length / 2) {
    warnings.push({
      code: 'timer',
      message: 'the clock does not resolve the batches: the figure is a step of the clock',
    });
  }
  if (!warmedUp) {
    warnings.push({ code: 'warm-up', message: 'still moving when warm-up ended' });
  }
  const neverSleeps = figures.polls || figures.threadReports.length === 1;
  const cpuMs = figures.threadReports.flatMap((thread) => (thread.cpuMs === null ? [] : [thread.cpuMs]));
  if (neverSleeps && cpuMs.length > 0 && figures.wallMs >= ACCOUNTED_MS) {
    const onCore = Math.min(...cpuMs) / figures.wallMs;
    if (onCore < ON_CORE_LIMIT) {
      const message = `on a core for only ${Math.round(onCore * 100)} % of the time: something else ran there`;
      warnings.push({ code: 'core-taken', message });
    }
  }
  return warnings;
}
