import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { runCommand } from './command.js';
import type { Catalog } from './core/catalog.js';
import type { MeasuredVariant, Report } from './core/report.js';
import { defineSuite } from './core/suite.js';

const folder = mkdtempSync(join(tmpdir(), 'heddle-bench-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function bench(args: string[], isTTY = false, catalog?: Catalog) {
  const output = { stdout: '', stderr: '' };
  const streams = {
    stdout: { write: (text: string) => (output.stdout += text) },
    stderr: { isTTY, columns: 80, write: (text: string) => (output.stderr += text) },
  };
  const code = await runCommand(args, streams, catalog);
  return { code, ...output };
}

describe('the arguments', () => {
  it('show help with examples and exit codes', async () => {
    const { code, stdout } = await bench(['--help']);
    expect(code).toBe(0);
    expect(stdout).toContain('pnpm bench atomics --quick');
    expect(stdout).toContain('Exit codes');
  });

  it('list the suites and their comparisons, and run nothing', async () => {
    const { code, stdout, stderr } = await bench(['--list']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^atomics: /m);
    expect(stdout).toMatch(/^ {2}wake-up /m);
    expect(stderr).toBe('');
  });

  it.each([
    ['an unknown suite', ['atomic'], /no suite "atomic". The suites are: .*atomics/],
    ['an unknown option', ['--fast'], /unknown option '--fast'/],
    ['a filter that leaves nothing', ['atomics', '--filter', 'nothing-like-it'], /no comparison of atomics/],
    ['a suite in the place of the JSON file', ['--json', 'atomics'], /"atomics" is a suite, not a file/],
  ])('refuse %s with code 2 and a word on what to do', async (_, args, message) => {
    const { code, stdout, stderr } = await bench(args);
    expect(code).toBe(2);
    expect(stderr).toMatch(message);
    expect(stderr).toContain('--help');
    expect(stdout).toBe('');
  });

  it('refuse a JSON file that cannot be written, before anything is measured', async () => {
    const { code, stdout, stderr } = await bench(
      ['atomics', '--json', join(folder, 'absent', 'figures.json')],
      true,
    );
    expect(code).toBe(1);
    expect(stderr).toMatch(/^error: cannot write the JSON file: ENOENT/);
    expect(stdout).toBe('');
  });

  it('refuse a folder in the place of a JSON file', async () => {
    const { code, stderr } = await bench(['atomics', '--json', folder]);
    expect(code).toBe(1);
    expect(stderr).toContain('EISDIR');
  });
});

describe('a quick run', () => {
  const args = ['atomics', '--quick', '--filter', 'seam-load'];

  it('writes a table to stdout, JSON to the file, and nothing to stderr in a pipe', async () => {
    const file = join(folder, 'figures.json');
    writeFileSync(file, 'what was there before, and is longer than nothing');
    const { code, stdout, stderr } = await bench([...args, '--json', file]);
    expect(stderr).toBe('');
    expect(code).toBe(0);
    expect(stdout).toMatch(/machine {2}.*cores/);
    expect(stdout).toMatch(/^seam-load: /m);
    expect(stdout).toContain('What this does not show');

    const report = JSON.parse(readFileSync(file, 'utf8')) as Report;
    expect(report).toMatchObject({ format: 'heddle-bench', version: 1, plan: { mode: 'quick' } });
    expect(Date.parse(report.startedAt)).not.toBeNaN();
    const { machine, engine, commit, pinning, clockResolutionNs } = report.environment;
    expect(machine.cores).toBeGreaterThanOrEqual(1);
    expect(engine).toMatchObject({ name: 'node', version: process.versions.node });
    expect(commit === null || /^[0-9a-f]{40,}$/.test(commit.id)).toBe(true);
    expect(typeof pinning.available).toBe('boolean');
    expect(clockResolutionNs).toBeGreaterThan(0);
    expect(report.suites.map(({ name }) => name)).toEqual(['atomics']);
    const [comparison] = report.suites[0]!.comparisons;
    expect(comparison).toMatchObject({ name: 'seam-load', metric: 'time', unit: 'ns', baseline: 'direct' });
    for (const variant of comparison!.variants as readonly MeasuredVariant[]) {
      expect(variant.status).toBe('measured');
      expect(variant.rounds).toHaveLength(report.plan.rounds);
      expect(variant.ratio!.rounds).toHaveLength(report.plan.rounds);
      expect(variant.threadReports).toHaveLength(1);
      expect(variant.value.median).toBeGreaterThan(0);
    }
  });

  it('writes JSON to stdout where no file is named, and progress to a terminal only', async () => {
    const { code, stdout, stderr } = await bench([...args, '--json', '--no-pin'], true);
    expect(code).toBe(0);
    const report = JSON.parse(stdout) as Report;
    expect(report.environment.pinning).toMatchObject({ available: false, detail: 'switched off' });
    expect(stderr).toContain('1/1 atomics seam-load');
    expect(stderr.endsWith('\u001b[2K')).toBe(true);
  });

  it('leaves no file behind when it is refused', async () => {
    const file = join(folder, 'never.json');
    await bench(['atomics', '--filter', 'nothing-like-it', '--json', file]);
    expect(existsSync(file)).toBe(false);
  });
});

describe('a suite with a variant that fails and one that is skipped', () => {
  const counting = { threads: [{ workload: 'counting', count: 2 }, { workload: 'polling' }] };
  const prepare = () => ({ shared: new SharedArrayBuffer(64) });
  const suite = defineSuite({
    name: 'mixed',
    summary: 'what can happen to a variant',
    limits: 'anything but that',
    comparisons: () => [
      {
        name: 'mixed',
        title: 'three variants',
        metric: 'rate',
        operation: 'count',
        baseline: 'sound',
        module: new URL('./core/thread-group.test-worker.js', import.meta.url),
        variants: [
          { ...counting, name: 'sound', prepare, targets: [{ atLeast: 0.5 }] },
          { name: 'broken', threads: [{ workload: 'throwing' }], prepare },
          { ...counting, name: 'elsewhere', skip: 'it needs another engine' },
        ],
      },
    ],
  });
  const catalog: Catalog = { names: () => ['mixed'], load: async () => suite };

  it('measures what it can, says what it could not, and exits with code 1', async () => {
    const { code, stdout, stderr } = await bench(['--quick'], false, catalog);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^error: mixed mixed\/broken failed: thread 0 \(throwing\).*round 2 broke/);
    expect(stdout).toMatch(/median .* ratio .* target .* threads .* counts\/s each .* Jain/);
    expect(stdout).toMatch(/^ {2}sound .*≥ 0.5 met/m);
    expect(stdout).toContain('broken failed: thread 0 (throwing)');
    expect(stdout).toContain('elsewhere skipped: it needs another engine');
  });
});
