import { describe, expect, it } from 'vitest';
import { formatDigits, formatNs, formatValue } from './format.js';

describe('formatDigits', () => {
  it.each([
    [0, '0'],
    [0.00021, '0.00021'],
    [0.0114, '0.011'],
    [0.523, '0.52'],
    [13.44, '13.4'],
    [1250.4, '1250'],
  ])('writes %d as %s', (value, text) => {
    expect(formatDigits(value)).toBe(text);
  });
});

describe('the units', () => {
  it('fit the value', () => {
    expect(formatNs(0.5)).toBe('0.50 ns');
    expect(formatNs(51_600)).toBe('51.6 µs');
    expect(formatValue('rate', 9.32e6)).toBe('9.32 M/s');
    expect(formatValue('bandwidth', 2.5e10)).toBe('25.0 GB/s');
  });
});
