import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { crc32, gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { DemoReport } from './demo/report.js';

const bin = fileURLToPath(new URL('../bin/heddle.js', import.meta.url));
const BYTES = 300_001;

let folder: string;
let file: string;
let content: Buffer;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'heddle-cli-'));
  file = join(folder, 'input.bin');
  // Half of it compresses, half does not.
  content = Buffer.concat([randomBytes(BYTES / 2), Buffer.alloc(BYTES - Math.floor(BYTES / 2), 'heddle ')]);
  await writeFile(file, content);
});

afterAll(() => rm(folder, { recursive: true }));

interface Run {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function heddle(...args: string[]): Promise<Run> {
  return new Promise((resolve) => {
    execFile(process.execPath, [bin, ...args], { maxBuffer: 2 ** 26 }, (error, stdout, stderr) => {
      resolve({ code: error ? Number(error.code) : 0, stdout, stderr });
    });
  });
}

async function report(...args: string[]): Promise<DemoReport> {
  const { code, stdout, stderr } = await heddle(
    'demo',
    '--json',
    '--workers',
    '3',
    '--block',
    '4096',
    ...args,
  );
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout);
}

describe('a checksum', () => {
  test('of a file is verified in each variant, and every slot of the pool comes back', async () => {
    const found = await report(file);
    expect(found).toMatchObject({
      verified: true,
      outstanding: 0,
      bytes: content.byteLength,
      blocks: Math.ceil(content.byteLength / 4096),
      workers: 3,
      crc32: crc32(content).toString(16).padStart(8, '0'),
      variants: { heddle: { verified: true }, clone: { verified: true }, transfer: { verified: true } },
    });
    expect(found.pool.got).toBe(found.pool.put);
    expect(found.pool.putAcrossThreads).toBe(found.blocks);
    for (const figures of Object.values(found.variants)) {
      expect(figures.wallMs).toBeGreaterThan(0);
      expect(figures.movingMs).toBeGreaterThan(0);
      expect(figures.peakMemoryBytes).toBeGreaterThan(0);
    }
  });

  test('of several files is that of one after the other', async () => {
    const found = await report(file, file);
    expect(found.crc32).toBe(crc32(content, crc32(content)).toString(16).padStart(8, '0'));
  });

  test('of an empty file is verified', async () => {
    const empty = join(folder, 'empty');
    await writeFile(empty, '');
    expect(await report(empty)).toMatchObject({ verified: true, bytes: 0, blocks: 0, crc32: '00000000' });
  });

  test('prints a table for people', async () => {
    const { stdout, stderr, code } = await heddle('demo', file);
    expect(code).toBe(0);
    expect(stderr).toBe('');
    expect(stdout).toContain('verified');
    expect(stdout).toContain('outstanding 0');
    expect(stdout).toContain('postMessage, transferred');
  });
});

describe('gzip', () => {
  test('writes a file that decompresses to the input', async () => {
    const output = join(folder, 'out.gz');
    expect(await report(file, '--job', 'gzip', '--output', output)).toMatchObject({
      verified: true,
      outstanding: 0,
    });
    expect(gunzipSync(await readFile(output)).equals(content)).toBe(true);
    expect((await readdir(folder)).filter((name) => name.endsWith('.part'))).toEqual([]);
  });

  test('of an empty file is a gzip file that holds nothing', async () => {
    const empty = join(folder, 'empty');
    const output = join(folder, 'empty.gz');
    await writeFile(empty, '');
    expect(await report(empty, '--job', 'gzip', '--output', output)).toMatchObject({ verified: true });
    expect(gunzipSync(await readFile(output))).toHaveLength(0);
  });

  test('without an output leaves nothing behind', async () => {
    const before = (await readdir(tmpdir())).filter((name) => name.startsWith('heddle-demo-'));
    expect(await report(file, '--job', 'gzip')).toMatchObject({ verified: true, output: null });
    const after = (await readdir(tmpdir())).filter((name) => name.startsWith('heddle-demo-'));
    expect(after).toEqual(before);
  });

  test.skipIf(process.platform !== 'linux')('on a full disk says so and fails', async () => {
    const { code, stderr } = await heddle('demo', file, '--job', 'gzip', '--output', '/dev/full');
    expect(code).toBe(1);
    expect(stderr).toContain('no space is left on the device');
  });
});

