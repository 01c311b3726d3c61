import { fileURLToPath } from 'node:url';
import { x } from 'tinyexec';
import { describe, expect, test } from 'vitest';
import type { ThreadDescription } from './two-files/describe-thread.js';

const root = fileURLToPath(new URL('../../', import.meta.url));

interface Printed {
  readonly word: number;
  readonly inMain: ThreadDescription;
  readonly inWorker: ThreadDescription;
}

async function run(...args: string[]): Promise<Printed> {
  const { stdout } = await x(process.execPath, args, { throwOnError: true, nodeOptions: { cwd: root } });
  return JSON.parse(stdout);
}

const fromBuild = () => run('test/dist/two-files/program.js');
const fromSource = () => run('--import', './scripts/from-source.mjs', 'test/src/two-files/program.ts');

function entries({ packages }: ThreadDescription): string[] {
  return [...new Set(packages.map(({ entry }) => entry))];
}

function withoutOrigin({ packages }: ThreadDescription) {
  return packages.map(({ name, exports }) => ({ name, exports }));
}

describe('a program with a worker', () => {
  test('runs the build in both threads', async () => {
    const { word, inMain, inWorker } = await fromBuild();
    expect(word).toBe(42);
    expect([inMain.file, inWorker.file]).toEqual(['program.js', 'program.test-worker.js']);
    // Libraries come as one file each, the others module by module.
    const built = ['dist/index.js', 'lib/index.js'];
    expect([entries(inMain).sort(), entries(inWorker).sort()]).toEqual([built, built]);
  });

  test('runs the sources in both threads', async () => {
    const { word, inMain, inWorker } = await fromSource();
    expect(word).toBe(42);
    expect([inMain.file, inWorker.file]).toEqual(['program.ts', 'program.test-worker.ts']);
    expect([entries(inMain), entries(inWorker)]).toEqual([['src/index.ts'], ['src/index.ts']]);
  });

  test('finds the same exports in source and build', async () => {
    const [build, source] = await Promise.all([fromBuild(), fromSource()]);
    expect(withoutOrigin(source.inMain)).toEqual(withoutOrigin(build.inMain));
    expect(withoutOrigin(source.inWorker)).toEqual(withoutOrigin(build.inWorker));
  });
});
