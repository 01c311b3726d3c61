import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { countingPlatform } from './counting-platform.js';
import { realPlatform } from './platform.js';
import { type Range, Space } from './space.js';
import {
  ENTRY_STATUS,
  generationOf,
  MAX_MANTISSA,
  nextGeneration,
  packSize,
  packStatus,
  RANGE_PHASE,
  representableUnits,
  representableWithin,
  roundingOf,
  spaceLayout,
  UNIT_BYTES,
  unitsOf,
} from './space.layout.js';

const OWNER = 7;
const BASE = 1024;

function makeSpace(units: number, maxRanges = 32, platform = realPlatform) {
  const words = new Int32Array(new SharedArrayBuffer(Space.wordCountFor(maxRanges) * 4));
  return { words, space: new Space(words, BASE, units * UNIT_BYTES, platform) };
}

function overlap(a: Range, b: Range): boolean {
  return a.byteOffset < b.byteOffset + b.byteLength && b.byteOffset < a.byteOffset + a.byteLength;
}

describe('size words', () => {
  test('hold every number of units up to 16 MiB, and round up within 1 in 65,536 beyond', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 2 ** 45 }), fc.integer({ min: 1, max: 512 }), (units, owner) => {
        const rounded = representableUnits(units);
        expect(unitsOf(packSize(rounded, owner))).toBe(rounded);
        expect(rounded).toBeGreaterThanOrEqual(units);
        expect(rounded - units).toBeLessThanOrEqual(units <= MAX_MANTISSA ? 0 : units / 65_536);
        expect(representableUnits(representableWithin(units))).toBe(representableWithin(units));
        expect(representableWithin(units)).toBeLessThanOrEqual(units);
      }),
    );
  });

  test('of ranges together round up by no more than what is set aside for it', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 2 ** 25 }), { minLength: 1, maxLength: 20 }),
        (ranges) => {
          const sum = (numbers: number[]) => numbers.reduce((all, number) => all + number, 0);
          expect(sum(ranges.map(representableUnits)) - sum(ranges)).toBeLessThanOrEqual(
            roundingOf(sum(ranges)),
          );
        },
      ),
    );
  });
});

