import { countingPlatform } from '@heddle/memory/counting';
import { expect, it } from 'vitest';
import { inHurry, isInHurry, Latch } from './latch.js';

const TOKEN = 3;
const OTHER = 5;

function latchWith(word: number, isAlive = true) {
  const words = new Int32Array(new SharedArrayBuffer(4));
  words[0] = word;
  const platform = countingPlatform();
  const latch = new Latch(words, 0, TOKEN, () => isAlive, platform, { spins: 0, sleepMs: 0 });
  return { words, platform, latch };
}

it('names a holder that does not move, and takes nothing', () => {
  const { words, platform, latch } = latchWith(OTHER);
  expect(() => latch.acquire(() => {})).toThrow(
    expect.objectContaining({ code: 'ERR_HEDDLE_STALLED', facts: { holder: OTHER, token: OTHER } }),
  );
  expect(words[0]! & 0xff_ff_ff).toBe(OTHER);
  expect(platform.counts().wait).toBe(10);
});

it('is given up after one short sleep by who recovers another thread, and by nobody else', () => {
  const { platform, latch } = latchWith(OTHER);
  const stalled = expect.objectContaining({ code: 'ERR_HEDDLE_STALLED' });
  expect(() => inHurry(() => latch.acquire(() => {}))).toThrow(stalled);
  expect(platform.counts().wait).toBe(1);
  expect(isInHurry()).toBe(false);
  expect(() => latch.acquire(() => {})).toThrow(stalled);
  expect(platform.counts().wait).toBe(11);
});

it.each(['an error left it to this thread', 'its holder is dead'])(
  'is taken over, and repaired, where %s',
  (why) => {
    const mine = why.startsWith('an error');
    const { words, latch } = latchWith(mine ? TOKEN : OTHER, mine);
    let repairs = 0;
    latch.acquire(() => repairs++);
    expect(repairs).toBe(1);
    latch.release();
    expect(words[0]).toBe(0);
  },
);
