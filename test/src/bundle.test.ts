import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { x } from 'tinyexec';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

const program = new URL('./bundled/program.js', import.meta.url);
const worker = new URL('./bundled/program.test-worker.js', import.meta.url);
const janitor = new URL('./janitor.worker.js', import.meta.resolve('@heddle/memory'));

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'heddle-bundle-'));
});

afterEach(() => rm(folder, { recursive: true }));

/** Bundles with everything from packages, and answers with what the program prints. */
async function bundleAndRun(files: URL[], format: 'esm' | 'cjs', ...args: string[]): Promise<string[]> {
  await build({
    entryPoints: files.map((file) => fileURLToPath(file)),
    bundle: true,
    platform: 'node',
    format,
    outdir: folder,
    entryNames: '[name]',
    logLevel: 'error',
    logOverride: { 'empty-import-meta': 'silent' },
  });
  const type = format === 'esm' ? 'module' : 'commonjs';
  await writeFile(join(folder, 'package.json'), JSON.stringify({ type }));
  const { stdout } = await x(process.execPath, [join(folder, 'program.js'), ...args], { throwOnError: true });
  return stdout.trim().split('\n');
}

describe('a program in a bundle', () => {
  test('takes back what a watched worker held', async () => {
    expect(await bundleAndRun([program, worker], 'esm', 'watch')).toEqual(['started', 'owner-died']);
  });

  test('has a janitor where its file is beside the bundle, which does not start the program again', async () => {
    const said = await bundleAndRun([program, worker, janitor], 'esm', 'janitor');
    expect(said).toEqual(['started', 'owner-died']);
  });

  test.each(['esm', 'cjs'] as const)('says that the janitor is missing from it (%s)', async (format) => {
    const said = await bundleAndRun([program], format, 'janitor');
    expect(said).toEqual(['started', 'ERR_HEDDLE_UNSUPPORTED']);
  });
});
