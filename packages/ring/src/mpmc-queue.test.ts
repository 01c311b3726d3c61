import { HeddleError, realPlatform, Segment } from '@heddle/memory';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { MpmcCells } from './mpmc-cells.js';
import { MpmcQueue } from './mpmc-queue.js';
import {
  CELL,
  CELL_STATE,
  cellAt,
  cellState,
  lapMask,
  mpmcByteLength,
  mpmcQueueLayout,
  packCell,
} from './mpmc-queue.layout.js';

const { tail, head } = mpmcQueueLayout.offsets;

/** Cells over plain words, as they are after `sequence` numbers went through. */
function rawCells(capacity: number, sequence = 0) {
  const words = new Int32Array(new SharedArrayBuffer(mpmcByteLength(capacity)));
  MpmcQueue.initialise(words, capacity);
  words[tail] = words[head] = (sequence << 1) | 0;
  const mask = lapMask(capacity);
  for (let i = 0; i < capacity; i++) {
    const next = sequence + ((i - (sequence % capacity) + capacity) % capacity);
    words[cellAt(i) + CELL_STATE] = packCell(CELL.free, Math.floor((next % 2 ** 31) / capacity) & mask);
  }
  return { words, of: (token: number) => new MpmcCells(words, token, realPlatform.atomics) };
}

const codeOf = (run: () => unknown): string | undefined => {
  try {
    run();
    return undefined;
  } catch (error) {
    return error instanceof HeddleError ? error.code : (error as Error).name;
  }
};

/** What `expect` says, for what is asked very often. */
function must(holds: boolean): void {
  if (!holds) expect.unreachable();
}

describe('TR-01, TR-03: capacities and sequence numbers', () => {
  for (const capacity of [2, 4, 1024, 2 ** 13]) {
    for (const start of [0, 2 ** 30 - 3, 2 ** 31 - 3, 2 ** 31 - capacity, 2 ** 19 * capacity - 1]) {
      test(`of ${capacity} from ${start}: full, half full and empty, three laps`, () => {
        const { of } = rawCells(capacity, start % 2 ** 31);
        const cells = of(1);
        let put = 0;
        let taken = 0;
        for (const fill of [capacity, capacity / 2, capacity]) {
          while (put - taken < fill) must(cells.put(put++));
          if (fill === capacity) expect(cells.put(-1)).toBe(false);
          expect(cells.size).toBe(fill);
          const left = fill === capacity ? 0 : 1;
          while (put - taken > left) must(cells.take() === taken++);
        }
        expect(cells.take()).toBeUndefined();
        expect(cells.size).toBe(0);
      });
    }
  }
});

describe('a thread died', () => {
  test('putting a number in: takers wait, recovery makes them go past it, also two in a row and when full', () => {
    const { words, of } = rawCells(4);
    const [a, b] = [of(1), of(2)];
    // What a thread leaves that stops after it named itself.
    for (const [index, id] of [
      [0, 7],
      [1, 8],
    ] as const) {
      words[cellAt(index) + CELL_STATE] = packCell(CELL.writing, 0, id);
    }
    expect(a.put(2)).toBe(true);
    expect(b.put(3)).toBe(true);
    expect(a.put(4)).toBe(false);
    expect(a.take()).toBeUndefined();
    a.recover(7);
    a.recover(7);
    expect(a.take()).toBeUndefined();
    expect(a.put(4)).toBe(true);
    a.recover(8);
    expect([a.take(), b.take(), a.take(), b.take()]).toEqual([2, 3, 4, undefined]);
  });

  test('before it moved the tail on: who takes past it does not make the queue look full', () => {
    const { words, of } = rawCells(4);
    words[cellAt(0) + CELL_STATE] = packCell(CELL.writing, 0, 7);
    of(1).recover(7);
    expect(of(1).take()).toBeUndefined();
    expect(words[tail]).toBe(0);
    expect(of(1).put(5)).toBe(true);
    expect(of(1).take()).toBe(5);
  });

  test('a living one that is slow is not gone past', () => {
    const { words, of } = rawCells(4);
    words[cellAt(0) + CELL_STATE] = packCell(CELL.writing, 0, 9);
    of(1).recover(7);
    expect(cellState(words[cellAt(0) + CELL_STATE]!)).toBe(CELL.writing);
    expect(of(1).take()).toBeUndefined();
  });
});

