import { describe, expect, test, vi } from 'vitest';
import { Directory } from './directory.js';
import { HeddleError } from './errors.js';
import { Recovery, type RecoveryStep } from './recovery.js';
import { Space } from './space.js';
import { ThreadTable } from './thread-table.js';
import { threadRowLayout } from './thread-table.layout.js';

/** Four threads, number 100 and up, in a segment with a directory of eight names. */
function makeParts() {
  const words = new Int32Array(new SharedArrayBuffer(64 * 1024));
  const rows = words.subarray(0, 4 * threadRowLayout.wordCount);
  const slots = words.subarray(rows.length, rows.length + 8);
  const tableAt = rows.length + 32;
  const base = (tableAt + Space.wordCountFor(16)) * 4;
  const table = new ThreadTable(rows);
  const space = new Space(words.subarray(tableAt, base / 4), base, words.byteLength - base);
  const directory = new Directory(slots, words, space);
  const tokens = [100, 101, 102, 103].map((number) => table.tokenOf(table.claim(number, 0)));
  let names = 0;
  const add = (kind: string) =>
    directory.create({ name: `${kind} ${names++}`, layout: { kind, version: 1 }, byteLength: 4 }, 2);
  const recoveryWith = (steps: Record<string, RecoveryStep>) =>
    new Recovery(table, directory, (kind) => steps[kind]);
  return { table, space, directory, tokens, add, recoveryWith };
}

describe('recovering', () => {
  test('runs the step of every structure, then frees the row', () => {
    const { table, space, tokens, add, recoveryWith } = makeParts();
    const infos = [add('mutex'), add('pool'), add('mutex')];
    space.allocate(1, 1);
    const mutex = vi.fn();
    const pool = vi.fn();
    table.markDead(100);
    const report = recoveryWith({ mutex, pool }).run(tokens[1]!);
    expect(report).toEqual({ recovered: [100], unknownKinds: [], othersMayContinue: false, stalled: false });
    const dead = { id: 1, token: tokens[0] };
    expect([...mutex.mock.calls, ...pool.mock.calls]).toHaveLength(3);
    for (const info of infos) {
      expect(info.kind === 'mutex' ? mutex : pool).toHaveBeenCalledWith(info, dead);
    }
    expect(space.owned(1)).toEqual([]);
    expect(table.info(1)).toBeUndefined();
  });

  test('nobody costs nothing', () => {
    const { tokens, add, recoveryWith } = makeParts();
    add('mutex');
    const mutex = vi.fn();
    expect(recoveryWith({ mutex }).run(tokens[1]!).recovered).toEqual([]);
    expect(mutex).not.toHaveBeenCalled();
  });

  test('several dead threads at once', () => {
    const { table, tokens, add, recoveryWith } = makeParts();
    add('mutex');
    const mutex = vi.fn();
    for (const number of [100, 102, 103]) table.markDead(number);
    expect(recoveryWith({ mutex }).run(tokens[1]!).recovered).toEqual([100, 102, 103]);
    expect(mutex).toHaveBeenCalledTimes(3);
  });

  test('one that dies meanwhile as well', () => {
    const { table, tokens, add, recoveryWith } = makeParts();
    add('mutex');
    const mutex = vi.fn(() => table.markDead(103));
    table.markDead(100);
    expect(recoveryWith({ mutex }).run(tokens[1]!).recovered).toEqual([100, 103]);
  });

  test('does not run within itself: a step that asks for it changes nothing', () => {
    const { table, tokens, add, recoveryWith } = makeParts();
    add('mutex');
    const inner: unknown[] = [];
    const recovery = recoveryWith({ mutex: () => inner.push(recovery.run(tokens[1]!)) });
    table.markDead(100);
    expect(recovery.run(tokens[1]!).recovered).toEqual([100]);
    expect(inner).toEqual([{ recovered: [], unknownKinds: [], othersMayContinue: true, stalled: false }]);
  });

  test('frees the row of a thread that died in its claim', () => {
    const { table, tokens, recoveryWith } = makeParts();
    table.finishLeaving(4, 103);
    table.claim(104, 0);
    table.markDead(104);
    expect(recoveryWith({}).run(tokens[1]!).recovered).toEqual([104]);
  });
});