describe('allocate', () => {
  test('gives ranges of whole lines, one after the other', () => {
    const { space } = makeSpace(16);
    expect(space.allocate(1, OWNER)).toEqual({ index: 0, generation: 0, byteOffset: BASE, byteLength: 128 });
    expect(space.allocate(129, OWNER)).toMatchObject({ index: 1, byteOffset: BASE + 128, byteLength: 256 });
  });

  test.each([128, 256, 4096, 65_536])('aligns to %s', (align) => {
    const { space } = makeSpace(4096);
    space.allocate(1, OWNER);
    expect(space.allocate(1, OWNER, align).byteOffset % align).toBe(0);
  });

  test('gives what alignment skipped to others', () => {
    const { space } = makeSpace(64);
    space.allocate(1, OWNER, 4096);
    expect(space.allocate(24 * UNIT_BYTES, OWNER)).toMatchObject({ byteOffset: BASE, generation: 1 });
    expect(space.usage()).toMatchObject({ used: 25 * UNIT_BYTES });
  });

  test('states asked, free and capacity when nothing is left, and changes nothing', () => {
    const { space, words } = makeSpace(4);
    space.allocate(300, OWNER);
    const before = words.slice();
    expect(() => space.allocate(129, OWNER)).toThrow(
      expect.objectContaining({
        code: 'ERR_HEDDLE_OUT_OF_SPACE',
        message: expect.stringContaining('Asked for 129 bytes, 128 of 512 are free and 128 in one piece'),
        facts: { asked: 129, free: 128, capacity: 512, largest: 128 },
      }),
    );
    expect(words).toEqual(before);
  });

  test('takes nothing for an alignment that leaves too little behind it', () => {
    const { space, words } = makeSpace(64);
    expect(() => space.allocate(41 * UNIT_BYTES, OWNER, 4096)).toThrow(/Asked for/);
    expect(words.every((word) => word === 0)).toBe(true);
    expect(space.allocate(64 * UNIT_BYTES, OWNER).byteLength).toBe(64 * UNIT_BYTES);
  });

  test('says so when ranges run out before space does', () => {
    const { space } = makeSpace(1000, 8);
    for (let i = 0; i < space.maxRanges; i++) space.allocate(1, OWNER);
    expect(() => space.allocate(1, OWNER)).toThrow(/all 8 ranges are in use: .* larger maxRanges/);
    expect(space.usage()).toMatchObject({ ranges: 8, largest: 0 });
  });

  test('does not leave an alignment gap behind in the last ranges', () => {
    const { space } = makeSpace(1000, 8);
    for (let i = 0; i < 7; i++) space.allocate(1, OWNER);
    expect(() => space.allocate(1, OWNER, 4096)).toThrow(/Asked for/);
    expect(space.usage().ranges).toBe(7);
  });

  test.each([0, -1, 1.5, Number.NaN, Infinity, 2 ** 53, 5n, '5'])('refuses %s bytes', (byteLength) => {
    const { space } = makeSpace(4);
    expect(() => space.allocate(byteLength as number, OWNER)).toThrow(RangeError);
  });

  test.each([0, 3, -128, 1.5, Number.NaN, Infinity, 2 ** 31])('refuses alignment %s', (align) => {
    const { space } = makeSpace(4);
    expect(() => space.allocate(1, OWNER, align)).toThrow(RangeError);
  });

  test('what usage calls the largest can be had', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 2 ** 25 }), (units) => {
        const { space } = makeSpace(units);
        const { largest } = space.usage();
        expect(space.allocate(largest, OWNER).byteLength).toBe(largest);
      }),
    );
  });

  test('offsets are exact beyond 4 GiB (PL-11)', () => {
    const { space } = makeSpace(2 ** 33 / UNIT_BYTES);
    space.allocate(3 * 2 ** 30, OWNER);
    const far = space.allocate(2 ** 31, OWNER);
    expect(far.byteOffset).toBe(BASE + 3 * 2 ** 30);
    const farther = space.allocate(2 ** 30, OWNER);
    expect(farther).toMatchObject({ byteOffset: BASE + 5 * 2 ** 30, byteLength: 2 ** 30 });
  });
});

describe('the life of a range', () => {
  test('retire, free, then given out with the next generation', () => {
    const { space } = makeSpace(4);
    const range = space.allocate(512, OWNER);
    expect(space.keep(range)).toBe(true);
    expect(space.isLive(range)).toBe(true);
    expect(space.retire(range)).toBe(true);
    expect(space.isLive(range)).toBe(false);
    expect(space.usage()).toMatchObject({ used: 512, retired: 512 });
    expect(() => space.allocate(1, OWNER)).toThrow(/Asked for/);
    space.free(range);
    expect(space.allocate(512, OWNER)).toEqual({ ...range, generation: 1 });
  });

  test('a stale range changes nothing', () => {
    const { space } = makeSpace(4);
    const stale = space.allocate(512, OWNER);
    space.discard(stale);
    const range = space.allocate(512, OWNER);
    expect(space.keep(stale)).toBe(false);
    expect(space.retire(stale)).toBe(false);
    expect(() => space.free(stale)).toThrow(expect.objectContaining({ code: 'ERR_HEDDLE_RANGE_STATE' }));
    expect(() => space.discard(stale)).toThrow(/generation 0 is not in use: it is live, generation 1/);
    expect(space.isLive(range)).toBe(true);
  });

  test('a range that is live cannot be freed, one that is retired not kept', () => {
    const { space } = makeSpace(4);
    const range = space.allocate(512, OWNER);
    expect(() => space.free(range)).toThrow(/is not retired: it is fresh/);
    space.retire(range);
    expect(space.keep(range)).toBe(false);
    expect(space.retire(range)).toBe(false);
  });

  test('belongs to its thread until it is kept, and again while that frees it', () => {
    const { space } = makeSpace(8);
    const kept = space.allocate(1, OWNER);
    const loose = space.allocate(1, OWNER);
    space.allocate(1, OWNER + 1);
    space.keep(kept);
    expect(space.owned(OWNER)).toEqual([loose]);
    space.retire(kept, OWNER);
    expect(space.owned(OWNER)).toEqual([kept, loose]);
  });

  test('generations wrap to 1: generation 0 is memory that nobody has used', () => {
    const { space, words } = makeSpace(4);
    space.discard(space.allocate(512, OWNER));
    const status = spaceLayout.wordCount + ENTRY_STATUS;
    words[status] = packStatus(2 ** 20 - 1, RANGE_PHASE.free, 0);
    expect(generationOf(words[status]!)).toBe(2 ** 20 - 1);
    expect(space.allocate(512, OWNER).generation).toBe(1);
    expect(nextGeneration(1)).toBe(2);
  });

  test('keep succeeds where another thread keeps it at the same time, retire where one keeps it', () => {
    const words = new Int32Array(new SharedArrayBuffer(Space.wordCountFor(8) * 4));
    const others = new Space(words, BASE, 512);
    let interfere: (() => void) | undefined;
    const space = new Space(words, BASE, 512, {
      ...realPlatform,
      atomics: {
        ...countingPlatform().atomics,
        compareExchange(...args) {
          interfere?.();
          return Atomics.compareExchange(...args);
        },
      },
    });
    const range = others.allocate(1, OWNER);
    interfere = () => {
      interfere = undefined;
      others.keep(range);
    };
    expect(space.retire(range, 9)).toBe(true);
  });

  test('asking for a range that was never given out is an error', () => {
    expect(() => makeSpace(4).space.at(0)).toThrow(RangeError);
    expect(() => makeSpace(4).space.at(99)).toThrow(RangeError);
  });
});

