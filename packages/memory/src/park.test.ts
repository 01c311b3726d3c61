import { describe, expect, test } from 'vitest';
import { countingPlatform } from './counting-platform.js';
import { parkWhile, runBlocking } from './park.js';
import { type Platform, realPlatform } from './platform.js';
import type { Steps } from './steps.js';

const word = () => new Int32Array(new SharedArrayBuffer(4));

/** A platform whose clock moves only while it waits, and whose waits end as the script says. */
function scripted(waits: { takesMs: number; wake?: () => void }[], log: number[] = []): Platform {
  let nowMs = 0;
  return {
    ...realPlatform,
    now: () => nowMs,
    atomics: {
      ...countingPlatform().atomics,
      wait(_words, _index, _expected, timeoutMs = Infinity) {
        const next = waits.shift() ?? { takesMs: timeoutMs };
        log.push(timeoutMs);
        nowMs += Math.min(next.takesMs, timeoutMs);
        next.wake?.();
        return next.takesMs >= timeoutMs ? 'timed-out' : 'ok';
      },
    },
  };
}

/** Done when the word is not 0; counts its calls. */
class UntilSet implements Steps<string> {
  readonly calls: string[] = [];
  readonly #words: Int32Array;

  constructor(words: Int32Array) {
    this.#words = words;
  }

  begin() {
    this.calls.push('begin');
    return this.#look();
  }
  onWake() {
    this.calls.push('wake');
    return this.#look();
  }
  onTimeout() {
    this.calls.push('timeout');
    return { done: true, value: 'gave up' } as const;
  }
  onAbort() {
    this.calls.push('abort');
  }
  #look() {
    return this.#words[0]
      ? ({ done: true, value: 'set' } as const)
      : ({ done: false, index: 0, expected: 0 } as const);
  }
}

describe('parkWhile', () => {
  test('keeps its deadline across stray wakes (LK-03)', () => {
    const log: number[] = [];
    const platform = scripted([{ takesMs: 10 }, { takesMs: 10 }, { takesMs: 10 }], log);
    expect(parkWhile(word(), 0, 0, 35, platform)).toBe(false);
    expect(log).toEqual([35, 25, 15, 5]);
  });

  test('ends when the word differs, with or without a wait', () => {
    const words = word();
    const platform = scripted([
      { takesMs: 1 },
      {
        takesMs: 1,
        wake() {
          words[0] = 1;
        },
      },
    ]);
    expect(parkWhile(words, 0, 0, Infinity, platform)).toBe(true);
    expect(parkWhile(words, 0, 0, 0, platform)).toBe(true);
  });

  test('costs 1 load, then 1 wait and 1 load a park', () => {
    const counting = countingPlatform(scripted([{ takesMs: 1 }, { takesMs: 1 }]));
    parkWhile(word(), 0, 0, 3, counting);
    expect(counting.counts()).toEqual({ load: 4, wait: 3 });
  });
});

describe('runBlocking', () => {
  test('looks again after each wake, and keeps its deadline (LK-03)', () => {
    const words = word();
    const log: number[] = [];
    const steps = new UntilSet(words);
    expect(runBlocking(steps, words, scripted([{ takesMs: 10 }, { takesMs: 10 }], log), 25)).toBe('gave up');
    expect(log).toEqual([25, 15, 5]);
    expect(steps.calls).toEqual(['begin', 'wake', 'wake', 'wake', 'timeout']);
  });

  test.each([0, -5])('with timeout %s tries once and does not sleep', (timeout) => {
    const words = word();
    const log: number[] = [];
    const steps = new UntilSet(words);
    expect(runBlocking(steps, words, scripted([], log), timeout)).toBe('gave up');
    expect(log).toEqual([]);
    expect(steps.calls).toEqual(['begin', 'timeout']);
  });

  test('takes what came with the last wake', () => {
    const words = word();
    expect(
      runBlocking(
        new UntilSet(words),
        words,
        scripted([{ takesMs: 25, wake: () => Atomics.store(words, 0, 1) }]),
        25,
      ),
    ).toBe('set');
  });

  test('throws before the first step on a thread that must not block, done or not (LC-03)', () => {
    const words = word();
    words[0] = 1;
    const steps = new UntilSet(words);
    expect(() => runBlocking(steps, words, { ...realPlatform, canBlock: () => false })).toThrow(
      expect.objectContaining({ code: 'ERR_HEDDLE_MUST_NOT_BLOCK' }),
    );
    expect(() => runBlocking(steps, words, realPlatform, Number.NaN)).toThrow(RangeError);
    expect(steps.calls).toEqual([]);
  });
});
