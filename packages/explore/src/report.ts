import type { FailureKind } from './failure.js';
import type { Trace, TraceStep } from './trace.js';

/** A failing schedule, as a report has it. */
export interface FailureReport {
  readonly kind: FailureKind;
  /** In a sentence. */
  readonly reason: string;
  /** One column per thread, one row per step. */
  readonly columns: string;
  /** Steps of the schedule. */
  readonly length: number;
  /** Whether no schedule with fewer steps fails in this way. */
  readonly shortest: boolean;
  /** Replays exactly this schedule: `explore(model, { replay })`. */
  readonly replay: string;
}

/** What exploring a model has come to. */
export interface Report {
  readonly name: string;
  readonly failure: FailureReport | null;
  /** Whether every schedule was looked at. */
  readonly complete: boolean;
  /** Why not, in words; empty where it was. */
  readonly bounds: readonly string[];
  /** Different states; schedules in a random search. */
  readonly states: number;
  readonly steps: number;
  /** Deaths taken. */
  readonly kills: number;
  /** Ends of schedules that were checked. */
  readonly ends: number;
  /** Steps of the longest schedule. */
  readonly depth: number;
  /** Points in the lives of threads, each found by running the thread's code once. */
  readonly histories: number;
  readonly timeMs: number;
  readonly stepsPerSecond: number;
  /** The seed of a random search. */
  readonly seed?: number;
}

/** Widest a column gets. */
const MAX_WIDTH = 44;

/** Rows shown at each end of a schedule that is longer than twice that. */
const END_ROWS = 40;

/** A schedule as text: one column per thread that does anything in it, one row per step. */
export function formatTrace(trace: Trace): string {
  const shown = trace.threads
    .map((name, thread) => ({ name, thread }))
    .filter(({ thread }) =>
      trace.steps.some((step) => step.thread === thread || noteFor(step, thread) !== ''),
    );
  const all = trace.steps.map((step, index) => [
    String(index + 1),
    ...shown.map(({ thread }) => (step.thread === thread ? step.text : noteFor(step, thread))),
  ]);
  const rows =
    all.length <= 2 * END_ROWS
      ? all
      : [...all.slice(0, END_ROWS), ['…', ...shown.map(() => '…')], ...all.slice(-END_ROWS)];
  const header = ['step', ...shown.map(({ name }) => name)];
  const widths = header.map((title, column) =>
    Math.min(MAX_WIDTH, Math.max(title.length, ...rows.map((row) => row[column]!.length))),
  );
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, column) => (column === 0 ? cell.padStart(widths[column]!) : cell.padEnd(widths[column]!)))
      .join('  ')
      .trimEnd();
  return [line(header), ...rows.map(line)].join('\n');
}

/** What a step of another thread means to this one. */
function noteFor(step: TraceStep, thread: number): string {
  if (step.woken.includes(thread)) return '← woken';
  return step.begun.includes(thread) ? '← begins' : '';
}

function searchEnd({ failure, complete, bounds }: Report): string {
  if (failure !== null) return 'stopped at the failure';
  return complete ? 'complete' : `bounded: ${bounds.join('; ')}`;
}

/** A report as text. */
export function formatReport(report: Report): string {
  const { failure } = report;
  const effort =
    `${report.states} states, ${report.steps} steps, ${report.kills} kills, depth ${report.depth}, ` +
    `${Math.round(report.timeMs)} ms, ${searchEnd(report)}`;
  if (failure === null) return `PASS ${report.name}\n  ${effort}`;
  const length = `${failure.length} steps${failure.shortest ? ', no schedule of fewer fails so' : ''}`;
  return [
    `FAIL ${report.name}`,
    `  ${failure.kind}: ${failure.reason}`,
    '',
    ...failure.columns.split('\n').map((row) => `  ${row}`),
    '',
    `  ${length}; replay with "${failure.replay}"`,
    `  ${effort}`,
  ].join('\n');
}
