import { HeddleError, type Platform, realPlatform, Segment } from '@heddle/memory';
import { describe, expect, test } from 'vitest';
import { MpscRing } from './mpsc-ring.js';
import { footprintOf, HEADER_BYTES, PADDING } from './record.layout.js';
import type { RingRecord } from './ring-record.js';
import { closeSpsc, recoverSpsc } from './spsc-close.js';
import { SpscConsumer } from './spsc-consumer.js';
import { SpscProducer } from './spsc-producer.js';
import { SpscRing } from './spsc-ring.js';
import { spscRingLayout } from './spsc-ring.layout.js';
import { SpscStream } from './spsc-stream.js';

const { tail, head, begun } = spscRingLayout.offsets;

/** A ring over plain words, its positions set to `position`. */
function rawRing(capacityBytes: number, position = 0, platform: Platform = realPlatform) {
  const buffer = new SharedArrayBuffer(spscRingLayout.byteLength + capacityBytes);
  const words = new Int32Array(buffer);
  SpscRing.initialise(words, capacityBytes);
  for (const word of [tail, head, begun]) words[word] = position;
  const memory = new Uint8Array(buffer, spscRingLayout.byteLength);
  return {
    words,
    memory,
    producer: new SpscProducer(words, memory, platform),
    consumer: new SpscConsumer(words, memory, platform),
    takeOver: () => new SpscConsumer(words, memory, platform),
    close: () => closeSpsc(words, platform.atomics),
  };
}

function withSegment<Result>(body: (segment: Segment) => Result): Result {
  const segment = Segment.create({ byteLength: 2 ** 22 });
  const finish = () => segment.detach();
  try {
    const result = body(segment);
    if (result instanceof Promise) return result.finally(finish) as Result;
    finish();
    return result;
  } catch (error) {
    finish();
    throw error;
  }
}

/** Sides of all kinds that a thread is in the middle of using: what they may not do any more, and what waits. */
function holdSides(segment: Segment) {
  const rings = [SpscRing, MpscRing].map((Ring) =>
    Ring.create(segment, { name: Ring.name, capacityBytes: 64 }),
  );
  const producers = rings.map((ring) => ring.producer());
  const consumers = rings.map((ring) => ring.consumer());
  const stream = SpscStream.create(segment, { name: 's', capacityBytes: 16 });
  const [writer, reader] = [stream.writer(), stream.reader()];
  const waiting: Promise<unknown>[] = [...consumers.map((consumer) => consumer.readAsync())];
  waiting.push(reader.readAsync(new Uint8Array(1)));
  for (const producer of producers) producer.tryClaim(8, 1);
  for (const each of waiting) each.catch(() => {});
  const sides = [
    ...producers.map((producer) => () => producer.tryWriteWords(1)),
    ...consumers.map((consumer) => () => consumer.tryRead()),
    () => writer.tryWrite(new Uint8Array(1)),
    () => reader.tryRead(new Uint8Array(1)),
  ];
  const release = () => {
    for (const side of [...producers, ...consumers, writer, reader]) side.release();
  };
  return { words: new Uint8Array(segment.buffer), sides, waiting, release };
}

