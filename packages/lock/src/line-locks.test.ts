import { type Platform, realPlatform } from '@heddle/memory';
import { countingPlatform } from '@heddle/memory/counting';
import { beforeEach, describe, expect, test } from 'vitest';
import { lockWordCount } from './create-lock.js';
import { LineAcquisition } from './line-acquisition.js';
import { McsLine } from './mcs-line.js';
import { mcsLockLayout, nodeIndex } from './mcs-lock.layout.js';
import { OwnerAttempt } from './owner-attempt.js';
import { RawMcsLock, RawTicketLock } from './raw-line-locks.js';
import { StateWord } from './state-word.js';
import { TicketLine } from './ticket-line.js';
import { PLACES, placeIndex, roundOf, ticketLockLayout } from './ticket-lock.layout.js';
import { TurnSpin } from './turn-spin.js';

const KINDS = [
  { kind: 'ticket', Raw: RawTicketLock, Line: TicketLine, layout: ticketLockLayout },
  { kind: 'mcs', Raw: RawMcsLock, Line: McsLine, layout: mcsLockLayout },
] as const;

const timedOut = expect.objectContaining({ code: 'ERR_HEDDLE_TIMED_OUT' });

describe.each(KINDS)('$kind', ({ kind, Raw, Line, layout }) => {
  let words: Int32Array;
  beforeEach(() => {
    words = new Int32Array(new SharedArrayBuffer(lockWordCount(kind, 8) * 4));
  });

  /** A thread that waits in line, as steps that this test makes one by one. */
  const waiter = (token: number, platform: Platform = realPlatform) => {
    const { state, taskGate } = layout.offsets;
    const word = new StateWord(words, state, taskGate, platform);
    const attempt = new OwnerAttempt(kind, token, 0);
    return new LineAcquisition(word, new Line(word, token), attempt, new TurnSpin(0));
  };

  test('threads get it in the order in which they came, and nobody passes', () => {
    const owner = new Raw(words, 1);
    owner.lock();
    const waiters = [2, 3, 4].map((token) => waiter(token));
    for (const each of waiters) expect(each.begin().done).toBe(false);
    owner.unlock();
    expect(new Raw(words, 5).tryLock()).toBeNull();
    expect(waiters[2]!.onWake().done).toBe(false);
    expect(waiters[1]!.onWake().done).toBe(false);
    for (const [i, each] of waiters.entries()) {
      expect(each.onWake()).toEqual({ done: true, value: 'acquired' });
      expect(new Raw(words, 5).tryLock()).toBeNull();
      new Raw(words, i + 2).unlock();
    }
    expect(new Raw(words, 5).tryLock()).toBe('acquired');
  });

  test('who gives up or dies is passed over, and nothing stays reserved for an empty line', () => {
    const owner = new Raw(words, 1);
    owner.lock();
    const [second, third, fourth] = [2, 3, 4].map((token) => waiter(token));
    for (const each of [second!, third!, fourth!]) expect(each.begin().done).toBe(false);
    expect(third!.onTimeout()).toEqual({ done: true, value: null });
    owner.recover(2);
    owner.unlock();
    expect(fourth!.onWake()).toEqual({ done: true, value: 'acquired' });
    new Raw(words, 4).unlock();
    expect(owner.tryLock()).toBe('acquired');
  });

  test('a thread that gave up and comes again before it was passed over has its old place', () => {
    const owner = new Raw(words, 1);
    owner.lock();
    expect(waiter(2).begin().done).toBe(false);
    const third = new Raw(words, 3);
    const places = words.slice();
    expect(() => third.lock(0)).toThrow(timedOut);
    const after = words.slice();
    for (let i = 0; i < 3; i++) expect(() => third.lock(0)).toThrow(timedOut);
    expect(words).toEqual(after);
    expect(words).not.toEqual(places);
  });

  test('lock and unlock cost one compare-and-exchange each while nobody waits', () => {
    const platform = countingPlatform();
    const lock = new Raw(words, 1, platform);
    platform.reset();
    lock.lock();
    lock.unlock();
    expect(platform.counts()).toEqual({ compareExchange: 2 });
  });
});

test('numbers wrap past 2^31 and 2^32', () => {
  for (const first of [2 ** 31 - 3, 2 ** 32 - 3]) {
    const words = new Int32Array(new SharedArrayBuffer(ticketLockLayout.byteLength));
    const { next, serving } = ticketLockLayout.offsets;
    words[next] = first;
    words[serving] = first;
    for (let number = first; number < first + PLACES; number++) {
      words[placeIndex(number)] = roundOf(number | 0);
    }
    const other = new RawTicketLock(words, 2);
    other.lock();
    // Further than there are places, so that each is used by a number before and by one behind.
    const numbers = PLACES + 6;
    for (let i = 0; i < numbers; i++) expect(() => new RawTicketLock(words, 3).lock(0)).toThrow(timedOut);
    expect(words[serving]).toBe((first + numbers) | 0);
    expect(words[next]).toBe((first + numbers) | 0);
    other.unlock();
    expect(new RawTicketLock(words, 3).lock()).toBe('acquired');
  }
});

test('turns of a node wrap', () => {
  const words = new Int32Array(new SharedArrayBuffer(lockWordCount('mcs', 4) * 4));
  words[nodeIndex(3)] = (2 ** 20 - 2) << 2;
  const other = new RawMcsLock(words, 2);
  other.lock();
  for (let i = 0; i < 4; i++) expect(() => new RawMcsLock(words, 3).lock(1)).toThrow(timedOut);
  expect(words[nodeIndex(3)]! >>> 2).toBe(2);
  other.unlock();
  expect(new RawMcsLock(words, 3).lock()).toBe('acquired');
});

test('a thread without a node is told', () => {
  const words = new Int32Array(new SharedArrayBuffer(lockWordCount('mcs', 2) * 4));
  new RawMcsLock(words, 1).lock();
  expect(() => new RawMcsLock(words, 3).lock()).toThrow(
    expect.objectContaining({ code: 'ERR_HEDDLE_THREADS_FULL' }),
  );
  expect(() => lockWordCount('mcs', 0)).toThrow(RangeError);
  expect(() => lockWordCount('mcs', 513)).toThrow(RangeError);
});
