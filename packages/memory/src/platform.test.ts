import { execFileSync } from 'node:child_process';
import { afterEach, expect, test, vi } from 'vitest';
import { realPlatform } from './platform.js';

afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

test('uses the Atomics object of the engine as it is, so that the seam costs nothing', () => {
  expect(realPlatform.atomics).toBe(Atomics);
});

test('random numbers are unsigned words, and no shared view is filled (PF-01)', () => {
  const strict = crypto.getRandomValues.bind(crypto);
  vi.spyOn(crypto, 'getRandomValues').mockImplementation((array) => {
    if ((array as Uint32Array).buffer instanceof SharedArrayBuffer) throw new TypeError('shared');
    return strict(array);
  });
  for (let i = 0; i < 100; i++) {
    const value = realPlatform.random();
    expect(Number.isInteger(value) && value >= 0 && value < 2 ** 32).toBe(true);
  }
});

test('the clock never goes back', () => {
  let last = realPlatform.now();
  for (let i = 0; i < 1000; i++) {
    const now = realPlatform.now();
    expect(now).toBeGreaterThanOrEqual(last);
    last = now;
  }
});

test('a delay longer than a timer can take calls back at the longest one, not at once', () => {
  vi.useFakeTimers();
  const called = vi.fn();
  realPlatform.schedule(called, 2 ** 40);
  vi.advanceTimersByTime(2 ** 31 - 2);
  expect(called).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  expect(called).toHaveBeenCalledOnce();
});

test('a callback that was cancelled does not come', () => {
  vi.useFakeTimers();
  const called = vi.fn();
  realPlatform.schedule(called, 10)();
  vi.advanceTimersByTime(20);
  expect(called).not.toHaveBeenCalled();
});

test('schedule lets the process end, keepAlive does not until it is released', () => {
  const run = (body: string) =>
    execFileSync(
      process.execPath,
      [
        '--input-type=module',
        '--eval',
        `const { realPlatform } = await import(${JSON.stringify(new URL('./platform.js', import.meta.url).href)});
         process.on('exit', () => console.log('end'));
         ${body}`,
      ],
      { encoding: 'utf8', timeout: 20_000 },
    );
  expect(run("realPlatform.schedule(() => console.log('late'), 1e6);")).toBe('end\n');
  expect(
    run(
      "const release = realPlatform.keepAlive(); setTimeout(() => { console.log('held'); release(); }, 5).unref();",
    ),
  ).toBe('held\nend\n');
  // From a timer, with nothing else to come: the event loop would sleep before it turns.
  expect(
    run(
      "const release = realPlatform.keepAlive(); setTimeout(() => realPlatform.schedule(() => { console.log('turn'); release(); }, 0), 5);",
    ),
  ).toBe('turn\nend\n');
});

test.each([
  ['schedule after 0 ms', (callback: () => void) => realPlatform.schedule(callback, 0)],
  ['turn', realPlatform.turn],
] as const)('%s calls back in the next turn, and can be cancelled', async (_, next) => {
  const order: string[] = [];
  next(() => order.push('cancelled'))();
  const turn = new Promise<void>((resolve) => {
    next(() => {
      order.push('turn');
      resolve();
    });
  });
  await Promise.resolve();
  order.push('microtask');
  await turn;
  expect(order).toEqual(['microtask', 'turn']);
});

test('turn keeps the event loop from sleeping until then, schedule does not', async () => {
  const immediates = () => process.getActiveResourcesInfo().filter((what) => what === 'Immediate').length;
  const before = immediates();
  const cancelled = realPlatform.schedule(() => {}, 0);
  expect(immediates()).toBe(before);
  cancelled();
  const turned = new Promise<void>((resolve) => realPlatform.turn(resolve));
  expect(immediates()).toBe(before + 1);
  await turned;
  realPlatform.turn(() => {})();
  expect(immediates()).toBe(before);
});
