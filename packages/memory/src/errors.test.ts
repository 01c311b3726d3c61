import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { ERROR_CODES, HeddleError } from './errors.js';

const page = readFileSync(new URL('../../../docs/errors.md', import.meta.url), 'utf8');
const rows = [
  ...page.matchAll(/^\| `(?<code>ERR_HEDDLE_\w+)` \| (?<what>[^|]+) \| (?<todo>[^|]+) \|$/gm),
].map(({ groups }) => groups as { code: string; what: string; todo: string });

test('docs/errors.md describes every code once, and no other', () => {
  expect(rows.map(({ code }) => code).toSorted()).toEqual(ERROR_CODES.toSorted());
});

test('docs/errors.md says for each what happened and what to do', () => {
  for (const { what, todo } of rows) {
    expect(what.trim().length).toBeGreaterThan(20);
    expect(todo.trim().length).toBeGreaterThan(20);
  }
});

test('a HeddleError carries code, message and facts', () => {
  const error = new HeddleError('ERR_HEDDLE_CLOSED', 'It is closed', { name: 'a' });
  expect(error).toBeInstanceOf(Error);
  expect(`${error}`).toBe('HeddleError: It is closed');
  expect(error).toMatchObject({ code: 'ERR_HEDDLE_CLOSED', facts: { name: 'a' } });
  expect(new HeddleError('ERR_HEDDLE_CLOSED', 'It is closed').facts).toEqual({});
});
