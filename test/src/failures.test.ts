import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const root = new URL('../../', import.meta.url);
const CASE = /\b(?:TR|LC|PF)-\d\d\b/g;

/** Case and the files that hold it, of each row of the table. */
const rows = Array.from(
  readFileSync(new URL('docs/failures.md', root), 'utf8').matchAll(/^\| ([A-Z]{2}-\d\d) \|.*$/gm),
  ([row, id]) => [id!, Array.from(row.matchAll(/`(\w+\/src\/[\w.-]+)`/g), (match) => match[1]!)] as const,
);

test.each(rows)('%s is named by the tests that hold it', (id, files) => {
  expect(files).not.toEqual([]);
  for (const file of files) {
    expect(readFileSync(new URL(`packages/${file}`, root), 'utf8'), file).toContain(id);
  }
});

test('each case that tests of rings and transport name is in the table', () => {
  const named = ['ring', 'transport'].flatMap((name) => {
    const folder = new URL(`packages/${name}/src/`, root);
    return readdirSync(folder)
      .filter((file) => /\.(?:test|explore)\.ts$/.test(file))
      .flatMap((file) => readFileSync(new URL(file, folder), 'utf8').match(CASE) ?? []);
  });
  expect(named.length).toBeGreaterThan(0);
  expect(rows.map(([id]) => id)).toEqual(expect.arrayContaining([...new Set(named)]));
});
