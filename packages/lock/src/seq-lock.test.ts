import { realPlatform } from '@heddle/memory';
import { countingPlatform } from '@heddle/memory/counting';
import { expect, test } from 'vitest';
import { Segment } from './index.js';
import { SeqLock } from './seq-lock.js';
import { copyStride, seqLockLayout } from './seq-lock.layout.js';

function make(length: number, platform = realPlatform) {
  const words = new Int32Array(new SharedArrayBuffer(SeqLock.byteLengthFor({ length })));
  words[seqLockLayout.offsets.length] = length;
  const of = (token: number) => new SeqLock({ words, token, platform });
  return { words, of, lock: of(1) };
}

test('what is written is read, and updates build on it', async () => {
  const { lock, of } = make(3);
  expect([...lock.read()]).toEqual([0, 0, 0]);
  lock.write([1, 2, 3]);
  lock.update((values) => {
    values[0] = values[1]! + values[2]!;
  });
  await lock.writeAsync([...lock.read()].map((value) => value * 2));
  await lock.updateAsync((values) => values.reverse());
  expect([...of(2).read()]).toEqual([6, 4, 10]);
  expect(lock.version).toBe(4);
});

test('an update that throws changes nothing, and one in another is refused', () => {
  const { lock } = make(1);
  expect(() =>
    lock.update((values) => {
      values[0] = 7;
      throw new Error('body');
    }),
  ).toThrow('body');
  expect(() => lock.update(() => lock.write([1]))).toThrow(
    expect.objectContaining({ code: 'ERR_HEDDLE_RELOCK' }),
  );
  expect([...lock.read()]).toEqual([0]);
  lock.write([1]);
});

test('a read puts the payload where it is told, and costs a load a word and two more', () => {
  const platform = countingPlatform();
  const { lock } = make(4, platform);
  const target = new Int32Array(6);
  platform.reset();
  expect(lock.read(target)).toBe(target);
  expect(platform.counts()).toEqual({ load: 6 });
  platform.reset();
  lock.write([1, 2, 3, 4]);
  expect(platform.counts()).toEqual({ compareExchange: 2, load: 1, store: 6 });
});

test('after many disturbed reads the reader takes the lock, or says so where it must not block', () => {
  const disturbing = (canBlock: boolean) => {
    const { words } = made;
    // At each read of the payload two more writes begin, as a very fast writer would do.
    const load = (array: Int32Array, index: number) => {
      if (index === seqLockLayout.offsets.begun) return words[seqLockLayout.offsets.version]! + 2;
      return Atomics.load(array, index);
    };
    return { ...realPlatform, canBlock: () => canBlock, atomics: withLoad(load) };
  };
  const made = make(1);
  made.lock.write([5]);
  const patient = new SeqLock({ words: made.words, token: 2, platform: disturbing(true) });
  expect([...patient.read()]).toEqual([5]);
  const impatient = new SeqLock({ words: made.words, token: 2, platform: disturbing(false) });
  expect(() => impatient.read()).toThrow(expect.objectContaining({ code: 'ERR_HEDDLE_TIMED_OUT' }));
});

function withLoad(load: (words: Int32Array, index: number) => number) {
  const atomics = Object.create(realPlatform.atomics);
  return Object.defineProperty(atomics, 'load', { value: load });
}

test('the version wraps past 2^31 and 2^32', () => {
  for (const preset of [2 ** 31 - 1, -1]) {
    const { words, lock } = make(1);
    words[seqLockLayout.offsets.version] = preset;
    words[seqLockLayout.offsets.begun] = preset;
    for (let value = 1; value <= 4; value++) {
      lock.write([value]);
      expect([...lock.read()]).toEqual([value]);
    }
    expect(lock.version).toBe((preset + 4) >>> 0);
  }
});

test('a writer that dies half way changes nothing, and the next one goes on', () => {
  const { words, lock, of } = make(2);
  lock.write([1, 1]);
  const dying = of(2);
  expect(() =>
    dying.update(() => {
      words[seqLockLayout.offsets.begun]!++;
      words[seqLockLayout.wordCount]! = 9;
      lock.recover(2);
      expect([...lock.read()]).toEqual([1, 1]);
      lock.write([3, 3]);
      throw new Error('dead');
    }),
  ).toThrow();
  expect([...lock.read()]).toEqual([3, 3]);
});

test('it is created, opened by name and made from a handle', () => {
  using segment = Segment.create({ byteLength: 2 ** 20 });
  const created = SeqLock.create(segment, { name: 'pose', length: 40 });
  created.write(Array.from({ length: 40 }, (_, i) => i));
  expect(SeqLock.open(segment, 'pose').read()[39]).toBe(39);
  using again = SeqLock.from(structuredClone(created.handle));
  expect(again.length).toBe(40);
  using alone = new SeqLock({ length: 1 });
  alone.write([1]);
  expect(copyStride(33)).toBe(64);
});

test('bad lengths are refused before anything changes', () => {
  for (const length of [0, -1, 1.5, 2 ** 20 + 1]) expect(() => new SeqLock({ length })).toThrow(RangeError);
  const { lock } = make(2);
  expect(() => lock.write([1])).toThrow(RangeError);
  expect(() => lock.read(new Int32Array(1))).toThrow(RangeError);
  expect(lock.version).toBe(0);
});
