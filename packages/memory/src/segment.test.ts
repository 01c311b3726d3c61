import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { runInNewContext } from 'node:vm';
import { MessageChannel, receiveMessageOnPort } from 'node:worker_threads';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { HeddleError } from './errors.js';
import type * as Memory from './index.js';
import { registerKind } from './kind.js';
import { realPlatform } from './platform.js';
import { DEFAULT_SEGMENT_BYTES, Segment, type SegmentHandle, type SegmentOptions } from './segment.js';
import { regionsOf } from './segment.layout.js';
import { threadState } from './thread-state.js';
import { ThreadTable } from './thread-table.js';

const BYTES = 256 * 1024;
const SMALL = { maxThreads: 4, maxStructures: 8, maxRanges: 16 };
const box = { kind: 'box', version: 1 };
const code = (name: string) => expect.objectContaining({ code: `ERR_HEDDLE_${name}` });

const made: Segment[] = [];

function make(options: SegmentOptions = {}): Segment {
  const segment = Segment.create({ ...SMALL, ...(options.buffer ? {} : { byteLength: BYTES }), ...options });
  made.push(segment);
  return segment;
}

afterEach(() => {
  for (const segment of made.splice(0)) segment.detach();
});

/** The handle as it arrives in a message: another object over the same memory. */
function sent(handle: SegmentHandle): SegmentHandle {
  const { port1, port2 } = new MessageChannel();
  port1.postMessage(handle);
  const { message } = receiveMessageOnPort(port2)!;
  port1.close();
  return message;
}

describe('create', () => {
  test('reserves 64 MiB unless told otherwise', () => {
    expect(DEFAULT_SEGMENT_BYTES).toBe(2 ** 26);
    const segment = make({ byteLength: undefined });
    expect(segment.byteLength).toBe(2 ** 26);
    expect(segment.space.usage()).toMatchObject({ used: 0, ranges: 0 });
  });

  test('is named in JSON, and not written out', () => {
    const segment = make();
    expect(JSON.parse(JSON.stringify({ segment }))).toEqual({
      segment: { id: segment.id, byteLength: BYTES },
    });
  });

  test('rounds up to whole lines', () => {
    expect(make({ byteLength: BYTES + 1 }).byteLength).toBe(BYTES + 128);
  });

  test('gives each segment an id of its own', () => {
    expect(make().id).toMatch(/^[0-9a-f]{16}$/);
    expect(new Set(Array.from({ length: 50 }, () => make().id)).size).toBe(50);
  });

  test('takes memory that is given, of another realm as well (PF-04)', () => {
    const buffer: SharedArrayBuffer = runInNewContext(`new SharedArrayBuffer(${BYTES})`);
    const segment = make({ buffer });
    expect(segment.buffer).toBe(buffer);
    const info = segment.createStructure({ name: 'a', layout: box, byteLength: 8 });
    segment.wordsAt(info.byteOffset, 8)[1] = 5;
    expect(Segment.attach({ ...segment.handle }).openStructure('a', box)).toEqual(info);
    segment.detach();
  });

  test('over a segment attaches to it', () => {
    const segment = make();
    expect(make({ buffer: segment.buffer, maxThreads: 2 })).toBe(segment);
  });

  test.each<[SegmentOptions, unknown]>([
    [{ byteLength: -1 }, RangeError],
    [{ byteLength: 1.5 }, RangeError],
    [{ byteLength: Number.NaN }, RangeError],
    [{ byteLength: 1024 }, RangeError],
    [{ byteLength: '1000000' as never }, RangeError],
    [{ maxThreads: 0 }, RangeError],
    [{ maxThreads: 513 }, RangeError],
    [{ maxStructures: 1.5 }, RangeError],
    [{ buffer: new SharedArrayBuffer(1024) }, RangeError],
    [{ buffer: new SharedArrayBuffer(BYTES + 4) }, RangeError],
    [{ buffer: new ArrayBuffer(BYTES) as never }, TypeError],
    [{ buffer: {} as never }, TypeError],
  ])('refuses %o', (options, error) => {
    expect(() => make(options)).toThrow(error as typeof Error);
  });

  test('refuses memory that grows (PF-03)', () => {
    const Growable = SharedArrayBuffer as unknown as new (
      byteLength: number,
      options: { maxByteLength: number },
    ) => SharedArrayBuffer;
    const buffer = new Growable(BYTES, { maxByteLength: 2 * BYTES });
    expect(() => make({ buffer })).toThrow(/fixed size/);
    expect(() => Segment.attach({ heddle: 'segment', buffer, from: 0 })).toThrow(TypeError);
  });

  test('refuses memory that is in use for something else (LC-06)', () => {
    const buffer = new SharedArrayBuffer(BYTES);
    new Int32Array(buffer)[300] = 1;
    expect(() => make({ buffer })).toThrow(code('NOT_A_SEGMENT'));
  });

  test('says so when the engine does not reserve so much', () => {
    expect(() => make({ byteLength: 2 ** 52 })).toThrow(code('OUT_OF_SPACE'));
    // Some engines reserve this, and have no view that is as long.
    try {
      expect(make({ byteLength: 17 * 2 ** 30 }).words.length).toBe(17 * 2 ** 28);
    } catch (error) {
      expect(error).toMatchObject({ code: 'ERR_HEDDLE_OUT_OF_SPACE' });
    }
  });

  test('reserves 8 GiB, and uses its end (PL-11)', () => {
    const segment = make({ byteLength: 2 ** 33 });
    segment.allocate(2 ** 33 - 2 ** 21);
    const info = segment.createStructure({ name: 'far', layout: box, byteLength: 4096 });
    expect(info.byteOffset).toBeGreaterThan(2 ** 33 - 2 ** 21);
    const words = segment.wordsAt(info.byteOffset, 4096);
    words[1023] = 42;
    expect(segment.bytesAt(info.byteOffset + 4092, 4)[0]).toBe(42);
    expect(segment.openStructure('far', box)).toEqual(info);
    expect(Segment.attach(sent(segment.handle))).toBe(segment);
    segment.detach();
    expect(segment.removeStructure(info)).toBe(true);
  });
});