/** Bytes that tell records of the same length apart. */
function pattern(length: number, seed: number): Uint8Array {
  return Uint8Array.from({ length }, (_, i) => (seed * 31 + i * 7 + length) & 0xff);
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

const copyOf = (record: RingRecord | undefined) => record && [...record.bytes];

describe('records', () => {
  test('arrive in order, with their tags, whatever their length', () => {
    const { producer, consumer } = rawRing(1024);
    const records = [0, 1, 7, 8, 9, 100, 0, 255].map((length, i) => pattern(length, i));
    for (const [i, bytes] of records.entries()) expect(producer.tryWrite(bytes, i - 3)).toBe(true);
    for (const [i, bytes] of records.entries()) {
      const record = consumer.tryRead();
      expect(record?.tag).toBe(i - 3);
      expect(record?.byteLength).toBe(bytes.length);
      expect(copyOf(record)).toEqual([...bytes]);
    }
    expect(consumer.tryRead()).toBeUndefined();
  });

  test('an empty record is a record', () => {
    const { producer, consumer } = rawRing(16);
    expect(producer.tryWrite(new Uint8Array(0))).toBe(true);
    expect(producer.tryWrite(new Uint8Array(0), 5)).toBe(true);
    expect(producer.tryWrite(new Uint8Array(0))).toBe(false);
    expect(consumer.tryRead()?.byteLength).toBe(0);
    expect(consumer.tryRead()?.tag).toBe(5);
    expect(consumer.tryRead()).toBeUndefined();
  });

  test('of words come back as words, without bytes in between', () => {
    const { producer, consumer } = rawRing(128);
    expect(producer.tryWriteWords(9)).toBe(true);
    expect(producer.tryWriteWords(1, -1)).toBe(true);
    expect(producer.tryWriteWords(2, 2 ** 31 - 1, -(2 ** 31), 3, 4)).toBe(true);
    expect(consumer.tryRead()?.byteLength).toBe(0);
    expect(consumer.tryRead()?.word(0)).toBe(-1);
    const record = consumer.tryRead()!;
    expect([0, 1, 2, 3].map((i) => record.word(i))).toEqual([2 ** 31 - 1, -(2 ** 31), 3, 4]);
    for (const outside of [4, -1, 0.5, Number.NaN, 2 ** 32])
      expect(() => record.word(outside)).toThrow(RangeError);
  });

  test('word reads across a skewed payload', () => {
    const { producer, consumer } = rawRing(1024);
    const source = new Uint8Array(new ArrayBuffer(400), 3, 300);
    source.set(pattern(300, 1));
    producer.tryWrite(source);
    const expected = new DataView(source.buffer).getInt32(
      3 + 8,
      new Uint8Array(new Uint32Array([1]).buffer)[0] === 1,
    );
    const record = consumer.tryRead()!;
    expect(record.byteOffset % 8).toBe(3);
    expect(record.word(2)).toBe(expected);
    const target = new Uint8Array(302);
    expect(record.copyTo(target, 2)).toBe(300);
    expect([...target.subarray(2)]).toEqual([...source]);
    for (const bad of [3, -1, 0.5, Number.NaN]) expect(() => record.copyTo(target, bad)).toThrow(RangeError);
    expect(() => record.copyTo(new Uint16Array(300) as never)).toThrow(TypeError);
  });

  test('payloads start at a multiple of 8, large ones congruent to their source', () => {
    const { producer, consumer } = rawRing(4096);
    for (let skew = 0; skew < 8; skew++) {
      for (const length of [64, 256]) {
        const bytes = new Uint8Array(new ArrayBuffer(512), skew, length);
        expect(producer.tryWrite(bytes)).toBe(true);
        expect(consumer.tryRead()!.byteOffset % 8).toBe(length === 64 ? 0 : skew);
      }
    }
  });

  test('a record can be written again to the ring that it is read from', () => {
    for (const length of [20, 300, 3000]) {
      const { producer, consumer } = rawRing(16_384);
      const bytes = new Uint8Array(length + 3).subarray(3);
      bytes.set(pattern(length, 1));
      producer.tryWrite(bytes, 0);
      for (let round = 0; round < 30; round++) {
        const record = consumer.tryRead()!;
        expect(record.tag).toBe(round);
        must(Buffer.compare(record.bytes, bytes) === 0);
        expect(producer.tryWrite(record.bytes, round + 1)).toBe(true);
      }
    }
  });

  test('drain reads what is there, up to the limit, and gives the space back once', () => {
    const { producer, consumer, words } = rawRing(256);
    for (let i = 0; i < 10; i++) producer.tryWriteWords(i);
    const tags: number[] = [];
    expect(consumer.drain((record) => tags.push(record.tag), 4)).toBe(4);
    expect(consumer.drain((record) => tags.push(record.tag))).toBe(6);
    expect(consumer.drain((record) => tags.push(record.tag))).toBe(0);
    expect(tags).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(words[head]).toBe(words[tail]);
    expect(() => consumer.drain(() => {}, -1)).toThrow(RangeError);
    for (const bad of ['5', 5n, null])
      expect(() => consumer.drain(() => {}, bad as never)).toThrow(TypeError);
    expect(consumer.drain(() => {}, 0)).toBe(0);
  });

  test('drain does not read what is written while it runs', () => {
    const { producer, consumer } = rawRing(256);
    producer.tryWriteWords(0);
    expect(consumer.drain(() => producer.tryWriteWords(1))).toBe(1);
    expect(consumer.tryRead()?.tag).toBe(1);
  });

  test('drain looks again once it has read what it knew of, and says 0 where there is nothing only', () => {
    const { producer, consumer } = rawRing(256);
    for (let i = 0; i < 3; i++) producer.tryWriteWords(i);
    expect(consumer.tryRead()?.tag).toBe(0);
    producer.tryWriteWords(3);
    const tags: number[] = [];
    const drain = () => consumer.drain((record) => tags.push(record.tag));
    expect([drain(), drain(), drain()]).toEqual([2, 1, 0]);
    expect(tags).toEqual([1, 2, 3]);
  });

  test('a handler that throws ends the drain behind its record', () => {
    const { producer, consumer } = rawRing(256);
    for (let i = 0; i < 3; i++) producer.tryWriteWords(i);
    const fail = () => {
      throw new Error('mine');
    };
    expect(() => consumer.drain(fail)).toThrow('mine');
    expect(consumer.tryRead()?.tag).toBe(1);
    expect(consumer.tryRead()?.tag).toBe(2);
  });

  test('one cursor: reading inside of a drain is refused', () => {
    const { producer, consumer } = rawRing(256);
    producer.tryWriteWords(0);
    producer.tryWriteWords(1);
    expect(codeOf(() => consumer.drain(() => consumer.tryRead()))).toBe('ERR_HEDDLE_OUTSTANDING');
    expect(consumer.tryRead()?.tag).toBe(1);
  });

  test('space of the record at hand is not written over', () => {
    const { producer, consumer } = rawRing(32);
    producer.tryWrite(pattern(24, 1));
    const record = consumer.tryRead()!;
    expect(producer.tryWrite(new Uint8Array(0))).toBe(false);
    expect(copyOf(record)).toEqual([...pattern(24, 1)]);
    consumer.releaseRecord();
    expect(producer.tryWrite(new Uint8Array(0))).toBe(true);
  });
});

describe('claims', () => {
  test('are written in place and seen at commit', () => {
    const { producer, consumer } = rawRing(64);
    const at = producer.tryClaim(3, 7);
    producer.memory.set([1, 2, 3], at);
    expect(consumer.tryRead()).toBeUndefined();
    producer.commit();
    expect(consumer.tryRead()?.tag).toBe(7);
  });

  test('can become shorter', () => {
    const { producer, consumer } = rawRing(64);
    const at = producer.tryClaim(40);
    producer.memory.set([1, 2, 3], at);
    expect(() => producer.commit(41)).toThrow(RangeError);
    producer.commit(3);
    expect(producer.tryWrite(pattern(32, 0))).toBe(true);
    expect(copyOf(consumer.tryRead())).toEqual([1, 2, 3]);
    expect(copyOf(consumer.tryRead())).toEqual([...pattern(32, 0)]);
  });

  test('aborted leave nothing, also behind padding', () => {
    const { producer, consumer, words } = rawRing(64);
    for (let i = 0; i < 2; i++) {
      producer.tryWrite(pattern(16, 0));
      consumer.tryRead();
    }
    consumer.releaseRecord();
    const before = words[tail];
    expect(producer.tryClaim(24)).toBe(HEADER_BYTES);
    producer.abort();
    expect(words[tail]).toBe(before);
    expect(consumer.tryRead()).toBeUndefined();
    expect(producer.tryWrite(pattern(8, 3))).toBe(true);
    expect(copyOf(consumer.tryRead())).toEqual([...pattern(8, 3)]);
  });

  test('one at a time, and none without one', () => {
    const { producer } = rawRing(64);
    expect(codeOf(() => producer.commit())).toBe('ERR_HEDDLE_NOT_HOLDER');
    expect(codeOf(() => producer.abort())).toBe('ERR_HEDDLE_NOT_HOLDER');
    producer.tryClaim(1);
    expect(codeOf(() => producer.tryClaim(1))).toBe('ERR_HEDDLE_OUTSTANDING');
    expect(codeOf(() => producer.tryWrite(new Uint8Array(1)))).toBe('ERR_HEDDLE_OUTSTANDING');
    expect(codeOf(() => producer.tryWriteWords(1))).toBe('ERR_HEDDLE_OUTSTANDING');
    producer.abort();
    expect(producer.tryWrite(new Uint8Array(1))).toBe(true);
  });

  test('refuse lengths and skews that are none, before anything changes', () => {
    const { producer } = rawRing(64);
    for (const bad of [-1, 1.5, Number.NaN, '8', undefined]) {
      expect(() => producer.tryClaim(bad as number)).toThrow(RangeError);
    }
    for (const bad of [-1, 8, 0.5]) expect(() => producer.tryClaim(1, 0, bad)).toThrow(RangeError);
    expect(() => producer.tryWrite('text' as unknown as Uint8Array)).toThrow(TypeError);
    expect(() => producer.tryWrite(new Int32Array(2) as unknown as Uint8Array)).toThrow(TypeError);
    expect(producer.tryClaim(1)).toBe(HEADER_BYTES);
  });

  test('corked are published together, or when the ring is full', () => {
    const { producer, consumer } = rawRing(64);
    producer.cork();
    producer.tryWriteWords(1);
    producer.tryWriteWords(2);
    expect(consumer.tryRead()).toBeUndefined();
    producer.uncork();
    expect(consumer.tryRead()?.tag).toBe(1);
    expect(consumer.tryRead()?.tag).toBe(2);
    consumer.releaseRecord();
    producer.cork();
    while (producer.tryWriteWords(3)) {}
    let count = 0;
    while (consumer.drain(() => count++) > 0) {}
    expect(count).toBe(64 / HEADER_BYTES);
    producer.tryWriteWords(4);
    producer.release();
    expect(consumer.tryRead()?.tag).toBe(4);
  });
});

describe('TR-01: positions beyond 2^31 and 2^32', () => {
  for (const before of [2 ** 31, 2 ** 32]) {
    for (const fill of ['empty', 'half full', 'full']) {
      test(`${fill} at ${before}`, () => {
        const capacityBytes = 128;
        const start = (before - 3 * 4) | 0;
        const { producer, consumer } = rawRing(capacityBytes, start);
        const sent: Uint8Array[] = [];
        const received: number[][] = [];
        const put = (length: number) => {
          const bytes = pattern(length, sent.length);
          if (!producer.tryWrite(bytes)) return false;
          sent.push(bytes);
          return true;
        };
        if (fill === 'half full') put(capacityBytes / 2 - HEADER_BYTES);
        if (fill === 'full') while (put(0)) {}
        if (fill === 'full') expect(sent.length).toBe(capacityBytes / HEADER_BYTES);
        for (let i = 0; i < 40; i++) {
          while (!put((i * 13) % 41)) received.push(copyOf(consumer.tryRead())!);
        }
        consumer.drain((record) => received.push(copyOf(record)!));
        expect(received).toEqual(sent.map((bytes) => [...bytes]));
        expect(consumer.tryRead()).toBeUndefined();
      });
    }
  }
});

describe('TR-03: capacities', () => {
  for (const asked of [1, 2, 3, 6, 16, 1000, 1024, 4095, 4097, 12288]) {
    test(`${asked} bytes are rounded up, filled exactly and drained`, () =>
      withSegment((segment) => {
        const ring = SpscRing.create(segment, { name: 'r', capacityBytes: asked });
        const { capacityBytes } = ring;
        expect(capacityBytes).toBe(Math.max(16, 2 ** Math.ceil(Math.log2(asked))));
        for (const start of [0, (2 ** 31 - 8) | 0, -8]) {
          const { producer, consumer } = rawRing(capacityBytes, start);
          for (let lap = 0; lap < 3; lap++) {
            let count = 0;
            while (producer.tryWrite(new Uint8Array(0), count)) count++;
            expect(count).toBe(capacityBytes / HEADER_BYTES);
            let next = 0;
            while (consumer.drain((record) => must(record.tag === next++)) > 0) {}
            expect(next).toBe(count);
          }
        }
      }));
  }

  test('impossible ones are refused', () =>
    withSegment((segment) => {
      for (const bad of [0, -1, 1.5, Number.NaN, 2 ** 30 + 1, 2 ** 31, 2 ** 32, Number.POSITIVE_INFINITY]) {
        expect(() => SpscRing.create(segment, { name: 'r', capacityBytes: bad })).toThrow(RangeError);
      }
      expect(() => SpscRing.create(segment, { name: 'r', capacityBytes: '64' as unknown as number })).toThrow(
        TypeError,
      );
      for (const bad of [-1, 0.5, 2 ** 28]) {
        expect(() => SpscRing.create(segment, { name: 'r', maxRecordBytes: bad })).toThrow(RangeError);
      }
      expect(SpscRing.byteLengthFor({ capacityBytes: 2 ** 30 })).toBe(2 ** 30 + spscRingLayout.byteLength);
      const ring = SpscRing.create(segment, { name: 'r', maxRecordBytes: 100_000 });
      expect(ring.maxRecordBytes).toBe(2 ** 17 - HEADER_BYTES);
    }));
});

describe('TR-04: framing at the end of the ring', () => {
  for (const capacityBytes of [16, 64, 128, 256]) {
    test(`every length at every offset of ${capacityBytes} bytes`, () => {
      const { maxRecordBytes } = rawRing(capacityBytes).producer;
      for (let offset = 0; offset < capacityBytes; offset += 8) {
        for (let length = 0; length <= maxRecordBytes; length++) {
          // Half of the runs cross 2^32.
          const position = (offset / 2 - (length % 2) * capacityBytes * 4) | 0;
          const { producer, consumer } = rawRing(capacityBytes, position);
          const bytes = pattern(length, offset);
          let written = producer.tryWrite(bytes, length);
          if (!written) {
            // Padding and record together are more than the ring: the padding goes first.
            must(footprintOf(length) > offset);
            must(consumer.tryRead() === undefined);
            written = producer.tryWrite(bytes, length);
          }
          must(written);
          const record = consumer.tryRead()!;
          must(record.tag === length);
          must(Buffer.compare(record.bytes, bytes) === 0);
          const larger = new Uint8Array(length + 5);
          must(record.copyTo(larger, 5) === length && Buffer.compare(larger.subarray(5), bytes) === 0);
          if (length > 0) expect(() => record.copyTo(new Uint8Array(length - 1))).toThrow(RangeError);
          must(consumer.tryRead() === undefined);
        }
      }
    });
  }

  test('padding is never read as data, also when nothing follows it', () => {
    const { producer, consumer, words } = rawRing(64);
    producer.tryWrite(pattern(16, 0));
    consumer.tryRead();
    consumer.releaseRecord();
    expect(producer.tryWrite(pattern(56, 1))).toBe(false);
    expect(words[spscRingLayout.wordCount + 6]).toBe(PADDING);
    expect(consumer.drain(() => expect.unreachable())).toBe(0);
    expect(producer.tryWrite(pattern(56, 1))).toBe(true);
    expect(copyOf(consumer.tryRead())).toEqual([...pattern(56, 1)]);
  });
});

describe('TR-07: large records', () => {
  test('the maximum goes through, more fails at once and says the maximum', async () => {
    const capacityBytes = 4096;
    const { producer, consumer } = rawRing(capacityBytes);
    const max = producer.maxRecordBytes;
    expect(max).toBe(capacityBytes - HEADER_BYTES);
    for (const length of [max + 1, capacityBytes, capacityBytes + 1, 10 * capacityBytes]) {
      const bytes = new Uint8Array(length);
      const failure = {
        code: 'ERR_HEDDLE_RECORD_TOO_LARGE',
        facts: { byteLength: length, maxRecordBytes: max },
      };
      expect(() => producer.tryWrite(bytes)).toThrow(expect.objectContaining(failure));
      expect(() => producer.tryClaim(length)).toThrow(expect.objectContaining(failure));
      expect(() => producer.write(bytes)).toThrow(expect.objectContaining(failure));
      expect(() => producer.write(bytes, { timeout: 5 })).toThrow(expect.objectContaining(failure));
      await expect(producer.writeAsync(bytes)).rejects.toMatchObject(failure);
    }
    for (let i = 0; i < 5; i++) {
      expect(producer.write(pattern(max, i), { timeout: 0 })).toBe(true);
      expect(producer.tryWrite(new Uint8Array(1))).toBe(false);
      expect(producer.write(new Uint8Array(1), { timeout: 0 })).toBe(false);
      const small = producer.writeAsync(pattern(1, i));
      expect(Buffer.compare(consumer.tryRead()!.bytes, pattern(max, i))).toBe(0);
      expect(consumer.tryRead()).toBeUndefined();
      expect(await small).toBe(true);
      expect(copyOf(consumer.tryRead())).toEqual([...pattern(1, i)]);
      expect(consumer.tryRead()).toBeUndefined();
      // The next one does not fit in front of the end.
      const padded = producer.writeAsync(pattern(max, 9));
      expect(Buffer.compare((await consumer.readAsync()).bytes, pattern(max, 9))).toBe(0);
      expect(await padded).toBe(true);
      consumer.releaseRecord();
    }
  });
});

describe('waiting', () => {
  test('timeouts: 0 and negative try once, NaN is refused, a time that is up gives false and undefined', async () => {
    const { producer, consumer } = rawRing(16);
    for (const timeout of [0, -1]) {
      expect(consumer.read({ timeout })).toBeUndefined();
      expect(await consumer.readAsync({ timeout })).toBeUndefined();
    }
    expect(consumer.read({ timeout: 5 })).toBeUndefined();
    expect(await consumer.readAsync({ timeout: 5 })).toBeUndefined();
    expect(() => consumer.read({ timeout: Number.NaN })).toThrow(RangeError);
    await expect(consumer.readAsync({ timeout: Number.NaN })).rejects.toThrow(RangeError);
    expect(producer.write(pattern(8, 0), { timeout: 0 })).toBe(true);
    for (const timeout of [0, -1, 5]) {
      expect(producer.write(pattern(8, 0), { timeout })).toBe(false);
      expect(await producer.writeAsync(pattern(8, 0), { timeout })).toBe(false);
    }
    expect(() => producer.write(pattern(8, 0), { timeout: Number.NaN })).toThrow(RangeError);
    await expect(producer.writeAsync(pattern(8, 0), { timeout: Number.NaN })).rejects.toThrow(RangeError);
    expect(consumer.read()?.byteLength).toBe(8);
  });

  test('spins that are not a bounded number are refused, before anything is done', () => {
    const { producer, consumer } = rawRing(16);
    for (const spins of [Number.POSITIVE_INFINITY, -1, 0.5, Number.NaN, 2 ** 16 + 1]) {
      expect(() => producer.write(new Uint8Array(1), { spins })).toThrow(RangeError);
      expect(() => consumer.read({ spins })).toThrow(RangeError);
    }
    expect(consumer.tryRead()).toBeUndefined();
  });

  test('LC-03: on a thread that must not block the blocking forms always fail', () => {
    const { producer, consumer } = rawRing(64, 0, { ...realPlatform, canBlock: () => false });
    expect(codeOf(() => producer.write(new Uint8Array(1)))).toBe('ERR_HEDDLE_MUST_NOT_BLOCK');
    producer.tryWrite(new Uint8Array(1));
    expect(codeOf(() => consumer.read())).toBe('ERR_HEDDLE_MUST_NOT_BLOCK');
    expect(codeOf(() => consumer.wait({ timeout: 0 }))).toBe('ERR_HEDDLE_MUST_NOT_BLOCK');
    expect(consumer.tryRead()?.byteLength).toBe(1);
  });

  test('asynchronous writes keep the order of their calls, a small one behind a large one', async () => {
    const { producer, consumer } = rawRing(64);
    producer.tryWrite(pattern(40, 0));
    const large = producer.writeAsync(pattern(48, 1), { tag: 1 });
    const small = producer.writeAsync(pattern(0, 2), { tag: 2 });
    expect(producer.tryWrite(new Uint8Array(0))).toBe(false);
    expect(producer.tryClaim(0)).toBe(-1);
    expect(codeOf(() => producer.write(new Uint8Array(0)))).toBe('ERR_HEDDLE_OUTSTANDING');
    const tags: number[] = [];
    while (tags.length < 3) tags.push((await consumer.readAsync()).tag);
    expect(tags).toEqual([0, 1, 2]);
    expect(await Promise.all([large, small])).toEqual([true, true]);
    expect(producer.tryWrite(new Uint8Array(0))).toBe(true);
  });

  test('an aborted or timed-out write lets the next one pass', async () => {
    const { producer, consumer } = rawRing(128);
    producer.tryWrite(pattern(80, 0));
    const abort = new AbortController();
    const large = producer.writeAsync(pattern(56, 1), { signal: abort.signal });
    const timed = producer.writeAsync(pattern(56, 1), { timeout: 5 });
    const small = producer.writeAsync(pattern(0, 2), { tag: 2 });
    expect(await timed).toBe(false);
    abort.abort(new Error('mine'));
    await expect(large).rejects.toThrow('mine');
    expect(await small).toBe(true);
    expect(consumer.tryRead()?.tag).toBe(0);
    expect(consumer.tryRead()?.tag).toBe(2);
    await expect(producer.writeAsync(pattern(1, 1), { signal: abort.signal })).rejects.toThrow('mine');
    expect(producer.tryWrite(new Uint8Array(0))).toBe(true);
  });

  test('one asynchronous read at a time; an aborted one takes nothing', async () => {
    const { producer, consumer } = rawRing(64);
    const abort = new AbortController();
    const first = consumer.readAsync({ signal: abort.signal });
    await expect(consumer.readAsync()).rejects.toMatchObject({ code: 'ERR_HEDDLE_OUTSTANDING' });
    abort.abort(new Error('mine'));
    await expect(first).rejects.toThrow('mine');
    const second = consumer.readAsync();
    producer.tryWriteWords(3);
    expect((await second)?.tag).toBe(3);
  });

  test('an asynchronous read whose record is read otherwise before it goes on waits for the next one', async () => {
    const { producer, consumer } = rawRing(64);
    producer.tryWriteWords(1);
    const reading = consumer.readAsync();
    expect(consumer.drain(() => {})).toBe(1);
    const later = new Promise((resolve) => setImmediate(resolve)).then(() => producer.tryWriteWords(2));
    expect((await reading)?.tag).toBe(2);
    expect(await later).toBe(true);
    producer.tryWriteWords(3);
    const late = consumer.readAsync({ timeout: 5 });
    expect(consumer.drain(() => {})).toBe(1);
    expect(await late).toBeUndefined();
  });

  test('iterating, however much there is, lets the event loop turn', async () => {
    let clock = 0;
    const { producer, consumer, close } = rawRing(1024, 0, { ...realPlatform, now: () => clock++ });
    while (producer.tryWriteWords(0)) {}
    close();
    let turns = 0;
    const turn = () => {
      turns++;
      immediate = setImmediate(turn);
    };
    let immediate = setImmediate(turn);
    let count = 0;
    for await (const _ of consumer) count++;
    clearImmediate(immediate);
    expect(count).toBe(1024 / HEADER_BYTES);
    expect(turns).toBeGreaterThan(1);
  });

  test('iterates until the close', async () => {
    const { producer, consumer, close } = rawRing(32);
    const tags: number[] = [];
    const reading = (async () => {
      for await (const record of consumer) tags.push(record.tag);
    })();
    for (let i = 0; i < 20; i++) await producer.writeAsync(pattern(4, i), { tag: i });
    close();
    await reading;
    expect(tags).toEqual(Array.from({ length: 20 }, (_, i) => i));
  });
});

describe('close', () => {
  test('a final record arrives, then every call fails', async () => {
    const { producer, consumer, close } = rawRing(64);
    producer.tryWriteWords(1);
    producer.tryWriteWords(2);
    const at = producer.tryClaim(4);
    close();
    close();
    expect(at).toBeGreaterThan(0);
    expect(codeOf(() => producer.commit())).toBe('ERR_HEDDLE_CLOSED');
    expect(codeOf(() => producer.tryWriteWords(3))).toBe('ERR_HEDDLE_CLOSED');
    expect(codeOf(() => producer.write(new Uint8Array(60)))).toBe('ERR_HEDDLE_RECORD_TOO_LARGE');
    expect(codeOf(() => producer.write(new Uint8Array(50)))).toBe('ERR_HEDDLE_CLOSED');
    await expect(producer.writeAsync(new Uint8Array(50))).rejects.toMatchObject({
      code: 'ERR_HEDDLE_CLOSED',
    });
    expect(consumer.read()?.tag).toBe(1);
    expect((await consumer.readAsync())?.tag).toBe(2);
    expect(codeOf(() => consumer.tryRead())).toBe('ERR_HEDDLE_CLOSED');
    expect(codeOf(() => consumer.read())).toBe('ERR_HEDDLE_CLOSED');
    expect(codeOf(() => consumer.drain(() => {}))).toBe('ERR_HEDDLE_CLOSED');
    await expect(consumer.readAsync()).rejects.toMatchObject({ code: 'ERR_HEDDLE_CLOSED' });
    expect(producer.closed).toBe(true);
  });

  test('TR-11: ends what waits on the event loop', async () => {
    const { producer, consumer, close } = rawRing(16);
    const reading = consumer.readAsync();
    close();
    await expect(reading).rejects.toMatchObject({ code: 'ERR_HEDDLE_CLOSED' });
    const full = rawRing(16);
    full.producer.tryWrite(new Uint8Array(8));
    const writing = [
      full.producer.writeAsync(new Uint8Array(1)),
      full.producer.writeAsync(new Uint8Array(2)),
    ];
    full.close();
    for (const each of writing) await expect(each).rejects.toMatchObject({ code: 'ERR_HEDDLE_CLOSED' });
    expect(codeOf(() => producer.tryWriteWords(0))).toBe('ERR_HEDDLE_CLOSED');
  });
});

describe('sides', () => {
  test('a second living holder is refused, a released side is free', () =>
    withSegment((segment) => {
      const ring = SpscRing.create(segment, { name: 'r' });
      const producer = ring.producer();
      ring.consumer();
      for (const second of [ring, SpscRing.open(segment, 'r'), SpscRing.from(ring.handle)]) {
        expect(codeOf(() => second.producer())).toBe('ERR_HEDDLE_RING_ROLE');
        expect(codeOf(() => second.consumer())).toBe('ERR_HEDDLE_RING_ROLE');
      }
      producer.release();
      producer.release();
      expect(codeOf(() => producer.tryWriteWords(0))).toBe('ERR_HEDDLE_RING_ROLE');
      expect(codeOf(() => producer.tryClaim(0))).toBe('ERR_HEDDLE_RING_ROLE');
      const next = ring.producer();
      expect(next.tryWriteWords(0)).toBe(true);
      ring[Symbol.dispose]();
      expect(codeOf(() => next.tryWriteWords(0))).toBe('ERR_HEDDLE_RING_ROLE');
      const reader = SpscRing.open(segment, 'r').consumer();
      expect(reader.tryRead()?.tag).toBe(0);
      reader.release();
      expect(codeOf(() => reader.tryRead())).toBe('ERR_HEDDLE_RING_ROLE');
      segment.detach();
    }));

  test('released, what waits fails, and touches nothing of the next holder', async () => {
    const { producer, consumer, takeOver } = rawRing(16);
    const reading = consumer.readAsync();
    consumer.release();
    await expect(reading).rejects.toMatchObject({ code: 'ERR_HEDDLE_RING_ROLE' });
    producer.tryWrite(new Uint8Array(8));
    const writing = [producer.writeAsync(new Uint8Array(1)), producer.writeAsync(new Uint8Array(2))];
    producer.release();
    for (const each of writing) await expect(each).rejects.toMatchObject({ code: 'ERR_HEDDLE_RING_ROLE' });
    const next = takeOver();
    expect(next.tryRead()?.byteLength).toBe(8);
    expect(next.tryRead()).toBeUndefined();
  });

  test('a new producer goes on behind what the dead one published', () => {
    const ring = rawRing(64);
    ring.producer.tryWriteWords(1);
    ring.producer.tryClaim(4);
    recoverSpsc(ring.words, 77, realPlatform.atomics);
    const next = new SpscProducer(ring.words, ring.memory);
    next.tryWriteWords(2);
    expect(ring.consumer.tryRead()?.tag).toBe(1);
    expect(ring.consumer.tryRead()?.tag).toBe(2);
    expect(ring.consumer.tryRead()).toBeUndefined();
  });

  test('a new consumer does not read again what the dead one had begun, and counts it', () => {
    for (const start of [0, -64]) {
      const ring = rawRing(128, start);
      for (let i = 0; i < 5; i++) ring.producer.tryWrite(pattern(14, i), i);
      let begunRecords = 0;
      // It stops in the middle of a drain: the space is not given back.
      const stop = new Error('stop');
      const { words } = ring;
      const headBefore = words[head]!;
      try {
        ring.consumer.drain(() => {
          if (++begunRecords === 3) throw stop;
        });
      } catch {
        words[head] = headBefore;
      }
      const next = ring.takeOver();
      expect(next.skippedRecords).toBe(3);
      expect(next.tryRead()?.tag).toBe(3);
      expect(next.tryRead()?.tag).toBe(4);
      expect(next.tryRead()).toBeUndefined();
      expect(ring.takeOver().skippedRecords).toBe(0);
    }
  });

  test('of a thread that detaches touch nothing of the next holder, and what waits fails', async () => {
    const segment = Segment.create({ byteLength: 2 ** 20 });
    const { words, sides, waiting, release } = holdSides(segment);
    segment.detach();
    const before = words.slice();
    for (const use of sides) expect(codeOf(use)).toBe('ERR_HEDDLE_RING_ROLE');
    release();
    for (const each of waiting) await expect(each).rejects.toMatchObject({ code: 'ERR_HEDDLE_RING_ROLE' });
    expect(Buffer.compare(words.slice(), before)).toBe(0);
  });

  test('disposing twice detaches once: other handles of the thread go on', () =>
    withSegment((segment) => {
      const ring = SpscRing.create(segment, { name: 'r' });
      const [first, second] = [SpscRing.from(ring.handle), SpscRing.from(ring.handle)];
      for (let i = 0; i < 3; i++) first[Symbol.dispose]();
      expect(second.producer().tryWriteWords(1)).toBe(true);
      expect(ring.consumer().tryRead()?.tag).toBe(1);
      second[Symbol.dispose]();
    }));

  test('handles are told apart', () =>
    withSegment((segment) => {
      expect(() => SpscRing.from(segment.handle as never)).toThrow(TypeError);
      expect(codeOf(() => SpscRing.open(segment, 'none'))).toBe('ERR_HEDDLE_NAME_UNKNOWN');
      SpscRing.create(segment, { name: 'r' });
      expect(codeOf(() => SpscRing.create(segment, { name: 'r' }))).toBe('ERR_HEDDLE_NAME_TAKEN');
      expect(structuredClone({ ...SpscRing.open(segment, 'r').handle, segment: 0 }).name).toBe('r');
    }));
});

test('PF-08: words that different sides write are 128 bytes apart', () => {
  const { offsets, wordCount } = spscRingLayout;
  const lines = [offsets.capacity, offsets.producer, offsets.tail, offsets.head, wordCount].map((at) =>
    Math.floor(at / 32),
  );
  expect(new Set(lines).size).toBe(lines.length);
  expect(offsets.begun - offsets.head).toBe(1);
});
