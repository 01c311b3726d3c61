import { realPlatform } from '@heddle/memory';
import { countingPlatform } from '@heddle/memory/counting';
import { describe, expect, test } from 'vitest';
import { LineAcquisition } from './line-acquisition.js';
import { McsLine } from './mcs-line.js';
import { mcsByteLength, mcsLockLayout } from './mcs-lock.layout.js';
import { OwnerAttempt } from './owner-attempt.js';
import { RawMcsLock, RawTicketLock } from './raw-line-locks.js';
import { StateWord } from './state-word.js';
import { TicketLine } from './ticket-line.js';
import { ticketLockLayout } from './ticket-lock.layout.js';
import { TurnSpin } from './turn-spin.js';

/** A word, on a platform whose clock goes on by a tenth of a millisecond with each pause. */
function makeWord() {
  const words = new Int32Array(new SharedArrayBuffer(8));
  let pauses = 0;
  const onPause = { call: () => {} };
  const platform = {
    ...realPlatform,
    now: () => pauses / 10,
    pause: () => {
      pauses++;
      onPause.call();
    },
  };
  const look = (spin: TurnSpin) => {
    const before = pauses;
    const changed = spin.isDue() && spin.seesChange(new StateWord(words, 0, 1, platform), 0, 0);
    return { changed, looked: pauses > before };
  };
  return { words, onPause, look, platform };
}

describe('the spin of one in line', () => {
  test('after each spin in vain twice as many waits go without', () => {
    const { look } = makeWord();
    const spin = new TurnSpin();
    const gaps: number[] = [];
    let gap = 0;
    for (let i = 0; i < 1100; i++) {
      const { changed, looked } = look(spin);
      expect(changed).toBe(false);
      if (looked) gaps.push(gap);
      gap = looked ? 0 : gap + 1;
    }
    expect(gaps).toEqual([0, 1, 3, 7, 15, 31, 63, 127, 255, 255, 255]);
  });

  test('one that is of use ends that', () => {
    const { words, look, onPause } = makeWord();
    const spin = new TurnSpin();
    for (let i = 0; i < 5; i++) look(spin);
    onPause.call = () => {
      words[0] = 1;
    };
    while (!look(spin).changed);
    words[0] = 0;
    expect(look(spin)).toEqual({ changed: true, looked: true });
  });

  test('it ends where the clock stands still', () => {
    const { words, platform } = makeWord();
    const state = new StateWord(words, 0, 1, { ...platform, now: () => 5 });
    expect(new TurnSpin().seesChange(state, 0, 0)).toBe(false);
  });
});

describe.each([
  { kind: 'ticket', Raw: RawTicketLock, Line: TicketLine, layout: ticketLockLayout },
  { kind: 'mcs', Raw: RawMcsLock, Line: McsLine, layout: mcsLockLayout },
])('$kind', ({ kind, Raw, Line, layout }) => {
  test('a hand-over to a thread that still looks neither sleeps nor notifies (LK-10)', () => {
    const words = new Int32Array(new SharedArrayBuffer(Math.max(layout.byteLength, mcsByteLength(8))));
    const { onPause, platform } = makeWord();
    const counting = countingPlatform(platform);
    const { state, taskGate } = layout.offsets;
    const waiter = (token: number) => {
      const word = new StateWord(words, state, taskGate, counting);
      return new LineAcquisition(
        word,
        new Line(word, token),
        new OwnerAttempt(kind, token, 0),
        new TurnSpin(),
      );
    };
    let owner = new Raw(words, 1, counting);
    owner.lock();
    for (const token of [2, 3, 2, 3]) {
      onPause.call = () => {
        onPause.call = () => {};
        owner.unlock();
      };
      expect(waiter(token).begin()).toEqual({ done: true, value: 'acquired' });
      owner = new Raw(words, token, counting);
    }
    expect(counting.counts()).not.toHaveProperty('wait');
    expect(counting.counts()).not.toHaveProperty('notify');
  });
});