describe('byteLengthFor', () => {
  test('is what a segment with so much space needs', () => {
    const byteLength = Segment.byteLengthFor({ ...SMALL, spaceBytes: 1000 });
    const segment = make({ byteLength });
    expect(segment.space.capacity).toBe(1024);
    expect(() => make({ byteLength: Segment.byteLengthFor({ ...SMALL, spaceBytes: 0 }) - 1 })).toThrow(
      RangeError,
    );
  });

  test.each([-1, Number.NaN, 1.5, 2 ** 53])('refuses %s bytes', (spaceBytes) => {
    expect(() => Segment.byteLengthFor({ spaceBytes })).toThrow(RangeError);
  });
});

describe('attach', () => {
  test('twice in a thread yields the same segment, through any object over the same memory', () => {
    const segment = make();
    const handle = sent(segment.handle);
    expect(handle.buffer).not.toBe(segment.buffer);
    expect(Segment.attach(handle)).toBe(segment);
    expect(Segment.attach(segment.handle)).toBe(segment);
    expect(segment.threads()).toHaveLength(1);
    segment.detach();
    segment.detach();
    expect(segment.attached).toBe(true);
  });

  test.each([undefined, null, 5, {}, { heddle: 'mutex' }])('refuses %s', (handle) => {
    expect(() => Segment.attach(handle as never)).toThrow(TypeError);
  });

  test('refuses other memory, with a reason (LC-06)', () => {
    const handle = (buffer: unknown) => ({ heddle: 'segment', buffer, from: 0 }) as SegmentHandle;
    expect(() => Segment.attach(handle(new ArrayBuffer(BYTES)))).toThrow(TypeError);
    expect(() => Segment.attach(handle(new SharedArrayBuffer(64)))).toThrow(code('NOT_A_SEGMENT'));
    expect(() => Segment.attach(handle(new SharedArrayBuffer(BYTES + 4)))).toThrow(code('NOT_A_SEGMENT'));
    const random = new SharedArrayBuffer(BYTES);
    new Uint8Array(random).fill(0xa5);
    expect(() => Segment.attach(handle(random))).toThrow(code('NOT_A_SEGMENT'));
    const blank = handle(new SharedArrayBuffer(BYTES));
    expect(() => Segment.attach(blank, { timeout: 1 })).toThrow(code('NOT_READY'));
    expect(() => Segment.attach(blank, { timeout: Number.NaN })).toThrow(RangeError);
  });

  test('does not take a thread into a full table', () => {
    const segment = make({ maxThreads: 2 });
    segment.detach();
    const rows = segment.words.subarray(0, 2048);
    // Two other threads.
    const state = threadState();
    const others = [state.unique + 1000, state.unique + 1001];
    const first = rows.indexOf(0, 96);
    rows[first] = others[0]!;
    rows[first + 32] = others[1]!;
    expect(() => Segment.attach(segment.handle)).toThrow(code('THREADS_FULL'));
    expect(state.memberships.has(segment.id)).toBe(false);
    rows[first] = 0;
    expect(Segment.attach(segment.handle).thread.id).toBe(1);
  });
});

