import type { Model } from './model.js';
import type { Report } from './report.js';

/** What a model was expected to show, what it showed, and whether that is the same. */
export interface Judgement {
  readonly met: boolean;
  readonly expected: string;
  readonly found: string;
  /** Why not, where it is not. */
  readonly problem: string | undefined;
}

/**
 * Compares a report with what its model expects.
 *
 * A pass counts only if the search was complete, unless the model itself asks for a bounded one.
 */
export function judge(model: Model, report: Report): Judgement {
  const { expect = 'pass' } = model;
  const found = report.failure === null ? (report.complete ? 'pass' : 'pass, bounded') : report.failure.kind;
  if (expect === 'pass') {
    const cut = report.failure === null && !report.complete && !asksForBounds(model);
    const problem = cut ? `The search was not complete: ${report.bounds.join('; ')}` : report.failure?.reason;
    return { met: problem === undefined, expected: 'pass', found, problem };
  }
  const kinds = typeof expect.fail === 'string' ? [expect.fail] : expect.fail;
  const expected = kinds.join(' or ');
  if (report.failure === null) return { met: false, expected, found, problem: 'No schedule failed' };
  const { kind, reason } = report.failure;
  if (!kinds.includes(kind)) return { met: false, expected, found, problem: reason };
  const fits =
    expect.reason === undefined ||
    (typeof expect.reason === 'string' ? reason.includes(expect.reason) : expect.reason.test(reason));
  const problem = fits ? undefined : `The reason does not match ${String(expect.reason)}: ${reason}`;
  return { met: fits, expected, found, problem };
}

function asksForBounds({ search }: Model): boolean {
  if (search === undefined) return false;
  const random = search.strategy !== undefined && search.strategy !== 'exhaustive';
  return (
    random ||
    search.preemptions !== undefined ||
    search.maxStates !== undefined ||
    search.maxSteps !== undefined ||
    search.maxDepth !== undefined ||
    search.maxMs !== undefined
  );
}
