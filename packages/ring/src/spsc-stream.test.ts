import { Worker } from 'node:worker_threads';
import { HeddleError, realPlatform, Segment } from '@heddle/memory';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { closeSpsc } from './spsc-close.js';
import { spscStreamLayout } from './spsc-ring.layout.js';
import { SpscStream } from './spsc-stream.js';
import type { StreamTask } from './spsc-stream.test-worker.js';
import { StreamReader } from './stream-reader.js';
import { StreamWriter } from './stream-writer.js';

const { capacity, tail, head, begun } = spscStreamLayout.offsets;

/** A stream over plain words, after so many bytes (modulo 2^30). */
function rawStream(capacityBytes: number, byteCount = 0) {
  const buffer = new SharedArrayBuffer(spscStreamLayout.byteLength + capacityBytes);
  const words = new Int32Array(buffer);
  words[capacity] = capacityBytes;
  for (const word of [tail, head, begun]) words[word] = (byteCount * 4) | 0;
  const memory = new Uint8Array(buffer, spscStreamLayout.byteLength);
  return {
    words,
    writer: new StreamWriter(words, memory),
    reader: new StreamReader(words, memory),
    takeOver: () => new StreamReader(words, memory),
    close: () => closeSpsc(words, realPlatform.atomics),
  };
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

describe('bytes', () => {
  for (const start of [0, 2 ** 29 - 5, 2 ** 30 - 5, 2 ** 30 - 16]) {
    test(`TR-01, TR-04: every write length against every read length, from byte ${start}`, () => {
      for (const capacityBytes of [16, 64]) {
        for (let write = 1; write <= capacityBytes + 3; write += 3) {
          for (let read = 1; read <= capacityBytes + 3; read += 2) {
            const { writer, reader } = rawStream(capacityBytes, start);
            let sent = 0;
            let received = 0;
            for (let round = 0; round < 12; round++) {
              const bytes = Uint8Array.from({ length: write }, (_, i) => sent + i);
              const written = writer.tryWrite(bytes);
              must(written === Math.min(write, capacityBytes - (sent - received)));
              sent += written;
              const target = new Uint8Array(read);
              const got = reader.tryRead(target);
              must(got === Math.min(read, sent - received));
              for (let i = 0; i < got; i++) must(target[i] === ((received + i) & 0xff));
              received += got;
              must(reader.available === sent - received);
              must(writer.room === capacityBytes - (sent - received));
            }
          }
        }
      }
    });
  }

  test('of floats, whole ones go in and come out', () => {
    const { writer, reader } = rawStream(64);
    expect(writer.tryWrite(new Uint8Array(3))).toBe(3);
    expect(reader.tryRead(new Float32Array(1))).toBe(0);
    expect(reader.tryRead(new Uint8Array(3))).toBe(3);
    const samples = Float32Array.from({ length: 20 }, (_, i) => i / 3);
    writer.tryWrite(new Uint8Array(2));
    expect(writer.tryWrite(samples)).toBe(60);
    reader.tryRead(new Uint8Array(2));
    const block = new Float32Array(20);
    expect(reader.tryRead(block)).toBe(60);
    expect([...block.subarray(0, 15)]).toEqual([...samples.subarray(0, 15)]);
    expect(() => writer.tryWrite([1, 2] as never)).toThrow(TypeError);
    expect(() => reader.tryRead(new ArrayBuffer(8) as never)).toThrow(TypeError);
    expect(writer.tryWrite(new DataView(new ArrayBuffer(5)))).toBe(5);
    expect(reader.tryRead(new Uint8Array(0))).toBe(0);
  });

  test('more than fits are written as room comes', async () => {
    const { writer, reader } = rawStream(16);
    const bytes = Uint8Array.from({ length: 100 }, (_, i) => i);
    const writing = writer.writeAsync(bytes);
    expect(writer.tryWrite(bytes)).toBe(0);
    expect(codeOf(() => writer.write(bytes))).toBe('ERR_HEDDLE_OUTSTANDING');
    const received: number[] = [];
    const target = new Uint8Array(7);
    while (received.length < 100) {
      const count = await reader.readAsync(target);
      received.push(...target.subarray(0, count));
    }
    expect(await writing).toBe(100);
    expect(received).toEqual([...bytes]);
  });

  test('a time that is up tells what was written and read', async () => {
    const { writer, reader } = rawStream(16);
    expect(writer.write(new Uint8Array(20), { timeout: 5 })).toBe(16);
    expect(await writer.writeAsync(new Uint8Array(20), { timeout: 5 })).toBe(0);
    expect(reader.read(new Uint8Array(20))).toBe(16);
    for (const timeout of [0, -1, 5]) {
      expect(reader.read(new Uint8Array(20), { timeout })).toBe(0);
      expect(await reader.readAsync(new Uint8Array(20), { timeout })).toBe(0);
    }
    expect(() => reader.read(new Uint8Array(1), { timeout: Number.NaN })).toThrow(RangeError);
    const first = reader.readAsync(new Uint8Array(1));
    await expect(reader.readAsync(new Uint8Array(1))).rejects.toMatchObject({
      code: 'ERR_HEDDLE_OUTSTANDING',
    });
    writer.tryWrite(new Uint8Array(1));
    expect(await first).toBe(1);
  });

  test('bytes that are transferred away while a part of them waits fail the write', async () => {
    const { writer, reader } = rawStream(16);
    for (const view of [new Uint8Array(20), new Int16Array(10)]) {
      const writing = writer.writeAsync(view);
      structuredClone(view.buffer, { transfer: [view.buffer] });
      expect(reader.tryRead(new Uint8Array(16))).toBe(16);
      await expect(writing).rejects.toThrow(TypeError);
      expect(reader.tryRead(new Uint8Array(16))).toBe(0);
    }
  });

  test('an asynchronous read whose bytes are read otherwise before it goes on waits for others', async () => {
    const { writer, reader } = rawStream(16);
    writer.tryWrite(new Uint8Array(1));
    const target = new Uint8Array(2);
    const reading = reader.readAsync(target);
    expect(reader.tryRead(new Uint8Array(1))).toBe(1);
    const later = new Promise((resolve) => setImmediate(resolve)).then(() =>
      writer.tryWrite(Uint8Array.of(7)),
    );
    expect(await reading).toBe(1);
    expect(target[0]).toBe(7);
    expect(await later).toBe(1);
  });

  test('closed, the rest is read, then everything fails', async () => {
    const { writer, reader, close } = rawStream(16);
    writer.tryWrite(new Uint8Array(5));
    const reading = reader.readAsync(new Float64Array(2));
    close();
    await expect(reading).rejects.toMatchObject({ code: 'ERR_HEDDLE_CLOSED', facts: { what: 'The stream' } });
    expect(codeOf(() => writer.tryWrite(new Uint8Array(1)))).toBe('ERR_HEDDLE_CLOSED');
    expect(() => writer.tryWrite(new Uint8Array(1))).toThrow('The stream is closed');
    expect(codeOf(() => writer.write(new Uint8Array(20)))).toBe('ERR_HEDDLE_CLOSED');
    expect(codeOf(() => reader.tryRead(new Float64Array(1)))).toBe('ERR_HEDDLE_CLOSED');
    expect(reader.read(new Uint8Array(20))).toBe(5);
    expect(codeOf(() => reader.read(new Uint8Array(1)))).toBe('ERR_HEDDLE_CLOSED');
  });

  test('released, what waits fails', async () => {
    const { writer, reader } = rawStream(16);
    const reading = reader.readAsync(new Uint8Array(1));
    reader.release();
    await expect(reading).rejects.toMatchObject({ code: 'ERR_HEDDLE_RING_ROLE' });
    const writing = writer.writeAsync(new Uint8Array(20));
    writer.release();
    await expect(writing).rejects.toMatchObject({ code: 'ERR_HEDDLE_RING_ROLE' });
  });

  test('a new reader goes on behind what the dead one had begun to read', () => {
    const stream = rawStream(64);
    stream.writer.tryWrite(Uint8Array.from({ length: 10 }, (_, i) => i));
    stream.words[begun] = 4 * 4;
    const next = stream.takeOver();
    expect(next.skippedBytes).toBe(4);
    const target = new Uint8Array(10);
    expect(next.tryRead(target)).toBe(6);
    expect(target[0]).toBe(4);
  });
});

describe('in a segment', () => {
  let segment: Segment;
  beforeEach(() => {
    segment = Segment.create({ byteLength: 2 ** 20 });
  });
  afterEach(() => segment.detach());

  test('sides are taken once, kinds are told apart', () => {
    const stream = SpscStream.create(segment, { name: 's', capacityBytes: 1000 });
    expect(stream.capacityBytes).toBe(1024);
    const writer = stream.writer();
    const reader = SpscStream.from(stream.handle).reader();
    expect(codeOf(() => SpscStream.open(segment, 's').writer())).toBe('ERR_HEDDLE_RING_ROLE');
    expect(codeOf(() => SpscStream.open(segment, 's').reader())).toBe('ERR_HEDDLE_RING_ROLE');
    writer.tryWrite(new Uint8Array(3));
    stream[Symbol.dispose]();
    expect(codeOf(() => writer.tryWrite(new Uint8Array(3)))).toBe('ERR_HEDDLE_RING_ROLE');
    expect(reader.tryRead(new Uint8Array(9))).toBe(3);
    reader.release();
    expect(codeOf(() => reader.tryRead(new Uint8Array(9)))).toBe('ERR_HEDDLE_RING_ROLE');
    stream.close();
    expect(stream.closed).toBe(true);
    for (const bad of [0, 1.5, 2 ** 27 + 1]) {
      expect(() => SpscStream.create(segment, { name: 't', capacityBytes: bad })).toThrow(RangeError);
    }
    segment.detach();
  });

  for (const mode of ['blocking', 'async'] as const) {
    test(`${mode}: every byte arrives once and in order, from another thread`, async () => {
      const byteCount = (process.env['HEDDLE_STRESS'] === 'long' ? 50 : 1) * 200_000;
      const stream = SpscStream.create(segment, { name: 's', capacityBytes: 128 });
      const workerData: StreamTask = { handle: stream.handle, byteCount, mode };
      const worker = new Worker(new URL('./spsc-stream.test-worker.js', import.meta.url), { workerData });
      const reader = stream.reader();
      const target = new Uint8Array(90);
      let received = 0;
      let faults = 0;
      try {
        for (;;) {
          const count = mode === 'async' ? await reader.readAsync(target) : reader.read(target);
          for (let i = 0; i < count; i++) if (target[i] !== (received + i) % 251) faults++;
          received += count;
        }
      } catch (error) {
        expect(error).toMatchObject({ code: 'ERR_HEDDLE_CLOSED' });
      }
      await worker.terminate();
      expect([received, faults]).toEqual([byteCount, 0]);
    });
  }
});
