import { readdir } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';

/** The files under `directory` whose path matches one of the patterns: `*` within a folder, `**` across folders. */
export async function findFiles(directory: string, patterns: readonly string[]): Promise<string[]> {
  const expressions = patterns.map(toExpression);
  const found: string[] = [];
  const visit = async (folder: string): Promise<void> => {
    for (const entry of await readdir(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) {
        if (entry.name !== 'node_modules' && !entry.name.startsWith('.')) await visit(path);
      } else {
        const name = relative(directory, path).split(sep).join('/');
        if (expressions.some((expression) => expression.test(name))) found.push(path);
      }
    }
  };
  await visit(directory);
  return found.sort();
}

function toExpression(pattern: string): RegExp {
  const source = pattern
    .replace(/^\.\//, '')
    .replace(/[.+?^${}()|[\]\\]/g, '\\$&')
    .replace(/\*\*\/|\*\*|\*/g, (stars) => (stars === '**/' ? '(?:.*/)?' : stars === '**' ? '.*' : '[^/]*'));
  return new RegExp(`^${source}$`);
}
