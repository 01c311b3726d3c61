import { describe, expect, it } from 'vitest';
import { isStable } from './warm-up.js';

describe('isStable', () => {
  it('wants two windows of slices', () => {
    expect(isStable([10, 10, 10, 10, 10])).toBe(false);
    expect(isStable([10, 10, 10, 10, 10, 10])).toBe(true);
  });

  it('is not deceived by code that is still getting faster', () => {
    expect(isStable([100, 90, 80, 70, 60, 50])).toBe(false);
  });

  it('looks at the last windows only', () => {
    expect(isStable([500, 100, 100, 101, 99, 100, 100])).toBe(true);
  });

  it('is not held up by one disturbed slice', () => {
    expect(isStable([100, 101, 100, 100, 900, 99])).toBe(true);
  });

  it('accepts what always jitters and goes nowhere', () => {
    expect(isStable([100, 130, 80, 90, 125, 110])).toBe(true);
  });
});
