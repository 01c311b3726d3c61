import { describe, expect, it } from 'vitest';
import { ABORT, choice, KILL, STEP, STRAY_WAKE, TIME_OUT } from './choice.js';
import { decodeSchedule, encodeSchedule } from './replay-string.js';

describe('a schedule as a string', () => {
  it('is read back as it was written', () => {
    const schedule = [
      { choice: choice(STEP, 0) },
      { choice: choice(STEP, 0) },
      { choice: choice(STEP, 1, 2) },
      { choice: choice(KILL, 0) },
      { choice: choice(TIME_OUT, 2) },
      { choice: choice(STRAY_WAKE, 2) },
      { choice: choice(ABORT, 23) },
      { choice: choice(STEP, 3), hintValue: -7 },
    ];
    const text = encodeSchedule(schedule);
    expect(text).toBe('0x2.1=2.k0.t2.s2.a23.3~-7');
    expect(decodeSchedule(text)).toEqual(schedule);
  });

  it('may be empty', () => {
    expect(decodeSchedule(encodeSchedule([]))).toEqual([]);
  });

  it.each(['x', '0..1', '0x', '-1', 'q1', '0=a'])('"%s" is none', (text) => {
    expect(() => decodeSchedule(text)).toThrow(TypeError);
  });
});
