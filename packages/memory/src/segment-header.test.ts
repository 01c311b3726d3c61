import { describe, expect, test } from 'vitest';
import { countingPlatform } from './counting-platform.js';
import { type Platform, realPlatform } from './platform.js';
import {
  BYTE_ORDER,
  GEOMETRY_LIMITS,
  MAGIC,
  packGeometry,
  STATE_READY,
  segmentLayout,
  unpackGeometry,
} from './segment.layout.js';
import { assertBlank, geometryFrom, initialise, readHeader } from './segment-header.js';

const BYTES = 64 * 1024;
const GEOMETRY = { maxThreads: 4, maxStructures: 4, maxRanges: 8 };
const { magic, geometry, idLow, state, version, sizeLow, byteOrder } = segmentLayout.offsets;

const blank = () => new Int32Array(new SharedArrayBuffer(BYTES));
const code = (name: string) => expect.objectContaining({ code: `ERR_HEDDLE_${name}` });

class Died extends Error {}

/** A platform on which the thread dies at its n-th Atomics call, as `terminate()` may stop it. */
function dyingPlatform(deathAt: number): Platform {
  let calls = 0;
  const atomics = new Proxy(Atomics, {
    get(target, name) {
      const operation = Reflect.get(target, name);
      if (typeof operation !== 'function') return operation;
      return (...args: unknown[]) => {
        if (calls++ === deathAt) throw new Died();
        return operation.apply(target, args);
      };
    },
  });
  return { ...realPlatform, atomics };
}

/** The memory that a creator leaves which dies at its n-th call, undefined where it needs fewer. */
function leftBehind(deathAt: number): Int32Array | undefined {
  const words = blank();
  try {
    initialise(words, BYTES, GEOMETRY, dyingPlatform(deathAt));
  } catch (error) {
    if (error instanceof Died) return words;
    throw error;
  }
  return undefined;
}

function everyDeath(): Int32Array[] {
  const all: Int32Array[] = [];
  for (let at = 0; ; at++) {
    const words = leftBehind(at);
    if (!words) return all;
    all.push(words);
  }
}

describe('a creator that died (LC-06)', () => {
  test('dies at every one of its steps', () => {
    expect(everyDeath().length).toBeGreaterThanOrEqual(11);
  });

  test('is finished by one who attaches, or that one is told that nothing has begun', () => {
    for (const words of everyDeath()) {
      const begun = words[geometry] !== 0;
      const attach = () => initialise(words, BYTES, undefined, realPlatform, 0);
      if (begun) {
        attach();
        expect(readHeader(words, BYTES, realPlatform).geometry).toEqual(GEOMETRY);
      } else {
        expect(attach).toThrow(code('NOT_READY'));
        expect(words.every((word) => word === 0)).toBe(true);
      }
    }
  });

  test('is finished by another creator, with the sizes of the first', () => {
    for (const words of everyDeath()) {
      const begun = words[geometry] !== 0;
      const wanted = { maxThreads: 8, maxStructures: 8, maxRanges: 16 };
      initialise(words, BYTES, wanted, realPlatform);
      expect(readHeader(words, BYTES, realPlatform).geometry).toEqual(begun ? GEOMETRY : wanted);
    }
  });

  test('has an id that does not change when somebody finishes it', () => {
    for (const words of everyDeath()) {
      const id = words[idLow];
      initialise(words, BYTES, GEOMETRY, realPlatform);
      if (id !== 0) expect(words[idLow]).toBe(id);
      const { id: first } = readHeader(words, BYTES, realPlatform);
      initialise(words, BYTES, GEOMETRY, realPlatform);
      expect(readHeader(words, BYTES, realPlatform).id).toBe(first);
    }
  });

  test('never leaves memory that looks ready with a word missing', () => {
    for (const words of everyDeath()) {
      if (words[state] !== STATE_READY) continue;
      expect(readHeader(words, BYTES, realPlatform).geometry).toEqual(GEOMETRY);
    }
  });
});

describe('waiting for a creator', () => {
  test('ends with an error when the time is up', () => {
    expect(() => initialise(blank(), BYTES, undefined, realPlatform, 5)).toThrow(code('NOT_READY'));
  });

  test('ends at once on a thread that must not block', () => {
    const platform = { ...realPlatform, canBlock: () => false };
    expect(() => initialise(blank(), BYTES, undefined, platform, Infinity)).toThrow(code('NOT_READY'));
  });

  test('goes on when one commits, also if it dies before it can wake anybody', () => {
    const words = blank();
    let parks = 0;
    const platform: Platform = {
      ...realPlatform,
      atomics: {
        ...countingPlatform().atomics,
        wait() {
          if (++parks === 3) words[geometry] = packGeometry(GEOMETRY);
          return 'timed-out';
        },
      },
      now: () => parks * 100,
    };
    initialise(words, BYTES, undefined, platform, Infinity);
    expect(readHeader(words, BYTES, realPlatform).geometry).toEqual(GEOMETRY);
  });

  test('is told about a bad timeout also where there is nothing to wait for', () => {
    const words = blank();
    initialise(words, BYTES, GEOMETRY, realPlatform);
    expect(() => initialise(words, BYTES, undefined, realPlatform, Number.NaN)).toThrow(RangeError);
  });
});

