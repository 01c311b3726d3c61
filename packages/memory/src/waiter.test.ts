import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { describe, expect, test, vi } from 'vitest';
import { runAsync } from './async-wait.js';
import { countingPlatform } from './counting-platform.js';
import { type Platform, realPlatform } from './platform.js';
import { Waiter } from './waiter.js';
import { ROUNDS, SHARED_WORDS, STOP, TURN, type WaiterJob } from './waiter.test-worker.js';

const long = process.env['HEDDLE_STRESS'] === 'long';
if (long) vi.setConfig({ testTimeout: 600_000 });
const cannotBlock: Platform = { ...realPlatform, canBlock: () => false };

function makeWord(platform?: Platform) {
  const words = new Int32Array(new SharedArrayBuffer(8));
  return { words, waiter: new Waiter(words, 0, platform) };
}

/** Resolves when every callback that is due has run. */
const settle = () => new Promise((resolve) => setImmediate(resolve));

/** Who is asleep on the word: asking wakes them. */
const asleep = (words: Int32Array) => Atomics.notify(words, 0);

function start(job: Partial<WaiterJob> & Pick<WaiterJob, 'words' | 'role'>): Worker {
  return new Worker(new URL('./waiter.test-worker.js', import.meta.url), {
    workerData: { index: 0, threads: 1, rounds: 0, ...job } satisfies WaiterJob,
  });
}

describe('wait', () => {
  test('returns true where the word differs already', () => {
    expect(makeWord().waiter.wait(1)).toBe(true);
    expect(makeWord().waiter.wait(1, { timeout: 0 })).toBe(true);
  });

  test('returns false when the time is up, and not before', () => {
    const start = performance.now();
    expect(makeWord().waiter.wait(0, { timeout: 20 })).toBe(false);
    expect(performance.now() - start).toBeGreaterThanOrEqual(20);
  });

  test.each([0, -1, -Infinity])('with timeout %s looks once', (timeout) => {
    const platform = countingPlatform();
    expect(makeWord(platform).waiter.wait(0, { timeout })).toBe(false);
    expect(platform.counts()).toEqual({ load: 1 });
  });

  test('looks as often as told before it parks, and pauses in between', () => {
    const pause = vi.fn();
    const platform = countingPlatform({ ...realPlatform, pause });
    makeWord(platform).waiter.wait(0, { spins: 10, timeout: 1 });
    expect(pause).toHaveBeenCalledTimes(10);
    expect(platform.counts().load).toBeGreaterThanOrEqual(12);
    platform.reset();
    makeWord(platform).waiter.wait(1, { spins: 10 });
    expect(platform.counts()).toEqual({ load: 1 });
  });

  test('keeps its deadline in a storm of stray wakes (LK-03)', async () => {
    const words = new Int32Array(new SharedArrayBuffer(SHARED_WORDS * 4));
    const storm = start({ words, role: 'storm' });
    await once(storm, 'online');
    const begin = performance.now();
    expect(new Waiter(words, TURN).wait(0, { timeout: 50 })).toBe(false);
    expect(performance.now() - begin).toBeGreaterThanOrEqual(50);
    await expect(new Waiter(words, TURN).waitAsync(0, { timeout: 50 })).resolves.toBe(false);
    Atomics.store(words, STOP, 1);
    await once(storm, 'exit');
  });

  test.each([
    [{ timeout: Number.NaN }, RangeError],
    [{ timeout: '5' as never }, TypeError],
    [{ spins: -1 }, RangeError],
    [{ spins: Infinity }, RangeError],
    [{ spins: Number.NaN }, RangeError],
    [{ spins: 1.5 }, RangeError],
  ])('refuses %o', (options, error) => {
    expect(() => makeWord().waiter.wait(1, options)).toThrow(error);
  });

  test.each([-1, 2, 0.5, Number.NaN])('a waiter has no word %s', (index) => {
    expect(() => new Waiter(new Int32Array(new SharedArrayBuffer(8)), index)).toThrow(RangeError);
  });
});

describe('on a thread that must not block (LC-03)', () => {
  test('wait throws always, not only when it would block', () => {
    const { waiter } = makeWord(cannotBlock);
    for (const expected of [0, 1]) {
      for (const timeout of [undefined, 0, 5]) {
        expect(() => waiter.wait(expected, { timeout })).toThrow(
          expect.objectContaining({ code: 'ERR_HEDDLE_MUST_NOT_BLOCK' }),
        );
      }
    }
  });

  test('the asynchronous form works', async () => {
    const { words, waiter } = makeWord(cannotBlock);
    const waited = waiter.waitAsync(0);
    words[0] = 1;
    waiter.wake();
    await expect(waited).resolves.toBe(true);
  });
});

