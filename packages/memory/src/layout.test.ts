import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { structureLayout } from './directory.layout.js';
import { defineLayout, field, LINE_BYTES, roundUp, WORD_BYTES } from './layout.js';
import { regionsOf, segmentLayout } from './segment.layout.js';
import { spaceLayout } from './space.layout.js';
import { threadRowLayout } from './thread-table.layout.js';

const LINE_WORDS = LINE_BYTES / WORD_BYTES;

describe('defineLayout', () => {
  test('places fields in order, and starts a line where the writer changes', () => {
    const { offsets, wordCount, byteLength } = defineLayout('ring', 1, {
      capacity: field('creator'),
      size: field('creator', 2),
      tail: field('producer'),
      head: field('consumer'),
    });
    expect(offsets).toEqual({ capacity: 0, size: 1, tail: 32, head: 64 });
    expect({ wordCount, byteLength }).toEqual({ wordCount: 96, byteLength: 384 });
  });

  test('starts a line as well where a writer comes back', () => {
    const { offsets } = defineLayout('twice', 1, { a: field('x'), b: field('y'), c: field('x') });
    expect(offsets).toEqual({ a: 0, b: 32, c: 64 });
  });

  test('never lets two writers share a line, nor a neighbour in the segment (PF-08)', () => {
    const fields = fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.integer({ min: 1, max: 70 })), {
      minLength: 1,
      maxLength: 12,
    });
    fc.assert(
      fc.property(fields, (declared) => {
        const layout = defineLayout(
          'any',
          1,
          Object.fromEntries(declared.map(([writer, length], i) => [`f${i}`, field(writer, length)])),
        );
        const writerOfLine = new Map<number, string>();
        let end = 0;
        for (const { offset, length, writer } of layout.fields) {
          expect(offset).toBeGreaterThanOrEqual(end);
          end = offset + length;
          for (let word = offset; word < end; word++) {
            const line = Math.floor(word / LINE_WORDS);
            expect(writerOfLine.get(line) ?? writer).toBe(writer);
            writerOfLine.set(line, writer);
          }
        }
        expect(layout.wordCount % LINE_WORDS).toBe(0);
        expect(layout.wordCount).toBeGreaterThanOrEqual(end);
        expect(layout.wordCount).toBeLessThan(end + LINE_WORDS);
      }),
    );
  });

  test.each([
    [() => defineLayout('', 1, { a: field('x') }), TypeError],
    [() => defineLayout('k', 0, { a: field('x') }), RangeError],
    [() => defineLayout('k', 256, { a: field('x') }), RangeError],
    [() => defineLayout('k', 1.5, { a: field('x') }), RangeError],
    [() => defineLayout('k', 1, {}), TypeError],
    [() => field(''), TypeError],
    [() => field('x', 0), RangeError],
    [() => field('x', 1.5), RangeError],
    [() => field('x', Number.NaN), RangeError],
  ])('refuses %s', (declare, error) => {
    expect(declare).toThrow(error);
  });

  test('cannot be changed afterwards', () => {
    const { offsets } = defineLayout('k', 1, { a: field('x') });
    expect(() => Object.assign(offsets, { a: 1 })).toThrow(TypeError);
  });
});

describe('the layouts of a segment', () => {
  test.each([segmentLayout, threadRowLayout, structureLayout, spaceLayout])(
    '$kind is whole lines',
    (layout) => {
      expect(layout.wordCount % LINE_WORDS).toBe(0);
    },
  );

  test('words that threads change lie a line apart from those that are written once', () => {
    const { state, janitor, deaths } = segmentLayout.offsets;
    expect(janitor - state).toBeGreaterThanOrEqual(LINE_WORDS - state);
    expect(deaths - janitor).toBeGreaterThanOrEqual(LINE_WORDS);
  });

  test('each part starts on a line', () => {
    const regions = regionsOf({ maxThreads: 2, maxStructures: 2, maxRanges: 8 });
    for (const start of Object.values(regions)) expect(start % LINE_WORDS).toBe(0);
  });
});

test('roundUp is exact beyond 32 bits (PL-11)', () => {
  expect(roundUp(2 ** 33 + 1, 128)).toBe(2 ** 33 + 128);
  expect(roundUp(2 ** 52, 128)).toBe(2 ** 52);
  expect(roundUp(0, 128)).toBe(0);
});
