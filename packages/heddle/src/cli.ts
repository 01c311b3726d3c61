import { readFileSync } from 'node:fs';
import { support } from '@heddle/memory';
import { Command, Option } from 'commander';
import { runDemo } from './demo/demo.js';
import {
  DEFAULT_BLOCK_BYTES,
  type DemoOptions,
  defaultWorkers,
  describe,
  parseBlockBytes,
  parseJob,
  parseWhole,
  parseWorkers,
  UsageError,
} from './demo/options.js';
import { formatReport } from './demo/report.js';
import { VariantError } from './demo/variant.js';

const EXIT_FAILED = 1;
const EXIT_USAGE = 2;
const EXIT_INTERRUPTED = 130;

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

interface DemoFlags {
  job: DemoOptions['job'];
  workers: number;
  block: number;
  output?: string;
  json: boolean;
  killAtBlock?: number;
}

async function demo(files: string[], flags: DemoFlags): Promise<void> {
  const interrupt = new AbortController();
  process.once('SIGINT', () => interrupt.abort());
  process.once('SIGTERM', () => interrupt.abort());
  try {
    const report = await runDemo(
      {
        files: files.length > 0 ? files : [process.execPath],
        job: flags.job,
        workers: flags.workers,
        blockBytes: flags.block,
        output: flags.output,
        killAtBlock: flags.killAtBlock,
      },
      interrupt.signal,
    );
    console.log(flags.json ? JSON.stringify(report, undefined, 2) : formatReport(report));
    if (!report.verified) process.exitCode = EXIT_FAILED;
  } catch (error) {
    process.exitCode = interrupt.signal.aborted
      ? EXIT_INTERRUPTED
      : error instanceof UsageError
        ? EXIT_USAGE
        : EXIT_FAILED;
    fail(interrupt.signal.aborted ? new Error('interrupted; nothing was written') : error, flags.json);
  }
}

function fail(error: unknown, json: boolean): void {
  const message = describe(error);
  const death = error instanceof VariantError ? error.death : undefined;
  if (json) {
    console.log(JSON.stringify({ verified: false, error: message, ...(death && { death }) }, undefined, 2));
    return;
  }
  console.error(`heddle: ${message}`);
  if (!death) return;
  const { begun, unread, after } = death;
  console.error(`  of the blocks sent to it: ${begun} begun, ${unread} not read`);
  console.error(
    `  after recovery: got ${after.got}, put ${after.put}, recovered ${after.recovered}, outstanding ${after.outstanding}`,
  );
}

const program = new Command('heddle')
  .description('Shared-memory communication between JavaScript threads.')
  .version(version)
  .showHelpAfterError('(heddle --help says more)')
  .configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, 'heddle: ')) })
  .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : EXIT_USAGE));

program
  .command('demo')
  .showHelpAfterError('(heddle demo --help says more)')
  .description(
    'take real files through worker threads without copies, verify the result, compare with postMessage',
  )
  .argument('[files...]', 'files to read (default: the running Node executable)')
  .option('--job <job>', 'checksum: CRC-32 of each block and the whole; gzip: compress', parseJob, 'checksum')
  .option('--workers <n>', 'number of worker threads', parseWorkers, defaultWorkers())
  .option(
    '--block <bytes>',
    'size of a block, such as 65536, 256k or 1M',
    parseBlockBytes,
    DEFAULT_BLOCK_BYTES,
  )
  .option('--output <file>', 'where --job gzip writes (default: nowhere, after verifying)')
  .option('--json', 'print the report as JSON', false)
  .addOption(new Option('--kill-at-block <n>').argParser(parseWhole).hideHelp())
  .addHelpText(
    'after',
    `
Examples:
  heddle demo                                   the Node executable, checksums
  heddle demo video.mp4 --workers 4 --block 256k
  heddle demo access.log --job gzip --output access.log.gz
  heddle demo --json | jq .variants.heddle

Exit codes: 0 verified, 1 failed, 2 wrong usage, 130 interrupted.`,
  )
  .action(demo);

program
  .command('info')
  .description('say what this engine offers for shared memory')
  .option('--json', 'print it as JSON', false)
  .action(({ json }: { json: boolean }) => {
    const facts = { heddle: version, node: process.version, ...support() };
    if (json) console.log(JSON.stringify(facts, undefined, 2));
    else
      for (const [name, value] of Object.entries(facts))
        console.log(`${name.padEnd(20)} ${value ?? 'not in a browser'}`);
    if (!facts.supported) process.exitCode = EXIT_FAILED;
  });

await program.parseAsync();
