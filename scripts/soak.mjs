// `pnpm soak`: runs the tests on real threads at their long setting, again and again, until one fails or the time is up.
// Those that make random choices print the seed when they fail.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { InvalidArgumentError, program } from 'commander';
import { x } from 'tinyexec';
import { glob } from 'tinyglobby';
import { root } from './workspace.mjs';

/** Compiled test files that have a long setting. */
async function longTests(filters) {
  const sources = (await glob('packages/*/src/**/*.test.ts', { cwd: root })).sort();
  const chosen = [];
  for (const source of sources) {
    if (filters.length > 0 && !filters.some((filter) => source.includes(filter))) continue;
    if (!(await readFile(join(root, source), 'utf8')).includes("'HEDDLE_STRESS'")) continue;
    chosen.push(source.replace('/src/', '/dist/').replace(/\.ts$/, '.js'));
  }
  return chosen;
}

function minutes(text) {
  const value = Number(text);
  if (value >= 0) return value;
  throw new InvalidArgumentError('A number of minutes from 0.');
}

program
  .name('pnpm soak')
  .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : 2))
  .description('Runs the tests on threads at their long setting, until one fails or the time is up.')
  .argument('[filters...]', 'run only files whose path contains one of these, "transport" for instance')
  .option('-m, --minutes <minutes>', 'start no more rounds after so many; 0 is one round', minutes, 0)
  .addHelpText('after', '\nExit codes: 0 passed, 1 a test failed, 2 wrong arguments.')
  .action(async (filters, options) => {
    const files = await longTests(filters);
    if (files.length === 0)
      program.error(`error: no test with a long setting has ${filters.join(' or ')} in its path`);
    const startMs = performance.now();
    let rounds = 0;
    do {
      // One file at a time: each has more threads than there are cores.
      const { exitCode } = await x('vitest', ['run', '--no-file-parallelism', ...files], {
        nodeOptions: { cwd: root, stdio: 'inherit', env: { HEDDLE_STRESS: 'long' } },
      });
      rounds++;
      if (exitCode !== 0) process.exitCode = 1;
    } while (!process.exitCode && performance.now() - startMs < options.minutes * 60_000);
    const elapsed = ((performance.now() - startMs) / 60_000).toFixed(1);
    console.log(`rounds: ${rounds}, test files: ${files.length}, minutes: ${elapsed}`);
  });

await program.parseAsync();