describe('in a segment', () => {
  let segment: Segment;
  beforeEach(() => {
    segment = Segment.create({ byteLength: 2 ** 20 });
  });
  afterEach(() => segment.detach());

  test('first in, first out, through every handle', () => {
    const queue = MpmcQueue.create(segment, { name: 'q', capacity: 3 });
    expect(queue.capacity).toBe(4);
    const other = MpmcQueue.from(MpmcQueue.open(segment, 'q').handle);
    for (const value of [0, -1, 2 ** 31 - 1, -(2 ** 31)]) expect(queue.tryPut(value)).toBe(true);
    expect(queue.tryPut(1)).toBe(false);
    expect(other.size).toBe(4);
    expect([1, 2, 3, 4].map(() => other.tryTake())).toEqual([0, -1, 2 ** 31 - 1, -(2 ** 31)]);
    expect(other.tryTake()).toBeUndefined();
    other[Symbol.dispose]();
    expect(queue.tryPut(1)).toBe(true);
  });

  test('bad capacities and values are refused', () => {
    for (const bad of [0, -1, 1.5, 2 ** 20 + 1, Number.NaN]) {
      expect(() => MpmcQueue.create(segment, { name: 'q', capacity: bad })).toThrow(RangeError);
    }
    expect(() => MpmcQueue.create(segment, { name: 'q', capacity: '8' as never })).toThrow(TypeError);
    const queue = MpmcQueue.create(segment, { name: 'q' });
    for (const bad of [1.5, 2 ** 31, Number.NaN, '1', undefined]) {
      expect(() => queue.tryPut(bad as number)).toThrow(TypeError);
      expect(() => queue.put(bad as number)).toThrow(TypeError);
    }
    expect(queue.size).toBe(0);
  });

  test('waiting gives up in time, an aborted wait takes nothing, several wait at once', async () => {
    const queue = MpmcQueue.create(segment, { name: 'q', capacity: 2 });
    for (const timeout of [0, -1, 5]) {
      expect(queue.take({ timeout })).toBeUndefined();
      expect(await queue.takeAsync({ timeout })).toBeUndefined();
    }
    expect(() => queue.take({ timeout: Number.NaN })).toThrow(RangeError);
    const abort = new AbortController();
    const aborted = queue.takeAsync({ signal: abort.signal });
    const waiting = [queue.takeAsync(), queue.takeAsync()];
    abort.abort(new Error('mine'));
    await expect(aborted).rejects.toThrow('mine');
    queue.put(1);
    queue.put(2);
    expect((await Promise.all(waiting)).sort()).toEqual([1, 2]);
    queue.put(1);
    queue.put(2);
    expect(queue.put(3, { timeout: 5 })).toBe(false);
    const putting = [queue.putAsync(3), queue.putAsync(4)];
    expect([await queue.takeAsync(), await queue.takeAsync()]).toEqual([1, 2]);
    expect(await Promise.all(putting)).toEqual([true, true]);
  });

  test('a thread that has detached puts and takes nothing, and what waits fails: its id may be that of another', async () => {
    const full = MpmcQueue.create(segment, { name: 'full', capacity: 2 });
    const empty = MpmcQueue.create(segment, { name: 'empty' });
    full.put(1);
    full.put(2);
    const waiting = [full.putAsync(3), empty.takeAsync()];
    segment.detach();
    for (const each of waiting) await expect(each).rejects.toMatchObject({ code: 'ERR_HEDDLE_DETACHED' });
    expect(codeOf(() => empty.tryPut(3))).toBe('ERR_HEDDLE_DETACHED');
    expect(codeOf(() => full.tryTake())).toBe('ERR_HEDDLE_DETACHED');
  });

  test('TR-11: closed, what is in is taken, then everything fails', async () => {
    const queue = MpmcQueue.create(segment, { name: 'q', capacity: 2 });
    queue.put(1);
    queue.put(2);
    const putting = queue.putAsync(3);
    queue.close();
    queue.close();
    await expect(putting).rejects.toMatchObject({ code: 'ERR_HEDDLE_CLOSED' });
    expect(codeOf(() => queue.tryPut(3))).toBe('ERR_HEDDLE_CLOSED');
    expect([queue.take(), await queue.takeAsync()]).toEqual([1, 2]);
    expect(codeOf(() => queue.tryTake())).toBe('ERR_HEDDLE_CLOSED');
    expect(codeOf(() => queue.take())).toBe('ERR_HEDDLE_CLOSED');
    await expect(queue.takeAsync()).rejects.toMatchObject({ code: 'ERR_HEDDLE_CLOSED' });
    const empty = MpmcQueue.create(segment, { name: 'empty' });
    const taking = [empty.takeAsync(), empty.takeAsync()];
    empty.close();
    for (const each of taking) await expect(each).rejects.toMatchObject({ code: 'ERR_HEDDLE_CLOSED' });
  });
});

test('PF-08: words that different sides write are 128 bytes apart', () => {
  const places = [...Object.values(mpmcQueueLayout.offsets), cellAt(0)];
  expect(new Set(places.map((at) => Math.floor(at / 32))).size).toBe(places.length);
});
