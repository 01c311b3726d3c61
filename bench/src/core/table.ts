import Table from 'cli-table3';
import type { Environment } from './environment.js';
import { formatDigits, formatNs, formatPercent, formatValue } from './format.js';
import type { ComparisonReport, MeasuredVariant, Report, SuiteReport, TargetReport } from './report.js';
import type { Metric } from './suite.js';

/** Columns parted by space: reads the same on a terminal, in a pipe and in a document. */
const PLAIN = {
  chars: Object.fromEntries(
    ['top', 'top-mid', 'top-left', 'top-right', 'bottom', 'bottom-mid', 'bottom-left', 'bottom-right']
      .concat(['left', 'left-mid', 'mid', 'mid-mid', 'right', 'right-mid'])
      .map((name) => [name, '']),
  ),
  style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
};

const DIRECTION: Record<Metric, string> = {
  time: 'less is better',
  rate: 'more is better',
  bandwidth: 'more is better',
  cpu: 'CPU time of all threads, less is better',
};

/** The whole report as text. */
export function renderReport(report: Report): string {
  return [renderHead(report), ...report.suites.map(renderSuite)].join('\n');
}

function renderHead({ environment, plan }: Report): string {
  const { machine, engine, pinning } = environment;
  const busy = machine.loadAverage > machine.cores / 2;
  const memory = `${formatDigits(machine.memoryBytes / 2 ** 30)} GiB`;
  return [
    `machine  ${machine.cpu}, ${machine.cores} cores, ${memory}, ${machine.platform} ${machine.release} ${machine.arch}`,
    `engine   ${engine.name} ${engine.version} (V8 ${engine.v8})${engine.flags.length > 0 ? ` ${engine.flags.join(' ')}` : ''}`,
    `commit   ${renderCommit(environment.commit)}`,
    `threads  ${pinning.available ? `pinned to cores ${pinning.cores.join(', ')} (${pinning.detail})` : `not pinned: ${pinning.detail}`}`,
    `load     ${formatDigits(machine.loadAverage)} before the run${busy ? ': other programs are at work' : ''}; clock step ${formatNs(environment.clockResolutionNs)}`,
    `plan     ${plan.mode}: ${plan.rounds} rounds of ${plan.roundMs} ms a variant, interleaved`,
    '',
  ].join('\n');
}

function renderCommit(commit: Environment['commit']): string {
  if (!commit) return 'unknown';
  return commit.modified ? `${commit.id} with changes` : commit.id;
}

function renderSuite(suite: SuiteReport): string {
  return [
    `# ${suite.name}: ${suite.summary}`,
    '',
    ...suite.comparisons.map(renderComparison),
    `What this does not show: ${suite.limits}`,
    '',
  ].join('\n');
}

function renderComparison(comparison: ComparisonReport): string {
  const { metric, operation } = comparison;
  const measured = comparison.variants.filter((variant) => variant.status === 'measured');
  const columns = columnsFor(comparison, measured);
  const table = new Table({
    ...PLAIN,
    chars: { ...PLAIN.chars, middle: '  ' },
    head: ['', ...columns.map((column) => column.head)],
    colAligns: ['left', ...columns.map((column) => column.align ?? ('right' as const))],
  });
  const notes: string[] = [];
  for (const variant of comparison.variants) {
    if (variant.status !== 'measured') {
      table.push([`  ${variant.name}`, ...columns.map((_, index) => (index === 0 ? variant.status : ''))]);
      notes.push(`    ${variant.name} ${variant.status}: ${variant.reason.split('\n')[0]}`);
      continue;
    }
    const mark = variant.warnings.length > 0 ? ' !' : '';
    table.push([`  ${variant.name}${mark}`, ...columns.map((column) => column.cell(variant))]);
    for (const warning of variant.warnings) notes.push(`    ! ${variant.name}: ${warning.message}`);
  }
  const title = `${comparison.name}: ${comparison.title} (per ${operation}, ${DIRECTION[metric]})`;
  return [title, trimLines(table.toString()), ...notes, ''].join('\n');
}

interface Column {
  readonly head: string;
  readonly align?: 'left';
  cell(variant: MeasuredVariant): string;
}

