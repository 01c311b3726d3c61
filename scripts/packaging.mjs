// Packs each public package as publishing would, and looks at what came out: publint, are-the-types-wrong, which files
// are inside, whether another project can import every entry, and whether one without Node's types can compile with it.

import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import { filterProblems, problemKindInfo } from '@arethetypeswrong/core/problems';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { x } from 'tinyexec';
import { importableNames, portableNames, publicPackages, root } from './workspace.mjs';

/** Inside the workspace, so that what the packages import from elsewhere resolves as it does for their sources. */
const scratch = join(root, 'node_modules/.cache/heddle-packaging');
/** What belongs to development and stays at home. */
const DEVELOPMENT = /\.(?:test|test-d|test-worker|explore)\.|\.tsbuildinfo$/;
const REQUIRED = ['package.json', 'LICENSE'];
/** The packages are ESM only: how `require` would see them is not looked at. */
const RESOLUTIONS = ['node16-esm', 'bundler'];

async function run(file, args, cwd = root) {
  const { exitCode, stdout, stderr } = await x(file, args, { nodeOptions: { cwd } });
  if (exitCode !== 0) throw new Error(`$ ${file} ${args.join(' ')}\n${stdout}${stderr}`);
  return stdout;
}

/** Answers with name, tarball and files of each package. */
async function packAll() {
  // Started by `node` alone, there may be no pnpm on the path.
  const [file, ...args] = process.env.npm_config_user_agent?.startsWith('pnpm') ? ['pnpm'] : ['npx', 'pnpm'];
  const options = ['--filter', './packages/*', 'pack', '--json', '--pack-destination', scratch];
  return JSON.parse(await run(file, [...args, '-r', ...options]));
}

function problemsOfFiles({ files }) {
  const paths = files.map((file) => file.path);
  return [
    ...paths.filter((path) => DEVELOPMENT.test(path)).map((path) => `${path} should not be published`),
    ...REQUIRED.filter((path) => !paths.includes(path)).map((path) => `${path} is missing`),
  ];
}

async function problemsOfManifest(tarball) {
  const { messages, pkg } = await publint({ pack: { tarball: tarball.buffer }, strict: true });
  return messages.map((message) => `publint: ${formatMessage(message, pkg)}`);
}

async function problemsOfTypes(tarball) {
  const analysis = await checkPackage(createPackageFromTarballData(tarball));
  if (!analysis.types) return ['are-the-types-wrong: there are none'];
  return RESOLUTIONS.flatMap((resolutionKind) =>
    filterProblems(analysis, { resolutionKind }).map(
      (problem) =>
        `are-the-types-wrong: ${resolutionKind}, entry ${problem.entrypoint ?? 'any'}: ` +
        `${problemKindInfo[problem.kind].title}`,
    ),
  );
}

/** Unpacks into the `node_modules` of a project that knows nothing of this workspace. */
async function install({ name, filename }) {
  const folder = join(scratch, 'node_modules', name);
  await mkdir(folder, { recursive: true });
  await run('tar', ['-xzf', filename, '-C', folder, '--strip-components=1']);
}

/** Runs a command as that project and answers with what went wrong. */
async function attempt(file, args) {
  try {
    await run(file, args, scratch);
    return [];
  } catch (error) {
    return [error.message];
  }
}

async function problemsOfImport(manifest) {
  const imports = importableNames(manifest).map((name) => `await import('${name}');`);
  return attempt('node', ['--input-type=module', '--eval', imports.join(' ')]);
}

/** A strict project for browsers, which looks into our declarations as well. */
const BROWSER = [
  ...[
    '--ignoreConfig',
    '--noEmit',
    '--strict',
    '--exactOptionalPropertyTypes',
    '--module',
    'nodenext',
    '--target',
    'es2022',
  ],
  ...['--lib', 'es2024,esnext.disposable,dom', '--types', '', '--skipLibCheck', 'false'],
];

async function problemsOfCompilation(manifest) {
  if (!manifest.name.startsWith('@heddle/')) return [];
  const file = `${manifest.name.replace('@heddle/', '')}.mts`;
  const lines = portableNames(manifest).map((name, index) => `export * as entry${index} from '${name}';\n`);
  await writeFile(join(scratch, file), lines.join(''));
  return attempt('tsc', [...BROWSER, file]);
}

async function problemsOf(manifest, packed) {
  if (packed === undefined) return ['was not packed'];
  // A copy with a buffer of its own, which is what the checkers take.
  const tarball = new Uint8Array(await readFile(packed.filename));
  const found = await Promise.all([
    problemsOfFiles(packed),
    problemsOfManifest(tarball),
    problemsOfTypes(tarball),
    problemsOfImport(manifest),
    problemsOfCompilation(manifest),
  ]);
  return found.flat();
}

await rm(scratch, { recursive: true, force: true });
await mkdir(scratch, { recursive: true });
const packages = await publicPackages();
const packed = await packAll();
await Promise.all(packed.map(install));
let count = 0;
for (const { manifest } of packages) {
  const problems = await problemsOf(
    manifest,
    packed.find(({ name }) => name === manifest.name),
  );
  for (const problem of problems) console.log(`${manifest.name}: ${problem}`);
  count += problems.length;
}
console.log(`${packages.length} packages, ${count} problems`);
if (count > 0) process.exitCode = 1;
