import { writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { Command, CommanderError } from 'commander';
import { type Catalog, suitesFolder } from './core/catalog.js';
import { checkWritable } from './core/check-writable.js';
import { fullPlan, quickPlan } from './core/plan.js';
import { Progress, type ProgressStream } from './core/progress.js';
import type { Report } from './core/report.js';
import { runSuites, selectComparisons } from './core/run-suites.js';
import type { Suite } from './core/suite.js';
import { renderReport } from './core/table.js';

/** Exit codes: measured, something failed, called wrongly. */
const OK = 0;
const FAILURE = 1;
const USAGE = 2;

/** What the command reads and writes, so that tests can look at it. */
export interface CommandStreams {
  readonly stdout: { write(text: string): unknown };
  readonly stderr: ProgressStream;
}

interface Options {
  quick?: true;
  list?: true;
  json?: string | true;
  filter: string;
  pin: boolean;
}

const EXAMPLES = `
Examples:
  pnpm bench                              every suite
  pnpm bench atomics --quick              a look at one suite
  pnpm bench transport --filter lat       comparisons with "lat" in their name
  pnpm bench atomics --json figures.json  the table, and all rounds in the file
  pnpm bench atomics --json | jq .        JSON instead of the table
  pnpm bench --list                       what there is

Reading the table: the ratio of a row is the median, over the rounds, of its
figure divided by that of its baseline in the same round; "± MAD" is how far it
moved between rounds. On a busy machine ratios move far less than absolute
figures, but they move: see the load in the head of the table.

Exit codes: 0 measured, 1 something failed, 2 wrong arguments.
`;

/** Runs the command with its arguments and returns the exit code. */
export async function runCommand(
  args: readonly string[],
  streams: CommandStreams,
  catalog: Catalog = suitesFolder,
): Promise<number> {
  let code = OK;
  const command = new Command('bench')
    .description('Measures Heddle, and what it is built on, beside baselines in the same run.')
    .argument('[suites...]', 'suites to run (default: all)')
    .option('--quick', 'fewer and shorter rounds: for a look, not for figures to write down')
    .option('--list', 'list the suites and their comparisons, and run nothing')
    .option('--json [file]', 'write the report as JSON to the file, or to stdout in place of the table')
    .option('--filter <text>', 'only comparisons whose name contains the text', '')
    .option('--no-pin', 'do not pin threads to cores')
    .addHelpText('after', EXAMPLES)
    .showHelpAfterError('(--help shows how to call it)')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void streams.stdout.write(text),
      writeErr: (text) => void streams.stderr.write(text),
    })
    .action(async (names: string[], options: Options) => {
      const suites = await choose(names, options, catalog, (message) => command.error(`error: ${message}`));
      if (options.list) streams.stdout.write(renderList(suites, options.filter));
      else code = await measure(suites, options, streams);
    });
  try {
    await command.parseAsync(args, { from: 'user' });
    return code;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? OK : USAGE;
    streams.stderr.write(`error: ${messageOf(error)}\n`);
    return FAILURE;
  }
}

/** The suites that are asked for, or the end of the command. */
async function choose(
  names: readonly string[],
  options: Options,
  catalog: Catalog,
  refuse: (message: string) => never,
): Promise<Suite[]> {
  const known = catalog.names();
  const unknown = names.filter((name) => !known.includes(name));
  if (unknown.length > 0) refuse(`no suite "${unknown.join('", "')}". The suites are: ${known.join(', ')}`);
  if (typeof options.json === 'string' && known.includes(options.json)) {
    refuse(`"${options.json}" is a suite, not a file for --json: write --json last, or --json FILE`);
  }
  const wanted = names.length > 0 ? [...new Set(names)] : known;
  const suites = await Promise.all(wanted.map((name) => catalog.load(name)));
  if (selectComparisons(suites, options.filter, availableParallelism()).length === 0) {
    refuse(`no comparison of ${wanted.join(', ')} has "${options.filter}" in its name. --list shows them`);
  }
  return suites;
}

async function measure(suites: readonly Suite[], options: Options, streams: CommandStreams): Promise<number> {
  const { json } = options;
  if (typeof json === 'string') {
    try {
      checkWritable(json);
    } catch (error) {
      throw new Error(`cannot write the JSON file: ${messageOf(error)}`, { cause: error });
    }
  }
  const progress = new Progress(streams.stderr);
  let report: Report;
  try {
    report = await runSuites(suites, {
      plan: options.quick ? quickPlan : fullPlan,
      pin: options.pin,
      filter: options.filter,
      progress: (text) => progress.show(text),
    });
  } finally {
    progress.clear();
  }
  // The table first: it is there even if the disk has become full.
  streams.stdout.write(json === true ? toJson(report) : renderReport(report));
  if (typeof json === 'string') writeFileSync(json, toJson(report));
  const failed = failures(report);
  for (const { name, reason } of failed) streams.stderr.write(`error: ${name} failed: ${reason}\n`);
  return failed.length > 0 ? FAILURE : OK;
}

function toJson(report: Report): string {
  return `${JSON.stringify(report, null, 2)}\n`;
}

function failures(report: Report): { name: string; reason: string }[] {
  return report.suites.flatMap((suite) =>
    suite.comparisons.flatMap((comparison) =>
      comparison.variants.flatMap((variant) =>
        variant.status === 'failed'
          ? [{ name: `${suite.name} ${comparison.name}/${variant.name}`, reason: variant.reason }]
          : [],
      ),
    ),
  );
}

function renderList(suites: readonly Suite[], filter: string): string {
  const selected = selectComparisons(suites, filter, availableParallelism());
  const lines = selected.flatMap(({ suite, comparisons }) => [
    `${suite.name}: ${suite.summary}`,
    ...comparisons.map(
      ({ name, title, variants }) => `  ${name.padEnd(20)}  ${title} (${variants.length} variants)`,
    ),
  ]);
  return `${lines.join('\n')}\n`;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