/** Columns that would say the same in every row, or nothing, are left out. */
function columnsFor({ metric, operation }: ComparisonReport, measured: readonly MeasuredVariant[]): Column[] {
  const columns: Column[] = [
    { head: 'median', cell: ({ value }) => formatValue(metric, value.median) },
    { head: 'MAD', cell: ({ value }) => formatPercent(value.mad / value.median) },
    { head: 'slowest', cell: ({ slowestNs }) => formatNs(slowestNs) },
    { head: 'ratio', cell: ({ ratio }) => (ratio ? formatDigits(ratio.median) : '–') },
    { head: '± MAD', cell: ({ ratio }) => (ratio ? formatDigits(ratio.mad) : '') },
  ];
  const twins = new Set(measured.map((variant) => variant.ratio?.against));
  if (twins.size > 1)
    columns.push({ head: 'against', align: 'left', cell: ({ ratio }) => ratio?.against ?? '' });
  if (measured.some(({ targets }) => targets.length > 0)) {
    columns.push({ head: 'target', align: 'left', cell: renderTargets });
  }
  const cpuKnown = measured.some(({ threadReports }) => threadReports.some(({ cpuMs }) => cpuMs !== null));
  if (measured.some((variant) => variant.threads > 1)) {
    columns.push({ head: 'threads', cell: ({ threads }) => String(threads) });
    columns.push({ head: `${operation}s/s each`, cell: renderWork });
    if (measured.some(({ threadReports }) => driving(threadReports).length > 1)) {
      columns.push({ head: 'Jain', cell: ({ jain }) => jain.toFixed(3) });
    }
    if (cpuKnown) columns.push({ head: 'CPU each', cell: renderCpu });
  } else if (cpuKnown) {
    columns.push({ head: 'CPU', cell: renderCpu });
  }
  for (const name of new Set(measured.flatMap(({ figures }) => Object.keys(figures)))) {
    columns.push({ head: name, cell: ({ figures }) => renderFigure(name, figures[name]) });
  }
  return columns;
}

/** A line for each. */
function renderTargets({ targets, ratio }: MeasuredVariant): string {
  return targets.map((target) => renderTarget(target, ratio?.against)).join('\n');
}

function renderTarget(
  { of, against, atMost, atLeast, value, outcome }: TargetReport,
  rowAgainst: string | undefined,
): string {
  const bounds = [atLeast === undefined ? '' : `≥ ${atLeast}`, atMost === undefined ? '' : `≤ ${atMost}`];
  const bound = bounds.filter(Boolean).join(' ');
  const verdict = outcome.replace('-', ' ');
  if (of === 'jain') return `Jain ${bound} ${verdict}`;
  if (against === rowAgainst) return `${bound} ${verdict}`;
  return `${bound} × ${against} ${verdict}${value === undefined ? '' : ` (${formatDigits(value)})`}`;
}

/** Smallest and largest are enough where there are many threads; the JSON has them all. */
function renderWork({ threadReports }: MeasuredVariant): string {
  const rates = driving(threadReports).map((thread) => thread.operationsPerSecond);
  return range(rates, (rate) => formatValue('rate', rate));
}

/** Share of the round that each thread spent on a core. */
function renderCpu({ threadReports, wallMs }: MeasuredVariant): string {
  const shares = threadReports.flatMap(({ cpuMs }) => (cpuMs === null ? [] : [cpuMs / wallMs]));
  return shares.length === 0 ? '–' : range(shares, (share) => `${Math.round(share * 100)} %`);
}

function driving<T extends { readonly role: string }>(threads: readonly T[]): T[] {
  return threads.filter(({ role }) => role === 'drives');
}

function range(values: readonly number[], format: (value: number) => string): string {
  const smallest = format(Math.min(...values));
  const largest = format(Math.max(...values));
  return smallest === largest ? smallest : `${smallest} – ${largest}`;
}

function renderFigure(name: string, value: number | undefined): string {
  if (value === undefined) return '';
  return name.endsWith('Ns') ? formatNs(value) : formatDigits(value);
}

function trimLines(text: string): string {
  return text.replace(/[ \t]+$/gm, '');
}
