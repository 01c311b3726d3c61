// `pnpm test`: builds, then runs every check of the workspace. A stage that fails does not stop the others; what it
// printed is shown in full. The last line is `N passed, N failed`, the sum of tests and of stages.

import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { styleText } from 'node:util';
import { Argument, program } from 'commander';
import { x } from 'tinyexec';
import { root } from './workspace.mjs';

const vitestReport = join(root, 'node_modules/.cache/heddle-check/vitest.json');

/**
 * Each stage runs its commands in turn, up to the first that fails. `live` stages print as they go; the others are
 * silent unless they fail. Stages with `built` read what the first stage wrote.
 */
const stages = [
  {
    name: 'build',
    what: 'compile all packages with their tests, join the modules of libraries for Node',
    commands: [['node', 'scripts/build.mjs']],
  },
  {
    name: 'vitest',
    what: 'run the tests on the build',
    built: true,
    live: true,
    commands: [
      ['vitest', 'run', '--reporter=default', '--reporter=json', `--outputFile.json=${vitestReport}`],
    ],
    tests: readVitestReport,
  },
  {
    name: 'types',
    what: 'see that each *.test-d.ts was compiled and expects something',
    built: true,
    commands: [['node', 'scripts/type-tests.mjs']],
  },
  {
    name: 'source',
    what: 'run packages and a worker straight from their sources',
    commands: [
      ['node', '--import', './scripts/from-source.mjs', 'test/src/two-files/program.ts'],
      [
        'node',
        '--import',
        './scripts/from-source.mjs',
        'packages/heddle/src/cli.ts',
        'demo',
        'pnpm-lock.yaml',
      ],
    ],
  },
  {
    name: 'biome',
    what: 'format and lint',
    commands: [['biome', 'check', '--error-on-warnings', '--max-diagnostics=none']],
  },
  {
    name: 'knip',
    what: 'look for unused files, exports and dependencies',
    commands: [['knip', '--no-config-hints']],
  },
  {
    name: 'packaging',
    what: 'pack each public package, look at it with publint and attw, import it, compile with it',
    built: true,
    commands: [['node', 'scripts/packaging.mjs']],
  },
];

async function readVitestReport() {
  const report = JSON.parse(await readFile(vitestReport, 'utf8').catch(() => '{}'));
  return {
    passed: report.numPassedTests ?? 0,
    failed: report.numFailedTests ?? 0,
    skipped: (report.numPendingTests ?? 0) + (report.numTodoTests ?? 0),
  };
}

async function run(command, live) {
  const [file, ...args] = command;
  const result = await x(file, args, {
    nodeOptions: { cwd: root, stdio: live ? 'inherit' : ['ignore', 'pipe', 'pipe'] },
  });
  return { ok: result.exitCode === 0, output: `${result.stdout ?? ''}${result.stderr ?? ''}` };
}

async function runStage(stage) {
  const startMs = performance.now();
  if (stage.live) console.log(`${styleText('bold', stage.name)}: ${stage.what}`);
  let ok = true;
  for (const command of stage.commands) {
    const result = await run(command, stage.live);
    ok = result.ok;
    if (ok) continue;
    if (!stage.live) console.log(`$ ${command.join(' ')}\n${result.output.trimEnd()}`);
    break;
  }
  const tests = await stage.tests?.();
  const seconds = ((performance.now() - startMs) / 1000).toFixed(1);
  const mark = ok ? styleText('green', '✓') : styleText('red', '✗');
  const detail = tests ? `${tests.passed} tests passed, ${tests.failed} failed` : stage.what;
  console.log(`${mark} ${stage.name.padEnd(10)} ${seconds.padStart(5)} s  ${detail}`);
  return { ok, tests };
}

/** The stages asked for, in order, with the build before those that read it. */
function chosen(names) {
  if (names.length === 0) return stages;
  const needsBuild = stages.some((stage) => names.includes(stage.name) && stage.built);
  return stages.filter((stage) => names.includes(stage.name) || (stage.name === 'build' && needsBuild));
}

program
  .name('pnpm test')
  .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : 2))
  .description('Builds Heddle and checks it.')
  .addArgument(
    new Argument('[stages...]', 'run only these, with a build before them where they need one').choices(
      stages.map((stage) => stage.name),
    ),
  )
  .addHelpText('after', () => {
    const lines = stages.map((stage) => `  ${stage.name.padEnd(10)} ${stage.what}`);
    return `\nStages:\n${lines.join('\n')}`;
  })
  .action(async (names) => {
    // One of an earlier run must not be counted.
    await rm(vitestReport, { force: true });
    const total = { passed: 0, failed: 0, skipped: 0 };
    for (const stage of chosen(names)) {
      const { ok, tests } = await runStage(stage);
      total[ok ? 'passed' : 'failed'] += 1;
      total.passed += tests?.passed ?? 0;
      total.failed += tests?.failed ?? 0;
      total.skipped += tests?.skipped ?? 0;
    }
    if (total.failed > 0) process.exitCode = 1;
    const skipped = total.skipped > 0 ? `, ${total.skipped} skipped` : '';
    console.log(`${total.passed} passed, ${total.failed} failed${skipped}`);
  });

await program.parseAsync();
