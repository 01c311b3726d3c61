import { describe, expect, it } from 'vitest';
import { detectPinning, parseCoreList } from './pinning.js';

describe('parseCoreList', () => {
  it.each([
    ['0', [0]],
    ['0-3', [0, 1, 2, 3]],
    ['1,4-5,9', [1, 4, 5, 9]],
    ['', []],
    ['x', []],
  ])('reads "%s"', (list, cores) => {
    expect(parseCoreList(list === '' ? 'none' : list)).toEqual(cores);
  });
});

describe('detectPinning', () => {
  it('says that it was switched off', async () => {
    expect(await detectPinning(false)).toEqual({ available: false, detail: 'switched off', cores: [] });
  });

  it('names the tool and the cores, or the reason why there is none', async () => {
    const pinning = await detectPinning(true);
    expect(pinning.detail).not.toBe('');
    expect(pinning.cores.length > 0).toBe(pinning.available);
  });
});
