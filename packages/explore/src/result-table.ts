import { relative } from 'node:path';
import type { Judgement } from './expectation.js';
import type { LoadedModel } from './load-models.js';
import { formatReport, type Report } from './report.js';

/** A model that was explored, and what came of it. */
export interface Row extends LoadedModel {
  readonly report: Report;
  readonly judgement: Judgement;
}

type Cell = string | number;

/** The results of several models as a table, row by row. */
export class ResultTable {
  readonly #widths: readonly number[];

  /** @param names of all models that will be rows. */
  constructor(names: readonly string[]) {
    this.#widths = [1, Math.max(5, ...names.map((name) => name.length)), 22, 16, 10, 10, 8, 5, 8, 9];
  }

  get header(): string {
    return this.#line([
      '',
      'model',
      'expected',
      'found',
      'states',
      'steps',
      'kills',
      'depth',
      'search',
      'steps/s',
    ]);
  }

  /** The row of a model; where it is not as expected, its report below it. */
  row({ model, report, judgement }: Row): string {
    const cells = [
      judgement.met ? '✓' : '✗',
      model.name,
      judgement.expected,
      judgement.found,
      report.states,
      report.steps,
      report.kills,
      report.depth,
      searchEnd(report),
      report.stepsPerSecond,
    ];
    const row = this.#line(cells);
    return judgement.met ? row : `${row}\n\n${judgement.problem}\n\n${formatReport(report)}\n`;
  }

  #line(cells: readonly Cell[]): string {
    return cells
      .map((cell, index) => {
        const width = this.#widths[index]!;
        return typeof cell === 'number' ? String(cell).padStart(width) : cell.padEnd(width);
      })
      .join('  ')
      .trimEnd();
  }
}

function searchEnd({ failure, complete }: Report): string {
  if (failure !== null) return 'stopped';
  return complete ? 'complete' : 'bounded';
}

/** How it went on the whole. */
export function summary(rows: readonly Row[]): string {
  const unmet = rows.filter((row) => !row.judgement.met).length;
  const states = rows.reduce((sum, row) => sum + row.report.states, 0);
  const seconds = rows.reduce((sum, row) => sum + row.report.timeMs, 0) / 1000;
  const met = unmet === 0 ? 'all expectations met' : `${unmet} expectation${unmet === 1 ? '' : 's'} not met`;
  return `\n${rows.length} models, ${states} states in ${seconds.toFixed(1)} s; ${met}`;
}

/** The same for programs. */
export function toJson(rows: readonly Row[], deep: boolean): unknown {
  return {
    size: deep ? 'deep' : 'quick',
    met: rows.every((row) => row.judgement.met),
    models: rows.map(({ file, model, report, judgement }) => ({
      model: model.name,
      file: relative('.', file),
      expected: judgement.expected,
      found: judgement.found,
      met: judgement.met,
      ...(judgement.problem === undefined ? {} : { problem: judgement.problem }),
      states: report.states,
      steps: report.steps,
      kills: report.kills,
      ends: report.ends,
      depth: report.depth,
      search: searchEnd(report),
      bounds: report.bounds,
      stepsPerSecond: report.stepsPerSecond,
      timeMs: Math.round(report.timeMs),
      ...(report.seed === undefined ? {} : { seed: report.seed }),
      ...(report.failure === null
        ? {}
        : {
            reason: report.failure.reason,
            length: report.failure.length,
            shortest: report.failure.shortest,
            replay: report.failure.replay,
          }),
    })),
  };
}
