#!/usr/bin/env node
import { relative } from 'node:path';
import { parseArgs } from 'node:util';
import { judge } from './expectation.js';
import { explore } from './explore.js';
import { findFiles } from './find-files.js';
import { type LoadedModel, loadModels } from './load-models.js';
import { deepened } from './model.js';
import { replayOnThreads } from './replay-on-threads.js';
import { formatReport } from './report.js';
import { ResultTable, type Row, summary, toJson } from './result-table.js';

const usage = `heddle-explore [filter or file pattern]...

Explores the models of built *.explore.js files and says whether each shows what
it expects.

  filter           only models whose name or file contains it; of several, any
  file pattern     where to look for models (default: **/dist/**/*.explore.js)
  --json           print the reports as JSON
  --deep           run the models in their deep size
  --seed N         seed of random searches
  --replay STRING  run one schedule of the one model that the filter leaves, and
                   show it
  --on-threads     with --replay: on real workers, in lock step
  --list           only say which models there are

Exit codes: 0 each shows what it expects, 1 one does not, 2 wrong arguments.
`;

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      json: { type: 'boolean', default: false },
      deep: { type: 'boolean', default: process.env['HEDDLE_EXPLORE'] === 'deep' },
      list: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
      seed: { type: 'string' },
      replay: { type: 'string' },
      'on-threads': { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(usage);
    return 0;
  }
  const loaded = await selectModels(positionals);
  if (values.list) {
    for (const { file, model } of loaded) console.log(`${model.name}  (${relative('.', file)})`);
    return 0;
  }
  const seed = values.seed === undefined ? undefined : Number(values.seed);
  if (seed !== undefined && !Number.isSafeInteger(seed)) throw new RangeError('--seed takes a whole number');
  if (values.replay !== undefined) return replayOne(loaded, values.replay, values['on-threads']);

  const table = new ResultTable(loaded.map(({ model }) => model.name));
  if (!values.json) console.log(table.header);
  const rows: Row[] = [];
  for (const one of loaded) {
    const model = values.deep ? deepened(one.model) : one.model;
    const report = explore(model, seed === undefined ? {} : { seed });
    const row: Row = { ...one, report, judgement: judge(model, report) };
    rows.push(row);
    if (!values.json) console.log(table.row(row));
  }
  if (values.json) console.log(JSON.stringify(toJson(rows, values.deep), null, 2));
  else console.log(summary(rows));
  return rows.every((row) => row.judgement.met) ? 0 : 1;
}

async function selectModels(positionals: readonly string[]): Promise<LoadedModel[]> {
  const given = positionals.filter(isPattern);
  // That of a package, and those of a workspace.
  const patterns = given.length > 0 ? given : ['**/dist/**/*.explore.js'];
  const filters = positionals.filter((text) => !isPattern(text));
  const files = await findFiles(process.cwd(), patterns);
  if (files.length === 0) {
    throw new Error(
      `No file is called ${patterns.join(' or ')}: build first, or give another pattern, in quotes`,
    );
  }
  const all = (await Promise.all(files.map(loadModels))).flat();
  if (filters.length === 0) return all;
  const chosen = all.filter(({ file, model }) =>
    filters.some((filter) => model.name.includes(filter) || relative('.', file).includes(filter)),
  );
  if (chosen.length === 0) {
    throw new Error(`No model among ${all.length} fits ${filters.join(' or ')}: --list shows them`);
  }
  return chosen;
}

function isPattern(text: string): boolean {
  return text.includes('*') || text.endsWith('.js');
}

async function replayOne(
  loaded: readonly LoadedModel[],
  replay: string,
  onThreads: boolean,
): Promise<number> {
  const [first, ...others] = loaded;
  if (first === undefined || others.length > 0) {
    const names = loaded.map(({ model }) => `"${model.name}"`).join(', ');
    throw new RangeError(`A schedule belongs to one model; the filter leaves ${names}`);
  }
  if (!onThreads) {
    console.log(formatReport(explore(first.model, { replay })));
    return 0;
  }
  const { agrees, differences, columns, kills, imposed } = await replayOnThreads({
    file: first.file,
    model: first.model.name,
    replay,
  });
  console.log(`${columns}\n\n${kills} terminated, ${imposed} answers imposed`);
  console.log(agrees ? 'The real engine agrees with the simulator' : differences.join('\n'));
  return agrees ? 0 : 1;
}

// Whoever reads may stop early, as `head` does. Then there is nobody left to tell.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});

try {
  process.exitCode = await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 2;
}
