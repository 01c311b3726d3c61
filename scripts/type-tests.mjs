// Type tests are `x.test-d.ts` files full of `expectTypeOf` and `@ts-expect-error`: they pass when they compile, and
// the build compiles them. This sees to what the build cannot: that none was left out of it, and none is empty.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { x } from 'tinyexec';
import { glob } from 'tinyglobby';
import { root } from './workspace.mjs';

const EXPECTATION = /\bexpectTypeOf\b.*\(|@ts-expect-error/g;

/** The files that a project compiles, as absolute paths. */
async function compiledFiles(project) {
  const { stdout } = await x('tsc', ['-p', project, '--listFilesOnly'], {
    throwOnError: true,
    nodeOptions: { cwd: root },
  });
  return stdout.split('\n').filter((file) => file !== '');
}

const projects = await glob(['packages/*/tsconfig.test.json', '{bench,test}/tsconfig.json'], { cwd: root });
const compiled = new Set((await Promise.all(projects.map(compiledFiles))).flat());
const files = (await glob('{packages/*,bench,test}/src/**/*.test-d.ts', { cwd: root })).sort();
let count = 0;
for (const file of files) {
  const path = join(root, file);
  const expectations = (await readFile(path, 'utf8')).match(EXPECTATION)?.length ?? 0;
  count += expectations;
  if (expectations > 0 && compiled.has(path)) continue;
  console.log(`${file}: ${expectations === 0 ? 'expects nothing' : 'no tsconfig includes it'}`);
  process.exitCode = 1;
}
console.log(`${count} expectations in ${files.length} files`);
