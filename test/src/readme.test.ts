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
