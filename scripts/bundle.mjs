// Joins the modules of each library package into few files, for Node: loading a file takes a thread about a millisecond,
// and the packages have 250 of them. Bundlers get the modules themselves, of which they leave out what is not used.
//
// A package takes part by a condition `node` in its exports, which leads to `lib/`. With `--clean` those folders go.

import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { rolldown } from 'rolldown';
import { publicPackages, root } from './workspace.mjs';

/** Started as a thread of its own, from beside the file that asks for it. */
const WORKER = /\.worker\.ts$/;

/** Of what several entries share: `janitor-link.ts` knows that of its own package. */
function sharedName({ name }) {
  return name.replace('@', '').replace('/', '-');
}

/** Entries of a package: from names in `lib/` to sources. */
async function entriesOf({ folder, manifest }) {
  const exported = Object.values(manifest.exports).filter((target) => target.node);
  if (exported.length === 0) return {};
  const sources = await readdir(join(root, folder, 'src'));
  const workers = sources.filter((file) => WORKER.test(file));
  return Object.fromEntries([
    ...exported.map((target) => [basename(target.node, '.js'), target['heddle-source']]),
    ...workers.map((file) => [basename(file, '.ts'), `./src/${file}`]),
  ]);
}

/** Writes what has changed and removes what is gone: others may be reading the folder. */
async function put(folder, files) {
  await mkdir(folder, { recursive: true });
  for (const [name, content] of files) {
    const path = join(folder, name);
    const before = await readFile(path, 'utf8').catch(() => undefined);
    if (before !== content) await writeFile(path, content);
  }
  const gone = (await readdir(folder)).filter((name) => !files.has(name));
  for (const name of gone) await rm(join(folder, name));
}

async function bundlePackage({ folder, manifest }) {
  const input = await entriesOf({ folder, manifest });
  const entries = Object.values(input).map((source) => join(root, folder, source));
  if (entries.length === 0) return;
  const bundle = await rolldown({
    cwd: join(root, folder),
    input,
    platform: 'node',
    external: [/^@heddle\//, /^node:/],
    resolve: { extensionAlias: { '.js': ['.ts'] } },
    treeshake: { moduleSideEffects: true },
  });
  const { output } = await bundle.generate({
    dir: 'lib',
    format: 'esm',
    sourcemap: true,
    chunkFileNames: '[name].js',
    codeSplitting:
      entries.length === 1
        ? false
        : { groups: [{ name: sharedName(manifest), test: (module) => !entries.includes(module) }] },
  });
  await bundle.close();
  const files = new Map(output.map((file) => [file.fileName, file.code ?? file.source]));
  await put(join(root, folder, 'lib'), files);
}

const packages = await publicPackages();
if (process.argv.includes('--clean')) {
  for (const { folder } of packages) await rm(join(root, folder, 'lib'), { recursive: true, force: true });
} else {
  await Promise.all(packages.map(bundlePackage));
}