describe('waitAsync', () => {
  test('resolves when the word differs', async () => {
    const { words, waiter } = makeWord();
    await expect(waiter.waitAsync(1)).resolves.toBe(true);
    const waited = waiter.waitAsync(0);
    await settle();
    words[0] = 1;
    expect(waiter.wake()).toBe(1);
    await expect(waited).resolves.toBe(true);
  });

  test('sleeps on after stray wakes (LK-03)', async () => {
    const { words, waiter } = makeWord();
    const done = vi.fn();
    const waited = waiter.waitAsync(0).then(done);
    for (let i = 0; i < 5; i++) {
      await vi.waitFor(() => expect(asleep(words)).toBe(1));
    }
    expect(done).not.toHaveBeenCalled();
    words[0] = 1;
    waiter.wake();
    await waited;
    expect(done).toHaveBeenCalledWith(true);
  });

  test('resolves false when the time is up, and leaves nothing on the word', async () => {
    const { words, waiter } = makeWord();
    await expect(waiter.waitAsync(0, { timeout: 5 })).resolves.toBe(false);
    expect(asleep(words)).toBe(0);
  });

  test.each([0, -1])('with timeout %s looks once and never sleeps', async (timeout) => {
    const platform = countingPlatform();
    const { waiter } = makeWord(platform);
    await expect(waiter.waitAsync(0, { timeout })).resolves.toBe(false);
    expect(platform.counts()).toEqual({ load: 2 });
    await expect(waiter.waitAsync(1, { timeout })).resolves.toBe(true);
  });

  test('takes a timer that is early for what it is', async () => {
    let nowMs = 0;
    const timers: (() => void)[] = [];
    const { waiter } = makeWord({
      ...realPlatform,
      now: () => nowMs,
      schedule(callback) {
        timers.push(callback);
        return () => {};
      },
    });
    const waited = waiter.waitAsync(0, { timeout: 100 });
    nowMs = 99;
    timers.shift()!();
    nowMs = 100;
    timers.shift()!();
    await expect(waited).resolves.toBe(false);
  });

  test('rejects with the reason of its signal, and leaves nothing on the word', async () => {
    const { words, waiter } = makeWord();
    const controller = new AbortController();
    const waited = waiter.waitAsync(0, { signal: controller.signal });
    const reason = new Error('enough');
    controller.abort(reason);
    expect(asleep(words)).toBe(0);
    await expect(waited).rejects.toBe(reason);
    await expect(waiter.waitAsync(0, { signal: controller.signal })).rejects.toBe(reason);
    await expect(waiter.waitAsync(1, { signal: controller.signal })).rejects.toBe(reason);
  });

  test('takes no notice of a signal once it is done', async () => {
    const { waiter } = makeWord();
    const controller = new AbortController();
    await waiter.waitAsync(1, { signal: controller.signal });
    controller.abort();
  });

  test('rejects where the engine has no waitAsync', async () => {
    const atomics = { ...countingPlatform().atomics };
    delete atomics.waitAsync;
    const { waiter } = makeWord({ ...realPlatform, atomics });
    await expect(waiter.waitAsync(0)).rejects.toMatchObject({ code: 'ERR_HEDDLE_UNSUPPORTED' });
  });

  test.each([
    [Number.NaN, RangeError],
    ['5', TypeError],
  ])('rejects timeout %s', async (timeout, error) => {
    await expect(makeWord().waiter.waitAsync(1, { timeout: timeout as number })).rejects.toThrow(error);
  });

  test('rejects with what a step throws, and leaves nothing on the word', async () => {
    const { words } = makeWord();
    const fail = () => {
      throw new Error('a bug');
    };
    const sleep = () => ({ done: false, index: 0, expected: 0 }) as const;
    const steps = { begin: sleep, onWake: fail, onTimeout: fail, onAbort: fail };
    const woken = runAsync(steps, words, realPlatform);
    asleep(words);
    await expect(woken).rejects.toThrow('a bug');
    const controller = new AbortController();
    const aborted = runAsync(steps, words, realPlatform, { signal: controller.signal });
    controller.abort();
    await expect(aborted).rejects.toThrow('a bug');
    await expect(runAsync(steps, words, realPlatform, { timeout: 1 })).rejects.toThrow('a bug');
    expect(asleep(words)).toBe(0);
  });

  test('costs 1 load where the word differs, else 1 waitAsync more, and 1 load a wake', async () => {
    const platform = countingPlatform();
    const { words, waiter } = makeWord(platform);
    await waiter.waitAsync(1);
    expect(platform.counts()).toEqual({ load: 1 });
    platform.reset();
    const first = waiter.waitAsync(0);
    expect(platform.counts()).toEqual({ load: 1, waitAsync: 1 });
    const second = waiter.waitAsync(0);
    expect(platform.counts()).toEqual({ load: 3, waitAsync: 1 });
    words[0] = 1;
    waiter.wake();
    await Promise.all([first, second]);
    expect(platform.counts()).toEqual({ load: 5, waitAsync: 1, notify: 1 });
  });
});