describe('what goes wrong is said before anything starts, with exit code 2', () => {
  test.each([
    ['a missing file', ['no-such-file'], 'Cannot read no-such-file: there is no such file'],
    ['a directory', [tmpdir()], 'it is a directory'],
    ['no workers', ['--workers', '0'], 'a whole number from 1 to 128'],
    ['workers that are no number', ['--workers', 'x'], 'a whole number from 1 to 128'],
    ['too many workers', ['--workers', '1000'], 'a whole number from 1 to 128'],
    ['a block too small', ['--block', '1'], 'a number of bytes from 4096'],
    ['an unknown job', ['--job', 'sort'], 'one of: checksum, gzip'],
    ['an output of a checksum', ['--output', 'x'], '--output is for --job gzip'],
    ['an output that is a directory', ['--job', 'gzip', '--output', tmpdir()], 'it is a directory'],
    ['an output in a missing folder', ['--job', 'gzip', '--output', '/no/such/file'], 'Cannot write'],
    ['an unknown option', ['--colour'], "unknown option '--colour'"],
  ])('%s', async (_what, args, message) => {
    const { code, stdout, stderr } = await heddle('demo', ...args);
    expect(stderr).toContain(message);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  });

  test('an output that is one of the inputs', async () => {
    const { code, stderr } = await heddle('demo', file, '--job', 'gzip', '--output', file);
    expect(code).toBe(2);
    expect(stderr).toContain('it is one of the files to read');
    expect((await readFile(file)).equals(content)).toBe(true);
  });
});

describe('a worker that dies', () => {
  const BLOCKS_UNDER_WAY = 12;
  const blocks = Math.ceil(BYTES / 4096);
  // Any block but the last few, which may be done before the worker is stopped.
  const deaths = Array.from({ length: process.env['HEDDLE_STRESS'] === 'long' ? 50 : 6 }, () =>
    Math.floor(Math.random() * (blocks - 20)),
  );

  test.each(deaths)('at block %i is named, nothing is written, nothing hangs', async (block) => {
    const output = join(folder, 'never.gz');
    const { code, stdout } = await heddle(
      ...['demo', file, '--json', '--job', 'gzip', '--output', output, '--block', '4096', '--workers', '3'],
      ...['--kill-at-block', String(block)],
    );
    expect(code).toBe(1);
    const { error, death } = JSON.parse(stdout);
    expect(error).toMatch(/^worker \d ended in the middle of its work/);
    // What it held came back, each once; what is still out is with the living.
    expect(death.begun + death.unread).toBeLessThanOrEqual(BLOCKS_UNDER_WAY);
    const { got, put, recovered, outstanding } = death.after;
    expect(got - put - recovered).toBe(outstanding);
    expect(await readdir(folder)).not.toContain('never.gz');
    expect((await readdir(folder)).filter((name) => name.endsWith('.part'))).toEqual([]);
  });

  test('is told to people with what it left', async () => {
    const { code, stdout, stderr } = await heddle('demo', file, '--block', '4096', '--kill-at-block', '11');
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/worker \d+ ended in the middle of its work/);
    expect(stderr).toMatch(/of the blocks sent to it: \d+ begun, \d+ not read/);
    expect(stderr).toMatch(/after recovery: .*outstanding/);
  });
});

test('memory stays bounded by the pool for a file of any size', async () => {
  const sparse = join(folder, 'sparse');
  await writeFile(sparse, '');
  await truncate(sparse, 256 * 2 ** 20);
  const found: DemoReport = JSON.parse((await heddle('demo', '--json', sparse)).stdout);
  expect(found.verified).toBe(true);
  expect(found.variants.heddle.peakMemoryBytes).toBeLessThan(200e6);
});

test('info says what the engine offers', async () => {
  const { stdout, code } = await heddle('info', '--json');
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ supported: true, sharedArrayBuffer: true, wait: true });
});
