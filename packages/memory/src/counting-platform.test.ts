import { expect, test } from 'vitest';
import { countingPlatform } from './counting-platform.js';
import { realPlatform } from './platform.js';

test('counts what goes through it, and passes it on', () => {
  const platform = countingPlatform();
  const words = new Int32Array(new SharedArrayBuffer(8));
  platform.atomics.store(words, 1, 5);
  platform.atomics.add(words, 1, 2);
  expect(platform.atomics.load(words, 1)).toBe(7);
  platform.atomics.load(words, 0);
  expect(platform.counts()).toEqual({ store: 1, add: 1, load: 2 });
  expect(platform.total()).toBe(4);
  platform.reset();
  expect(platform.counts()).toEqual({});
  expect(platform.total()).toBe(0);
});

test('offers no waitAsync where the inner platform has none', () => {
  const { waitAsync: _, ...atomics } = Object.fromEntries(
    Reflect.ownKeys(Atomics).map((name) => [name, Reflect.get(Atomics, name)]),
  );
  const platform = countingPlatform({ ...realPlatform, atomics: atomics as never });
  expect(platform.atomics.waitAsync).toBeUndefined();
});