describe('an abandoned wait swallows no wake', () => {
  /** Another thread's sleep on the word, behind ours in the engine's list. */
  const other = (words: Int32Array) => Atomics.waitAsync(words, 0, 0) as { value: Promise<string> };

  test.each(['abort', 'timeout'])('that was on its way to it (%s)', async (way) => {
    const { words, waiter } = makeWord();
    const controller = new AbortController();
    const given = way === 'abort' ? { signal: controller.signal } : { timeout: 1 };
    const waited = waiter.waitAsync(0, given);
    const next = other(words);
    // The one wake goes to ours, which is given up before its callback can run.
    expect(Atomics.notify(words, 0, 1)).toBe(1);
    if (way === 'abort') {
      controller.abort();
    } else {
      const until = performance.now() + 2;
      while (performance.now() < until);
    }
    await Promise.allSettled([waited]);
    await expect(next.value).resolves.toBe('ok');
  });

  test('that comes later: nothing of it is left on the list', async () => {
    const { words, waiter } = makeWord();
    const controller = new AbortController();
    const waited = expect(waiter.waitAsync(0, { signal: controller.signal })).rejects.toThrow();
    controller.abort();
    const next = other(words);
    expect(Atomics.notify(words, 0, 1)).toBe(1);
    await expect(next.value).resolves.toBe('ok');
    await waited;
  });

  test('of another task of this thread, which shares its place on the list', async () => {
    const { words, waiter } = makeWord();
    const controller = new AbortController();
    const aborted = waiter.waitAsync(0, { signal: controller.signal });
    const stays = waiter.waitAsync(0);
    words[0] = 1;
    Atomics.notify(words, 0, 1);
    controller.abort();
    await expect(aborted).rejects.toThrow();
    await expect(stays).resolves.toBe(true);
    expect(asleep(words)).toBe(0);
  });

  test('of a thread that is parked, when a whole thread with pending waits is terminated', async () => {
    const words = new Int32Array(new SharedArrayBuffer(SHARED_WORDS * 4));
    const dies = start({ words, role: 'pass-async', index: 1, threads: 3, rounds: 1 });
    await once(dies, 'online');
    await dies.terminate();
    const next = other(words);
    expect(Atomics.notify(words, 0, 1)).toBe(1);
    await expect(next.value).resolves.toBe('ok');
  });

  test('tasks that come while a wake is being handed out are woken as well', async () => {
    const { words, waiter } = makeWord();
    const waits = [waiter.waitAsync(0)];
    Atomics.store(words, 0, 1);
    Atomics.notify(words, 0, 1);
    // The place on the list is gone, its callback has not run: whoever joins now may not be forgotten.
    waits.push(waiter.waitAsync(1));
    await settle();
    Atomics.store(words, 0, 2);
    Atomics.notify(words, 0);
    await expect(Promise.all(waits)).resolves.toEqual([true, true]);
  });
});

describe('the event loop', () => {
  function run(body: string): string {
    const url = (name: string) => JSON.stringify(new URL(name, import.meta.url).href);
    const script = `
      const { Waiter } = await import(${url('./waiter.js')});
      const words = new Int32Array(new SharedArrayBuffer(4));
      const waiter = new Waiter(words, 0);
      process.on('exit', () => console.log('end'));
      ${body}`;
    return execFileSync(process.execPath, ['--input-type=module', '--eval', script], { encoding: 'utf8' });
  }

  test('is kept alive by a wait', () => {
    expect(run('waiter.waitAsync(0, { timeout: 20 }).then((changed) => console.log(changed));')).toBe(
      'false\nend\n',
    );
    expect(
      run(
        "waiter.waitAsync(0).then(() => console.log('woken')); setTimeout(() => { words[0] = 1; waiter.wake(); }, 5).unref();",
      ),
    ).toBe('woken\nend\n');
  });

  test('is not kept alive by one with ref: false, nor by one that was given up', () => {
    expect(run("waiter.waitAsync(0, { ref: false }).then(() => console.log('woken'));")).toBe('end\n');
    expect(run("waiter.waitAsync(0, { ref: false, timeout: 1e6 }).then(() => console.log('woken'));")).toBe(
      'end\n',
    );
    expect(
      run(
        "const c = new AbortController(); waiter.waitAsync(0, { signal: c.signal }).catch(() => console.log('given up')); c.abort();",
      ),
    ).toBe('given up\nend\n');
  });
});

test.each([
  ['pass', 4],
  ['pass-async', 3],
] as const)(
  'threads that %s a turn on, more than cores, in a storm of stray wakes: none is lost',
  async (role, threads) => {
    const rounds = long ? 20_000 : 300;
    const words = new Int32Array(new SharedArrayBuffer(SHARED_WORDS * 4));
    const storm = start({ words, role: 'storm' });
    const workers = Array.from({ length: threads }, (_, index) =>
      start({ words, role, index, threads, rounds }),
    );
    await Promise.all(workers.map((worker) => once(worker, 'exit')));
    Atomics.store(words, STOP, 1);
    await once(storm, 'exit');
    expect(words[ROUNDS]).toBe(threads * rounds);
    expect(words[TURN]).toBe(threads * rounds);
  },
);
