import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';

const run = promisify(execFile);
const folder = fileURLToPath(new URL('.', import.meta.url));
const cli = fileURLToPath(new URL('./cli.js', import.meta.url));

interface Finished {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

async function explore(...args: string[]): Promise<Finished> {
  try {
    const { stdout, stderr } = await run(process.execPath, [cli, ...args], { cwd: folder });
    return { code: 0, stdout, stderr };
  } catch (error) {
    const { code, stdout, stderr } = error as Finished;
    return { code, stdout, stderr };
  }
}

describe('heddle-explore', () => {
  it('lists every model as JSON, with what was expected and what was found', async () => {
    const { code, stdout } = await explore('models/*.explore.js', '--json', 'cache hit');
    const { met, size, models } = JSON.parse(stdout);
    expect({ code, met, size }).toEqual({ code: 0, met: true, size: 'quick' });
    expect(models).toMatchObject([
      {
        model: 'cache hit that checks and then uses',
        expected: 'exception',
        found: 'exception',
        met: true,
        search: 'stopped',
        reason: expect.stringContaining('a hit on generation 1'),
        replay: expect.any(String),
      },
      { model: 'cache hit that pins and checks at once', found: 'pass', search: 'complete', kills: 0 },
    ]);
    expect(models[1].states).toBeGreaterThan(50);
    expect(models[1].stepsPerSecond).toBeGreaterThan(0);
  });

  it('ends with 1 where an expectation is not met, and shows the schedule', async () => {
    const { code, stdout } = await explore('unmet-model.test-worker.js');
    expect(code).toBe(1);
    expect(stdout).toContain('✗  a model that is not as expected');
    expect(stdout).toMatch(/step {2}T0/);
    expect(stdout).toContain('1 expectation not met');
  });

  it('takes the models that fit any of several filters, and says where none does', async () => {
    const { stdout } = await explore('models/*.explore.js', '--list', 'checks and then', 'pins and checks');
    expect(stdout.trim().split('\n')).toHaveLength(2);
    const none = await explore('models/*.explore.js', 'nothing of this name', 'nor of this');
    expect(none.code).toBe(2);
    expect(none.stderr).toMatch(/fits nothing of this name or nor of this: --list shows them/);
  });

  it('ends in silence where nobody reads on', async () => {
    const child = spawn(process.execPath, [cli, 'models/*.explore.js', 'cache hit'], { cwd: folder });
    child.stdout.destroy();
    let said = '';
    child.stderr.on('data', (text) => {
      said += text;
    });
    await once(child, 'close');
    expect(said).toBe('');
  });

  it('replays one schedule', async () => {
    const { code, stdout } = await explore('unmet-model.test-worker.js', '--replay', '0');
    expect(code).toBe(0);
    expect(stdout).toContain('store flag = 1');
  });

  it('replays one schedule on real threads', async () => {
    const { code, stdout } = await explore('unmet-model.test-worker.js', '--replay', '0', '--on-threads');
    expect(code).toBe(0);
    expect(stdout).toContain('agrees with the simulator');
  });

  it.each([
    [['nothing*.explore.js'], 'No file is called nothing*.explore.js'],
    [['models/*.explore.js', 'no such model'], 'No model among'],
    [['models/*.explore.js', '--replay', '0'], 'belongs to one model'],
    [['unmet-model.test-worker.js', '--replay', '9'], 'not possible'],
    [['--seed', 'x'], 'No file is called **/dist/**/*.explore.js'],
  ])('says what is wrong with %s', async (args, problem) => {
    const { code, stderr } = await explore(...args);
    expect(code).toBe(2);
    expect(stderr).toContain(problem);
  });
});
