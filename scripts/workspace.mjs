// What the workspace consists of, read from its folders.

import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { glob } from 'tinyglobby';

export const root = fileURLToPath(new URL('..', import.meta.url));

/** Folder and manifest of each package that would be published. */
export async function publicPackages() {
  const files = (await glob('packages/*/package.json', { cwd: root })).sort();
  const packages = await Promise.all(
    files.map(async (file) => ({
      folder: dirname(file),
      manifest: JSON.parse(await readFile(join(root, file), 'utf8')),
    })),
  );
  return packages.filter(({ manifest }) => !manifest.private);
}

/** What a user may write after `import`: `@heddle/memory`, `@heddle/explore/vitest`. */
export function importableNames(manifest) {
  return entries(manifest).map((subpath) => manifest.name + subpath.slice(1));
}

/** Those that need nothing but a JavaScript engine. The others are named after what they need: Node, or a peer. */
export function portableNames(manifest) {
  const bound = ['node', ...Object.keys(manifest.peerDependencies ?? {})];
  return entries(manifest)
    .filter((subpath) => !bound.includes(subpath.split('/')[1]))
    .map((subpath) => manifest.name + subpath.slice(1));
}

function entries(manifest) {
  return Object.keys(manifest.exports).filter((subpath) => !subpath.endsWith('.json'));
}
