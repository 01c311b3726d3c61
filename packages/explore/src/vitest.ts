import { expect, test } from 'vitest';
import { judge } from './expectation.js';
import { explore } from './explore.js';
import { deepened, type Model, type UnnamedModel } from './model.js';
import { formatReport } from './report.js';

/** Milliseconds after which a test of one model counts as hanging, quick and deep: far beyond what one takes. */
const TIMEOUT_MS = { quick: 600_000, deep: 3_600_000 } as const;

/**
 * A test that explores a model and compares what it finds with what the model expects. The environment variable
 * `HEDDLE_EXPLORE` sizes it: `quick` (default) or `deep`.
 */
export function exploreTest(name: string, model: UnnamedModel): void {
  const size = sizeFromEnvironment();
  const named: Model = { ...model, name: model.name ?? name };
  const sized = size === 'deep' ? deepened(named) : named;
  test(name, { timeout: TIMEOUT_MS[size] }, () => {
    const report = explore(sized);
    const { met, expected, problem } = judge(sized, report);
    const message = `expected ${expected}: ${problem}\n\n${formatReport(report)}`;
    expect(met, message).toBe(true);
  });
}

/** A test for each of several models, under their own names. */
export function exploreTests(models: readonly Model[]): void {
  for (const model of models) exploreTest(model.name, model);
}

function sizeFromEnvironment(): 'quick' | 'deep' {
  const size = process.env['HEDDLE_EXPLORE'] ?? 'quick';
  if (size !== 'quick' && size !== 'deep') {
    throw new RangeError(`HEDDLE_EXPLORE is "quick" or "deep", not "${size}"`);
  }
  return size;
}