describe('the handle', () => {
  test('says who made it, and is plain', () => {
    const { handle, buffer } = make();
    expect(handle).toEqual({ heddle: 'segment', buffer, from: threadState().unique });
    expect(structuredClone({ ...handle, buffer: null })).toEqual({ ...handle, buffer: null });
  });
});

describe('detach', () => {
  test('frees the row, and what was not kept', () => {
    const segment = make();
    const range = segment.allocate(1000);
    const { id } = segment.thread;
    segment.detach();
    expect(segment.space.isLive(range)).toBe(false);
    const again = Segment.attach(segment.handle);
    made.push(again);
    expect(again).not.toBe(segment);
    expect(again.thread.id).toBe(id);
    expect(again.isAlive(segment.thread.token)).toBe(false);
    expect(again.isAlive(again.thread.token)).toBe(true);
  });

  test('keeps structures, also when the last thread leaves', () => {
    const segment = make();
    const info = segment.createStructure({ name: 'a', layout: box, byteLength: 8 });
    segment.detach();
    const again = make({ buffer: segment.buffer });
    expect(again.openStructure('a', box)).toEqual(info);
  });

  test('runs the recovery of structures for this thread', () => {
    const recover = vi.fn();
    registerKind({ layout: box, recover });
    const segment = make();
    const info = segment.createStructure({ name: 'a', layout: box, byteLength: 8 });
    const { id, token } = segment.thread;
    segment.detach();
    expect(recover.mock.calls).toEqual([[{ segment, info, dead: { id, token } }]]);
    threadState().kinds.delete('box');
  });

  test('makes every operation an error that says so', () => {
    const segment = make();
    const info = segment.createStructure({ name: 'a', layout: box, byteLength: 8 });
    segment[Symbol.dispose]();
    segment.detach();
    expect(segment.attached).toBe(false);
    for (const operation of [
      () => segment.allocate(1),
      () => segment.createStructure({ name: 'b', layout: box, byteLength: 8 }),
      () => segment.openOrCreateStructure({ name: 'b', layout: box, byteLength: 8 }),
      () => segment.openStructure('a', box),
      () => segment.removeStructure(info),
      () => segment.declareDead(99),
      () => segment.recover(),
      () => segment.watch({ threadId: 9, once: vi.fn(), off: vi.fn() }),
      () => segment.startJanitor(),
      () => segment.lifeline(),
    ]) {
      expect(operation).toThrow(code('DETACHED'));
    }
  });
});

describe('views', () => {
  test('lie inside of the segment', () => {
    const segment = make();
    expect(segment.wordsAt(128, 16)).toHaveLength(4);
    expect(segment.wordsAt(BYTES, 0)).toHaveLength(0);
    expect(segment.bytesAt(BYTES - 1, 1)).toHaveLength(1);
    for (const [offset, length] of [
      [-4, 4],
      [0, -4],
      [BYTES, 4],
      [BYTES - 4, 8],
      [Number.NaN, 4],
      [0, Number.NaN],
      [2, 4],
      [4, 2],
      [2 ** 53, 4],
    ] as const) {
      expect(() => segment.wordsAt(offset, length)).toThrow(RangeError);
    }
    expect(() => segment.bytesAt(BYTES, 1)).toThrow(RangeError);
    expect(() => segment.bytesAt(0.5, 1)).toThrow(RangeError);
  });
});

describe('declaring deaths', () => {
  test('needs the number of another thread', () => {
    const segment = make();
    for (const unique of [0, -1, 1.5, Number.NaN, 2 ** 31, segment.thread.unique]) {
      expect(() => segment.declareDead(unique)).toThrow(RangeError);
    }
    expect(segment.threads()).toMatchObject([{ phase: 'attached' }]);
  });

  test('changes the word that tells of deaths', () => {
    const segment = make();
    const before = segment.deaths;
    segment.declareDead(segment.thread.unique + 1000);
    expect(segment.deaths).not.toBe(before);
  });

  test('watch needs a worker that tells of its end, and has not ended', () => {
    const segment = make();
    for (const worker of [{}, null, { threadId: 5 }]) {
      expect(() => segment.watch(worker as never)).toThrow(code('UNSUPPORTED'));
    }
    expect(() => segment.watch({ threadId: -1, once: vi.fn(), off: vi.fn() })).toThrow(code('CLOSED'));
  });

  test('a lifeline needs a janitor', () => {
    expect(() => make().lifeline()).toThrow(code('UNSUPPORTED'));
    expect(make().janitor).toBe(0);
  });
});