test('an allocation costs 2 loads an entry, then up to 7 loads, 2 stores and 1 CAS', () => {
  const platform = countingPlatform();
  const { space } = makeSpace(64, 32, platform);
  space.allocate(1, OWNER);
  space.allocate(1, OWNER);
  platform.reset();
  space.allocate(1, OWNER);
  const { load = 0, ...writes } = platform.counts();
  expect(writes).toEqual({ store: 2, compareExchange: 1 });
  expect(load).toBeLessThanOrEqual(2 * 2 + 7 + 1);
});

test('agrees with a simple model: ranges do not overlap, are aligned, and add up', () => {
  const request = fc.record({
    bytes: fc.integer({ min: 1, max: 40 * UNIT_BYTES }),
    align: fc.constantFrom(1, 128, 256, 1024),
    /** Which of the live ranges to give back first, if any. */
    release: fc.option(fc.nat(), { nil: undefined }),
  });
  fc.assert(
    fc.property(fc.array(request, { maxLength: 60 }), (requests) => {
      const { space } = makeSpace(128, 16);
      const live: Range[] = [];
      for (const { bytes, align, release } of requests) {
        if (release !== undefined && live.length > 0) {
          const [range] = live.splice(release % live.length, 1);
          space.retire(range!);
          space.free(range!);
        }
        try {
          const range = space.allocate(bytes, OWNER, align);
          expect(range.byteLength).toBeGreaterThanOrEqual(bytes);
          expect(range.byteOffset % Math.max(align, UNIT_BYTES)).toBe(0);
          expect(range.byteOffset).toBeGreaterThanOrEqual(BASE);
          expect(range.byteOffset + range.byteLength).toBeLessThanOrEqual(BASE + space.capacity);
          for (const other of live) expect(overlap(range, other)).toBe(false);
          live.push(range);
        } catch (error) {
          expect(error).toMatchObject({ code: 'ERR_HEDDLE_OUT_OF_SPACE' });
          if (align <= UNIT_BYTES) expect(bytes).toBeGreaterThan(space.usage().largest);
        }
        const used = live.reduce((sum, { byteLength }) => sum + byteLength, 0);
        expect(space.usage()).toMatchObject({ used, free: space.capacity - used });
        expect(space.owned(OWNER).toSorted((a, b) => a.byteOffset - b.byteOffset)).toEqual(
          live.toSorted((a, b) => a.byteOffset - b.byteOffset),
        );
      }
    }),
  );
});