describe('memory that is none of ours (LC-06)', () => {
  function readyWith(changes: Record<number, number>): Int32Array {
    const words = blank();
    initialise(words, BYTES, GEOMETRY, realPlatform);
    for (const [index, value] of Object.entries(changes)) words[Number(index)] = value;
    return words;
  }
  const open = (words: Int32Array, byteLength = BYTES) => {
    initialise(words, byteLength, undefined, realPlatform, 0);
    return readHeader(words, byteLength, realPlatform);
  };

  test('of another version', () => {
    expect(() => open(readyWith({ [version]: 9 }))).toThrow(
      expect.objectContaining({ code: 'ERR_HEDDLE_VERSION', facts: { version: 9, known: 1 } }),
    );
  });

  test('begun by another version, which is not finished by ours', () => {
    const words = blank();
    words[geometry] = packGeometry(GEOMETRY, 9);
    const before = words.slice();
    expect(() => open(words)).toThrow(code('VERSION'));
    expect(() => initialise(words, BYTES, GEOMETRY, realPlatform)).toThrow(code('VERSION'));
    expect(words).toEqual(before);
  });

  test('of the other byte order, by its mark or as a whole', () => {
    const swap = (word: number) => {
      const view = new DataView(new ArrayBuffer(4));
      view.setInt32(0, word, true);
      return view.getInt32(0, false);
    };
    expect(() => open(readyWith({ [byteOrder]: swap(BYTE_ORDER) }))).toThrow(code('BYTE_ORDER'));
    expect(() => open(readyWith({}).map(swap))).toThrow(code('BYTE_ORDER'));
  });

  test('of another size', () => {
    expect(() => open(readyWith({ [sizeLow]: 4096 }))).toThrow(
      expect.objectContaining({
        code: 'ERR_HEDDLE_SEGMENT_SIZE',
        facts: { recorded: 4096, byteLength: BYTES },
      }),
    );
  });

  test('with sizes that are none', () => {
    for (const word of [0, 1, -1, packGeometry({ ...GEOMETRY, maxRanges: 2 ** 30 })]) {
      expect(() => open(readyWith({ [geometry]: word }))).toThrow(code('NOT_A_SEGMENT'));
    }
  });

  test('random bytes, which stay as they are', () => {
    for (let i = 0; i < 40; i++) {
      const words = blank();
      for (let j = 0; j < 64; j++) words[j] = realPlatform.random() | 0;
      // By chance it might look begun by another version.
      words[geometry]! &= 0xffffff;
      if (i % 2) words[magic] = 0;
      if (i % 4 === 3) words[geometry] = 0;
      const before = words.slice();
      expect(() => open(words)).toThrow(expect.objectContaining({ code: expect.stringMatching(/NOT_/) }));
      expect(() => {
        assertBlank(words, GEOMETRY, realPlatform);
        initialise(words, BYTES, GEOMETRY, realPlatform);
      }).toThrow(code('NOT_A_SEGMENT'));
      expect(words.every((word, j) => word === before[j])).toBe(true);
    }
  });

  test('whose tables would not fit', () => {
    const words = blank();
    words[geometry] = packGeometry({ maxThreads: 512, maxStructures: 4096, maxRanges: 65_536 });
    expect(() => open(words)).toThrow(code('NOT_A_SEGMENT'));
  });
});

describe('sizes of tables', () => {
  test('are rounded up to powers of two within their limits', () => {
    expect(geometryFrom({})).toEqual({ maxThreads: 64, maxStructures: 256, maxRanges: 1024 });
    expect(geometryFrom({ maxThreads: 5, maxStructures: 1, maxRanges: 9 })).toEqual({
      maxThreads: 8,
      maxStructures: 2,
      maxRanges: 16,
    });
  });

  test.each(Object.entries(GEOMETRY_LIMITS))('%s', (name, { least, most }) => {
    for (const value of [0, -1, 1.5, Number.NaN, most + 1, '8', 8n]) {
      expect(() => geometryFrom({ [name]: value })).toThrow(RangeError);
    }
    for (const value of [least, most]) {
      const sizes = geometryFrom({ [name]: value });
      expect(unpackGeometry(packGeometry(sizes))).toEqual(sizes);
    }
  });
});

test('the state is the last word written', () => {
  const words = blank();
  const written: number[] = [];
  const platform = dyingPlatform(-1);
  const store = (view: Int32Array, index: number, value: number) => {
    written.push(index);
    return Atomics.store(view, index, value);
  };
  initialise(words, BYTES, GEOMETRY, {
    ...platform,
    atomics: { ...countingPlatform().atomics, store },
  });
  expect(written.at(-1)).toBe(state);
  expect(words[magic]).toBe(MAGIC);
});

test('a segment that is ready costs 2 loads to look at', () => {
  const words = blank();
  initialise(words, BYTES, GEOMETRY, realPlatform);
  const platform = countingPlatform();
  initialise(words, BYTES, undefined, platform, 1000);
  expect(platform.counts()).toEqual({ load: 2 });
});
