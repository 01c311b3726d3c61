import { describe, expect, test } from 'vitest';
import { countingPlatform } from './counting-platform.js';
import { type Platform, realPlatform } from './platform.js';
import { idOf, ThreadTable } from './thread-table.js';
import { GENERATION_BITS, MAX_THREADS, PHASE_BITS, threadRowLayout } from './thread-table.layout.js';

const ROWS = 4;
const { unique, state, scanned, recoverer } = threadRowLayout.offsets;

function makeTable(platform: Platform = realPlatform, rows = ROWS) {
  const words = new Int32Array(new SharedArrayBuffer(rows * threadRowLayout.byteLength));
  return { words, table: new ThreadTable(words, platform) };
}

/** A table with an attached thread of each number, and their tokens. */
function withThreads(...numbers: number[]) {
  const { words, table } = makeTable();
  const tokens = numbers.map((number) => table.tokenOf(table.claim(number, 0)));
  return { words, table, tokens };
}

describe('claiming', () => {
  test('gives ids from 1, and a token that is never 0', () => {
    const { table } = makeTable();
    expect([table.claim(100, 0), table.claim(101, 100)]).toEqual([1, 2]);
    expect(table.info(2)).toEqual({
      id: 2,
      token: 2,
      unique: 101,
      parent: 100,
      phase: 'attached',
      linked: false,
    });
    expect(table.find(101)).toBe(2);
    expect(table.find(102)).toBe(0);
  });

  test('gives 0 when every row is taken', () => {
    const { table } = makeTable();
    for (let i = 1; i <= ROWS; i++) table.claim(i, 0);
    expect(table.claim(99, 0)).toBe(0);
  });

  test('has ids that fit a token for the most threads that there can be', () => {
    const { table } = makeTable(realPlatform, MAX_THREADS);
    for (let i = 1; i <= MAX_THREADS; i++) expect(idOf(table.tokenOf(table.claim(i, 0)))).toBe(i);
  });

  test('clears what the last owner left', () => {
    const { words, table } = makeTable();
    words[scanned] = 9;
    words[recoverer] = 77;
    table.noteLinked(1);
    const id = table.claim(1, 0);
    expect(table.scannedSlots(id)).toBe(0);
    expect(words[recoverer]).toBe(0);
    expect(table.info(id)).toMatchObject({ linked: false });
  });

  test('costs 1 load a row, then 1 CAS, 5 stores and 1 load', () => {
    const platform = countingPlatform();
    const { table } = makeTable(platform);
    table.claim(1, 0);
    platform.reset();
    table.claim(2, 0);
    expect(platform.counts()).toEqual({ load: 3, compareExchange: 1, store: 5 });
  });
});

describe('tokens', () => {
  test('are alive while their thread is attached or leaving', () => {
    const { table, tokens } = withThreads(100);
    expect(table.isAlive(tokens[0]!)).toBe(true);
    table.beginLeaving(1);
    expect(table.isAlive(tokens[0]!)).toBe(true);
    expect(table.info(1)).toMatchObject({ phase: 'leaving' });
    table.finishLeaving(1, 100);
    expect(table.isAlive(tokens[0]!)).toBe(false);
    expect(table.info(1)).toBeUndefined();
  });

  test('are not alive when their thread is dead, nor when the row has another', () => {
    const { table, tokens } = withThreads(100, 101);
    table.markDead(100);
    expect(table.isAlive(tokens[0]!)).toBe(false);
    expect(table.info(1)).toMatchObject({ unique: 100, phase: 'dead', token: tokens[0] });
    table.finishRecovery(1, 100, tokens[1]!);
    expect(table.claim(102, 0)).toBe(1);
    expect(table.isAlive(tokens[0]!)).toBe(false);
    expect(table.isAlive(table.tokenOf(1))).toBe(true);
    expect(table.tokenOf(1)).not.toBe(tokens[0]);
  });

  test.each([0, -1, 1023, 2 ** 24])('%s is nobody', (token) => {
    expect(withThreads(100).table.isAlive(token)).toBe(false);
  });

  test('stay positive words of 24 bits when generations wrap', () => {
    const { words, table } = makeTable();
    words[state] = ((2 ** GENERATION_BITS - 1) << PHASE_BITS) >>> 0;
    const id = table.claim(1, 0);
    const last = table.tokenOf(id);
    expect(last).toBeLessThan(2 ** 24);
    table.finishLeaving(id, 1);
    table.claim(2, 0);
    expect(table.tokenOf(id)).toBe(1);
    expect(table.isAlive(last)).toBe(false);
    words[state] = -1 << PHASE_BITS;
    expect(table.tokenOf(id)).toBe(last);
    table.finishLeaving(id, 2);
    expect(table.tokenOf(id)).toBe(1);
  });

  test('cost 2 loads to ask about', () => {
    const platform = countingPlatform();
    const { table } = makeTable(platform);
    const token = table.tokenOf(table.claim(1, 0));
    platform.reset();
    table.isAlive(token);
    expect(platform.counts()).toEqual({ load: 2 });
  });
});

