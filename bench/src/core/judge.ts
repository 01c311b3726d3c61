import type { RatioReport, TargetReport } from './report.js';
import { type Summary, summarize } from './statistics.js';
import type { FairnessTarget, RatioTarget } from './suite.js';

/** A round that is over a little before its time has still lasted it. */
const ROUND_SLACK = 0.95;

/** Judges a ratio; undefined where the twin has no figures. */
export function judgeRatio(
  { atMost, atLeast }: RatioTarget,
  against: string,
  ratio: RatioReport | undefined,
): TargetReport {
  const bounds = { ...(atMost !== undefined && { atMost }), ...(atLeast !== undefined && { atLeast }) };
  if (!ratio) return { of: 'ratio', against, ...bounds, outcome: 'not-judged' };
  return { of: 'ratio', against, ...bounds, value: ratio.median, outcome: judge(ratio, bounds) };
}

/** Judges the fairness index of the rounds, where they lasted long enough. */
export function judgeFairness(
  { jainAtLeast, overMs }: FairnessTarget,
  rounds: readonly number[],
  wallMs: number,
): TargetReport {
  const summary = summarize(rounds);
  const outcome = wallMs < ROUND_SLACK * overMs ? 'not-judged' : judge(summary, { atLeast: jainAtLeast });
  return { of: 'jain', atLeast: jainAtLeast, value: summary.median, outcome };
}

function judge(
  { median, mad }: Summary,
  { atMost = Number.POSITIVE_INFINITY, atLeast = 0 }: Pick<RatioTarget, 'atMost' | 'atLeast'>,
): TargetReport['outcome'] {
  const beyond = Math.max(median - atMost, atLeast - median);
  if (beyond <= 0) return 'met';
  return beyond <= mad ? 'within-spread' : 'missed';
}
