import { describe, expect, it } from 'vitest';
import { aloneSegment } from './alone-segment.js';

describe('a segment for one structure', () => {
  it.each([
    [4, 0, 0],
    [1, 128, 1],
    [100_000, 3 * 4096, 3],
  ])('has room for a body of %d bytes and %d bytes more in %d ranges', (body, space, ranges) => {
    const segment = aloneSegment(body, space, ranges);
    segment.createStructure({ name: 'one', layout: { kind: 'one', version: 1 }, byteLength: body });
    for (let i = 0; i < ranges; i++) segment.allocate(space / ranges);
    expect(segment.space.usage().free).toBeLessThan(2048);
    expect(segment.byteLength).toBeLessThan(body + space + 16_384);
    segment.detach();
  });

  it.each([2 ** 24 + 1, 2 ** 27, 2 ** 27 + 4097, 2 ** 30, 2 ** 30 + 128])(
    'has room for a body of %d bytes, and as much more, which the space rounds up',
    (byteLength) => {
      const segment = aloneSegment(byteLength, byteLength, 1);
      segment.createStructure({ name: 'one', layout: { kind: 'one', version: 1 }, byteLength });
      segment.allocate(byteLength);
      expect(segment.byteLength).toBeLessThan(2 * byteLength * (1 + 2 ** -14) + 16_384);
      segment.detach();
    },
  );

  it('refuses a bad size', () => {
    expect(() => aloneSegment(-5000)).toThrow(RangeError);
    expect(() => aloneSegment(Number.NaN)).toThrow(RangeError);
  });
});
