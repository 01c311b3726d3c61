import fc from 'fast-check';
import { expect, test } from 'vitest';
import { hashWords, packText, unpackText } from './packed-text.js';

test('text comes back as it is, or is refused', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 16 }), (text) => {
      let words: Int32Array;
      try {
        words = packText('A text', text, 16);
      } catch (error) {
        expect(text === '' || text.includes('\0') || !text.isWellFormed()).toBe(true);
        expect(error).toBeInstanceOf(TypeError);
        return;
      }
      expect(unpackText(words)).toBe(text);
    }),
  );
});

test('a byte order mark at the beginning stays', () => {
  expect(unpackText(packText('A text', '\ufeffname', 4))).toBe('\ufeffname');
});

test('text may fill the words to the last byte, and not one more', () => {
  expect(unpackText(packText('A text', 'x'.repeat(64), 16))).toBe('x'.repeat(64));
  expect(() => packText('A text', 'x'.repeat(65), 16)).toThrow(RangeError);
  // 22 characters of 3 bytes
  expect(() => packText('A text', '€'.repeat(22), 16)).toThrow(/at most 64 bytes in UTF-8, .* has 66/);
});

test.each([undefined, null, 5, {}])('%s is no text', (value) => {
  expect(() => packText('A text', value as never, 16)).toThrow(TypeError);
});

test('half a surrogate pair is refused: it would come back as another name', () => {
  expect(() => packText('A text', 'a\ud800', 16)).toThrow(TypeError);
});

test('hashes are unsigned', () => {
  fc.assert(fc.property(fc.int32Array(), (words) => hashWords(words) >= 0 && hashWords(words) < 2 ** 32));
});