describe('deaths', () => {
  test('of a thread that is not there change nothing', () => {
    const { table, words } = withThreads(100);
    const before = words.slice();
    for (const number of [0, 99, 101]) table.markDead(number);
    expect(words).toEqual(before);
  });

  test('are marked once, however many detectors there are', () => {
    const { table } = withThreads(100);
    table.markDead(100);
    table.markDead(100);
    expect(table.dead()).toEqual([1]);
  });

  test('of a thread with several rows mark them all', () => {
    const { table } = withThreads(100, 100, 101);
    table.markDead(100);
    expect(table.dead()).toEqual([1, 2]);
  });

  test('that are noticed late do not hit the next thread in the row', () => {
    const { table, tokens, words } = withThreads(100, 101);
    let interfere: (() => void) | undefined;
    const late = new ThreadTable(words, {
      ...realPlatform,
      atomics: {
        ...countingPlatform().atomics,
        load(...args) {
          const value = Atomics.load(...args);
          interfere?.();
          return value;
        },
      },
    });
    // The other detector recovers the row, and a new thread takes it, after the late one has looked at the number.
    interfere = () => {
      interfere = undefined;
      table.markDead(100);
      table.claimRecovery(1, tokens[1]!);
      table.finishRecovery(1, 100, tokens[1]!);
      table.claim(102, 0);
    };
    late.markDead(100);
    expect(table.dead()).toEqual([]);
    expect(table.info(1)).toMatchObject({ unique: 102, phase: 'attached' });
  });
});

describe('claiming a recovery', () => {
  test('gives the number of the dead thread to one only', () => {
    const { table, tokens } = withThreads(100, 101, 102);
    table.markDead(100);
    expect(table.claimRecovery(1, tokens[1]!)).toBe(100);
    expect(table.claimRecovery(1, tokens[2]!)).toBe('busy');
    expect(table.claimRecovery(1, tokens[1]!)).toBe('busy');
  });

  test('of a living row, or of a free one, is refused', () => {
    const { table, tokens } = withThreads(100, 101);
    expect(table.claimRecovery(1, tokens[1]!)).toBe('moved');
    expect(table.claimRecovery(3, tokens[1]!)).toBe('moved');
  });

  test('takes over from a recoverer that died, and goes on where that was', () => {
    const { table, tokens } = withThreads(100, 101, 102);
    table.markDead(100);
    table.claimRecovery(1, tokens[1]!);
    table.noteScanned(1, 5);
    table.markDead(101);
    expect(table.claimRecovery(1, tokens[2]!)).toBe(100);
    expect(table.scannedSlots(1)).toBe(5);
  });

  test('that was given back is free for others', () => {
    const { table, tokens } = withThreads(100, 101, 102);
    table.markDead(100);
    table.claimRecovery(1, tokens[1]!);
    table.releaseRecovery(1, tokens[1]!);
    expect(table.claimRecovery(1, tokens[2]!)).toBe(100);
  });
});

test('an id is from 1 to the number of rows', () => {
  const { table } = makeTable();
  for (const id of [0, ROWS + 1]) expect(() => table.tokenOf(id)).toThrow(RangeError);
});

test('a row that was claimed and not filled in is that of its thread', () => {
  const { table, words } = makeTable();
  words[unique] = 100;
  expect(table.info(1)).toMatchObject({ phase: 'attaching' });
  table.markDead(100);
  expect(table.dead()).toEqual([1]);
});
