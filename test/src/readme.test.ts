import { execFile } from 'node:child_process';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const run = promisify(execFile);
const root = new URL('../../', import.meta.url);
const readme = await readFile(new URL('README.md', root), 'utf8');

// Inside of this package, from where the packages are found that the examples import.
const folder = new URL('../node_modules/.cache/readme/', import.meta.url);

interface Example {
  readonly file: string;
  readonly code: string;
  readonly output: string;
}

function examplesIn(text: string): Example[] {
  const pattern = /<!-- run: (?<file>\S+) -->\n```js\n(?<code>.*?)```\n\n```text\n(?<output>.*?)```/gs;
  return Array.from(text.matchAll(pattern), (match) => match.groups as unknown as Example);
}

describe('the README', () => {
  beforeAll(() => mkdir(folder, { recursive: true }));
  afterAll(() => rm(folder, { recursive: true, force: true }));

  const examples = examplesIn(readme);

  test('has an example for each way of use', () => {
    expect(examples.map(({ file }) => file)).toEqual(['frames.mjs', 'counter.mjs', 'pool.mjs', 'model.mjs']);
  });

  test.each(examples)('$file prints what it says', async ({ file, code, output }) => {
    const path = new URL(file, folder);
    await writeFile(path, code);
    const { stdout, stderr } = await run(process.execPath, [fileURLToPath(path)]);
    expect({ stdout, stderr }).toEqual({ stdout: output, stderr: '' });
  });

  test('names files that exist', async () => {
    const links = Array.from(readme.matchAll(/\]\((?<path>[^):]+)\)/g), (match) => match.groups!['path']!);
    expect(links.length).toBeGreaterThan(0);
    for (const link of links) await expect(readFile(new URL(link, root), 'utf8')).resolves.not.toBe('');
  });
});

/** Files of the examples in a text, by name; those on threads say so in their first lines: `// main.ts`. */
function filesIn(text: string): Map<string, string> {
  const files = new Map<string, string>();
  for (const [, code] of text.matchAll(/```[jt]s\n(.*?)```/gs)) {
    for (const part of code!.split(/^\/\/ (?=\w+\.[jt]s$)/m).slice(1)) {
      const end = part.indexOf('\n');
      files.set(part.slice(0, end).replace(/ts$/, 'js'), part.slice(end));
    }
  }
  return files;
}

describe('an example on threads', () => {
  const folder = new URL('../node_modules/.cache/examples/', import.meta.url);
  afterAll(() => rm(folder, { recursive: true, force: true }));

  test.each([
    'docs/locks.md',
    'docs/memory.md',
    'docs/pool.md',
    'docs/rings.md',
    'docs/transport.md',
    'packages/lock/README.md',
    'packages/memory/README.md',
    'packages/mpool/README.md',
    'packages/ring/README.md',
    'packages/transport/README.md',
  ])('in %s runs, and ends', async (page) => {
    const own = new URL(`${page}/`, folder);
    await mkdir(own, { recursive: true });
    await writeFile(new URL('package.json', own), '{ "type": "module" }');
    const files = filesIn(await readFile(new URL(page, root), 'utf8'));
    for (const [name, code] of files) await writeFile(new URL(name, own), code);
    const { stderr } = await run(process.execPath, [fileURLToPath(new URL('main.js', own))]);
    expect(stderr).toBe('');
  });
});
