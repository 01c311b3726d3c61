import { describe, expect, it } from 'vitest';
import { explore } from './explore.js';
import type { SimulatedThread } from './simulated-thread.js';

/** Runs one thread alone and gives what it returned. */
function run(body: (thread: SimulatedThread) => unknown, words = 8): unknown {
  let result: unknown;
  const report = explore({
    name: 'views',
    words,
    threads: [body],
    check: ({ results }) => {
      result = results[0];
      return undefined;
    },
  });
  expect(report.failure).toBeNull();
  return result;
}

describe('views of all element types look at one memory', () => {
  it('words and bytes', () => {
    expect(
      run((thread) => {
        const bytes = thread.view(Uint8Array);
        thread.words[1] = 0x01020304;
        bytes[4] = 0xff;
        bytes[7] = 300;
        return [bytes.length, bytes[5], thread.words[1], thread.view(Uint32Array, 4, 1)[0]];
      }),
    ).toEqual([32, 3, 0x2c0203ff, 0x2c0203ff]);
  });

  it('floats and 64-bit integers', () => {
    expect(
      run((thread) => {
        const floats = thread.view(Float64Array, 8);
        floats[0] = 1.5;
        const big = thread.view(BigInt64Array, 16, 1);
        const before = thread.atomics.add(big, 0, -3n);
        const exchanged = thread.atomics.compareExchange(big, 0, -3n, 1n << 40n);
        return [
          floats[0],
          String(before),
          String(exchanged),
          String(big[0]),
          thread.words[5],
          thread.words[3],
        ];
      }),
    ).toEqual([1.5, '0', '-3', String(1n << 40n), 256, 0x3ff80000]);
  });

  it('values are coerced as the element type has it', () => {
    expect(
      run((thread) => {
        thread.words[0] = 2 ** 32 + 5.7;
        const clamped = thread.view(Uint8ClampedArray, 4, 1);
        clamped[0] = 999;
        const stored = thread.atomics.store(thread.view(Uint8Array, 8, 1), 0, 257);
        return [thread.words[0], clamped[0], stored, thread.words[2]];
      }),
    ).toEqual([5, 255, 257, 1]);
  });

  it('subarray, set, copyWithin, fill and slice are accesses to a range', () => {
    expect(
      run((thread) => {
        const { words } = thread;
        words.set([1, 2, 3, 4]);
        words.subarray(4).set(words.subarray(1, 3));
        words.copyWithin(6, 0, 2);
        words.subarray(0, 2).fill(9);
        return [...words.slice(), words.subarray(2, 5).length, words.subarray(-3)[0]];
      }),
    ).toEqual([9, 9, 3, 4, 2, 3, 1, 2, 3, 3]);
  });

  it('length, iteration and the methods of arrays work as on a real one', () => {
    expect(
      run((thread) => {
        const { words } = thread;
        words.set([5, 6, 7]);
        return [
          words instanceof Int32Array,
          words.length,
          words.byteLength,
          words.BYTES_PER_ELEMENT,
          words.indexOf(6),
          Array.from(words).join(),
          words.subarray(0, 3).reduce((sum, one) => sum + one, 0),
        ];
      }),
    ).toEqual([true, 8, 32, 4, 1, '5,6,7,0,0,0,0,0', 18]);
  });

  it('a view that does not fit is refused as by the engine', () => {
    expect(() => run((thread) => thread.view(Float64Array, 4))).toThrow();
    expect(() => run((thread) => thread.view(Int32Array, 0, 99))).toThrow();
  });

  it('bytes of one word that two threads write are no race', () => {
    const report = explore({
      name: 'bytes',
      words: 1,
      threads: [0, 1].map((index) => (thread: SimulatedThread) => {
        thread.view(Uint8Array)[index] = 1 + index;
      }),
      check: ({ words }) => (words[0] === 0x201 ? undefined : `${words[0]}`),
    });
    expect(report.failure).toBeNull();
  });

  it('a byte and its word are one place: an atomic and a plain access of them race', () => {
    const report = explore({
      name: 'mixed',
      words: 1,
      threads: [
        (thread: SimulatedThread) => {
          thread.view(Uint8Array)[2] = 1;
        },
        ({ words, atomics }: SimulatedThread) => atomics.load(words, 0),
      ],
    });
    expect(report.failure?.kind).toBe('race');
  });
});