describe('kinds that are not known here', () => {
  test('leave the row to others, with everything else done', () => {
    const { table, tokens, add, recoveryWith } = makeParts();
    for (const kind of ['mutex', 'ring', 'mutex']) add(kind);
    const mutex = vi.fn();
    const ring = vi.fn();
    table.markDead(100);
    const report = recoveryWith({ mutex }).run(tokens[1]!);
    expect(report).toMatchObject({ recovered: [], unknownKinds: ['ring'] });
    // Nobody waits for a mutex because this thread does not know rings.
    expect(mutex).toHaveBeenCalledTimes(2);
    expect(table.info(1)).toMatchObject({ phase: 'dead' });
    expect(recoveryWith({ mutex, ring }).run(tokens[2]!).recovered).toEqual([100]);
    expect(ring).toHaveBeenCalledTimes(1);
  });

  test('are finished by threads that know one each, as long as one says that others may continue', () => {
    const { table, tokens, add, recoveryWith } = makeParts();
    for (const kind of ['a', 'b', 'a', 'b', 'a', 'b']) add(kind);
    const threads = [recoveryWith({ a: vi.fn() }), recoveryWith({ b: vi.fn() })];
    table.markDead(100);
    let rounds = 0;
    for (let goOn = true; goOn; rounds++) {
      goOn = threads
        .map((recovery, i) => recovery.run(tokens[i + 1]!))
        .some((report) => report.othersMayContinue);
    }
    expect(rounds).toBeLessThanOrEqual(7);
    expect(table.info(1)).toBeUndefined();
  });

  test('that nobody knows come to an end', () => {
    const { table, tokens, add, recoveryWith } = makeParts();
    add('ring');
    table.markDead(100);
    expect(recoveryWith({}).run(tokens[1]!)).toEqual({
      recovered: [],
      unknownKinds: ['ring'],
      othersMayContinue: false,
      stalled: false,
    });
  });
});

describe('a step that throws', () => {
  test.each(['ERR_HEDDLE_STALLED', 'ERR_HEDDLE_MUST_NOT_BLOCK'] as const)(
    '%s leaves its row for later, with everything else recovered, and is no failure',
    (code) => {
      const { table, tokens, add, recoveryWith } = makeParts();
      for (const kind of ['held', 'mutex']) add(kind);
      const mutex = vi.fn();
      let isHeld = true;
      const held: RecoveryStep = () => {
        if (isHeld) throw new HeddleError(code, 'somebody has it');
      };
      table.markDead(100);
      const recovery = recoveryWith({ held, mutex });
      expect(recovery.run(tokens[1]!)).toMatchObject({ recovered: [], stalled: true });
      expect(mutex).toHaveBeenCalledTimes(1);
      expect(table.info(1)).toMatchObject({ phase: 'dead' });
      isHeld = false;
      expect(recovery.run(tokens[1]!)).toMatchObject({ recovered: [100], stalled: false });
      expect(table.info(1)).toBeUndefined();
    },
  );

  test('leaves its row dead and free for others, with everything else recovered', () => {
    const { table, tokens, add, recoveryWith } = makeParts();
    for (const kind of ['bad', 'mutex']) add(kind);
    const mutex = vi.fn();
    table.markDead(100);
    table.markDead(103);
    const bad: RecoveryStep = (_, { id }) => {
      if (id === 1) throw new Error('a bug');
    };
    expect(() => recoveryWith({ bad, mutex }).run(tokens[1]!)).toThrow('a bug');
    expect(mutex).toHaveBeenCalledWith(expect.anything(), { id: 1, token: tokens[0] });
    expect(table.info(4)).toBeUndefined();
    expect(table.info(1)).toMatchObject({ phase: 'dead' });
    expect(recoveryWith({ bad: vi.fn(), mutex }).run(tokens[2]!).recovered).toEqual([100]);
  });

  test('keeps a thread that leaves in its row, for its death to be noticed', () => {
    const { table, tokens, add, recoveryWith } = makeParts();
    add('bad');
    const bad = () => {
      throw new Error('a bug');
    };
    expect(() => recoveryWith({ bad }).leave(tokens[0]!, 100)).toThrow('a bug');
    expect(table.info(1)).toMatchObject({ phase: 'leaving' });
  });
});

describe('leaving', () => {
  test('runs the steps for itself, and frees the row', () => {
    const { table, space, tokens, add, recoveryWith } = makeParts();
    const info = add('mutex');
    add('ring');
    space.allocate(1, 1);
    const mutex = vi.fn();
    recoveryWith({ mutex }).leave(tokens[0]!, 100);
    expect(mutex.mock.calls).toEqual([[info, { id: 1, token: tokens[0] }]]);
    expect(space.owned(1)).toEqual([]);
    expect(table.info(1)).toBeUndefined();
    expect(table.isAlive(tokens[0]!)).toBe(false);
  });
});