describe('a recovery that another thread is in the way of', () => {
  /** A segment with a dead thread, and with a box that somebody has for as many recoveries. */
  function stalled(times: number) {
    const delays: number[] = [];
    let retry = () => {};
    const segment = make({
      platform: {
        ...realPlatform,
        schedule(callback, delayMs) {
          delays.push(delayMs);
          retry = callback;
          return () => {};
        },
      },
    });
    let left = times;
    const recover = vi.fn(() => {
      if (left-- > 0) throw new HeddleError('ERR_HEDDLE_STALLED', 'somebody has it');
    });
    registerKind({ layout: box, recover });
    segment.createStructure({ name: 'a', layout: box, byteLength: 8 });
    const { threads, directory } = regionsOf(SMALL);
    const dead = 1000;
    new ThreadTable(segment.words.subarray(threads, directory)).claim(dead, 0);
    expect(segment.declareDead(dead)).toMatchObject({ recovered: [], stalled: true });
    return { segment, delays, recover, retry: () => retry() };
  }

  afterEach(() => {
    threadState().kinds.delete('box');
  });

  test('is tried again, less and less often, until it is done', () => {
    const { segment, delays, retry } = stalled(9);
    for (let i = 0; i < 3; i++) segment.recover();
    expect(delays).toEqual([50]);
    for (let i = 0; i < 5; i++) retry();
    expect(delays).toEqual([50, 100, 200, 400, 800, 1000]);
    expect(segment.threads()).toHaveLength(2);
    retry();
    expect(segment.threads()).toHaveLength(1);
    expect(delays).toHaveLength(6);
  });

  test('is tried again where this object has detached and the thread has not', () => {
    const { segment, retry } = stalled(1);
    const other = make({ buffer: segment.buffer, platform: { ...realPlatform } });
    segment.detach();
    retry();
    expect(other.threads()).toHaveLength(1);
  });

  test('is left to others by who has detached', () => {
    const { segment, retry, recover } = stalled(1);
    segment.detach();
    recover.mockClear();
    retry();
    expect(recover).not.toHaveBeenCalled();
  });
});

describe('two copies of the package in a thread', () => {
  test('share its identity, its row and its kinds', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'heddle-copy-'));
    try {
      const built = new URL('.', import.meta.url);
      for (const name of (await readdir(built)).filter((file) => /^[\w.-]+(?<!test.*)\.js$/.test(file))) {
        const source = await readFile(new URL(name, built), 'utf8');
        await writeFile(join(folder, name), source.replace(/^\/\/# sourceMappingURL.*$/m, ''));
      }
      await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
      const copy: typeof Memory = await import(pathToFileURL(join(folder, 'index.js')).href);
      expect(copy.Segment).not.toBe(Segment);

      const ours = make();
      const theirs = copy.Segment.attach(ours.handle);
      expect(theirs.thread).toEqual(ours.thread);
      expect(ours.threads()).toHaveLength(1);

      const recover = vi.fn();
      copy.registerKind({ layout: box, recover });
      const info = ours.createStructure({ name: 'a', layout: box, byteLength: 8 });
      expect(theirs.openStructure('a', box)).toEqual(info);

      // The row stays as long as one copy is attached, and what the other does goes on.
      ours.detach();
      expect(theirs.isAlive(theirs.thread.token)).toBe(true);
      expect(recover).not.toHaveBeenCalled();
      expect(theirs.recover().recovered).toEqual([]);
      theirs.detach();
      expect(recover).toHaveBeenCalledOnce();
      expect(theirs.threads()).toEqual([]);
    } finally {
      threadState().kinds.delete('box');
      await rm(folder, { recursive: true });
    }
  });

  test('are refused where their versions cannot work together', () => {
    const state = threadState() as { version: number };
    const { version } = state;
    state.version = 99;
    try {
      expect(() => make()).toThrow(code('VERSION'));
    } finally {
      state.version = version;
    }
  });
});
