import { HeddleError, realPlatform, Segment } from '@heddle/memory';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { closeMpsc } from './mpsc-close.js';
import { MpscConsumer } from './mpsc-consumer.js';
import { MpscProducer } from './mpsc-producer.js';
import { packHeader, STATE } from './mpsc-record.layout.js';
import { recoverMpsc } from './mpsc-recovery.js';
import { MpscRing } from './mpsc-ring.js';
import { mpscByteLength, mpscRingLayout, mpscSlotLayout, slotAt, spaceAt } from './mpsc-ring.layout.js';
import { footprintOf, HEADER_BYTES } from './record.layout.js';
import type { RingRecord } from './ring-record.js';

const { next, headSeen, tail, head, begun, lock } = mpscRingLayout.offsets;
const { holder } = mpscSlotLayout.offsets;
const PRODUCERS = 3;

/** What Node 20 has, and the types of it have not. */
type ResizableArrayBuffer = new (
  byteLength: number,
  options: { readonly maxByteLength: number },
) => ArrayBuffer & { resize(byteLength: number): void };

/** A ring over plain words, its positions set to `position`, with producers of threads 1 to 3. */
function rawRing(capacityBytes: number, position = 0) {
  const buffer = new SharedArrayBuffer(mpscByteLength(PRODUCERS, capacityBytes));
  const words = new Int32Array(buffer);
  MpscRing.initialise(words, { capacityBytes, maxProducers: PRODUCERS });
  for (const word of [next, headSeen, tail, head, begun]) words[word] = position;
  const memory = new Uint8Array(buffer, spaceAt(PRODUCERS) * 4);
  const producers = [1, 2, 3].map((token) => {
    words[slotAt(token - 1) + holder] = token;
    return new MpscProducer(words, memory, { slot: token - 1, token, spaceAt: spaceAt(PRODUCERS) });
  }) as [MpscProducer, MpscProducer, MpscProducer];
  const takeOver = () => new MpscConsumer(words, memory, spaceAt(PRODUCERS));
  return {
    words,
    producers,
    consumer: takeOver(),
    takeOver,
    recover: (token: number) => recoverMpsc(words, token, realPlatform.atomics),
    close: () => closeMpsc(words, realPlatform.atomics),
  };
}

const pattern = (length: number, seed: number) =>
  Uint8Array.from({ length }, (_, i) => (seed * 31 + i * 7 + length) & 0xff);

const codeOf = (run: () => unknown): string | undefined => {
  try {
    run();
    return undefined;
  } catch (error) {
    return error instanceof HeddleError ? error.code : (error as Error).name;
  }
};

const tagsOf = (consumer: MpscConsumer): number[] => {
  const tags: number[] = [];
  while (consumer.drain((record: RingRecord) => tags.push(record.tag)) > 0) {}
  return tags;
};

describe('claims', () => {
  test('are read in their order, when each is committed', () => {
    const { producers, consumer } = rawRing(256);
    const [a, b, c] = producers;
    a.tryClaim(4, 1);
    b.tryClaim(12, 2);
    c.tryWriteWords(3, 33);
    expect(consumer.claimant).toBe(1);
    expect(consumer.tryRead()).toBeUndefined();
    b.commit();
    expect(consumer.tryRead()).toBeUndefined();
    a.commit(0);
    expect(tagsOf(consumer)).toEqual([1, 2, 3]);
    expect(consumer.claimant).toBe(0);
  });

  test('that become shorter or are given up leave nothing to read', () => {
    const { producers, consumer } = rawRing(256);
    const [a, b] = producers;
    for (let round = 0; round < 20; round++) {
      a.tryClaim(40, 1);
      b.tryClaim(9, 2);
      a.commit(round % 41);
      b.abort();
      a.tryWriteWords(3);
      const record = consumer.tryRead();
      expect(record?.byteLength).toBe(round % 41);
      expect(tagsOf(consumer)).toEqual([3]);
    }
    expect(consumer.abandonedRecords).toBe(0);
  });

  test('one open at a time for each producer; release gives it up', () => {
    const { producers, consumer } = rawRing(256);
    const [a, b] = producers;
    a.tryClaim(4, 1);
    expect(codeOf(() => a.tryWriteWords(1))).toBe('ERR_HEDDLE_OUTSTANDING');
    b.tryWriteWords(2);
    a.release();
    expect(tagsOf(consumer)).toEqual([2]);
    expect(codeOf(() => a.tryWriteWords(1))).toBe('ERR_HEDDLE_RING_ROLE');
  });
});

describe('bad input leaves no claim behind', () => {
  test('tags and words that are no Int32', () => {
    const { producers, consumer } = rawRing(256);
    const [a, b] = producers;
    for (const bad of [2 ** 31, -(2 ** 31) - 1, 0.5, Number.NaN, '1', 1n, Symbol('1'), null] as never[]) {
      expect(() => a.tryWrite(new Uint8Array(1), bad)).toThrow(TypeError);
      expect(() => a.write(new Uint8Array(1), { tag: bad })).toThrow(TypeError);
      expect(() => a.tryClaim(1, bad)).toThrow(TypeError);
      expect(() => a.tryWriteWords(bad)).toThrow(TypeError);
      expect(() => a.tryWriteWords(0, bad)).toThrow(TypeError);
      expect(() => a.tryWriteWords(0, 1, 2, 3, bad)).toThrow(TypeError);
    }
    b.tryWriteWords(2);
    expect(tagsOf(consumer)).toEqual([2]);
  });

  for (const length of [10, 300]) {
    test(`${length} bytes that are transferred away, or become fewer, while their write waits`, async () => {
      const { producers, consumer } = rawRing(1024);
      const [a, b] = producers;
      while (b.tryWriteWords(1)) {}
      const gone = new Uint8Array(length);
      const resizable = new (ArrayBuffer as ResizableArrayBuffer)(length, { maxByteLength: length });
      const writing = [a.writeAsync(gone), a.writeAsync(new Uint8Array(resizable))];
      structuredClone(gone.buffer, { transfer: [gone.buffer] });
      resizable.resize(length - 1);
      consumer.drain(() => {});
      for (const settled of await Promise.allSettled(writing)) {
        expect(settled).toMatchObject({ status: 'rejected', reason: expect.any(TypeError) });
      }
      expect(a.tryWriteWords(2)).toBe(true);
      expect(tagsOf(consumer)).toEqual([2]);
    });
  }
});

describe('TR-04: framing at the end of the ring', () => {
  for (const capacityBytes of [32, 64, 128]) {
    test(`every length at every offset of ${capacityBytes} bytes`, () => {
      const longest = capacityBytes / 2 - HEADER_BYTES;
      for (let offset = 0; offset < capacityBytes; offset += 8) {
        for (let length = 0; length <= longest; length++) {
          const position = (offset / 2 - (length % 2) * capacityBytes * 4) | 0;
          const { producers, consumer } = rawRing(capacityBytes, position);
          const bytes = pattern(length, offset);
          expect(producers[0].tryWrite(bytes, length)).toBe(true);
          const record = consumer.tryRead()!;
          expect(record.tag).toBe(length);
          expect(Buffer.compare(record.bytes, bytes)).toBe(0);
          expect(consumer.tryRead()).toBeUndefined();
          expect(producers[1].tryWrite(bytes, length)).toBe(true);
          expect(Buffer.compare(consumer.tryRead()!.bytes, bytes)).toBe(0);
        }
      }
    });
  }
});

describe('TR-01, TR-03: positions and capacities', () => {
  for (const asked of [1, 2, 3, 6, 1000, 1024, 4095, 4097]) {
    test(`${asked} bytes, filled and drained three times, also across 2^31 and 2^32`, () => {
      const segment = Segment.create({ byteLength: 2 ** 20 });
      const { capacityBytes } = MpscRing.create(segment, { name: 'r', capacityBytes: asked });
      segment.detach();
      expect(capacityBytes).toBe(Math.max(32, 2 ** Math.ceil(Math.log2(asked))));
      for (const start of [0, (2 ** 31 - 8) | 0, -8]) {
        const { producers, consumer } = rawRing(capacityBytes, start);
        for (let lap = 0; lap < 3; lap++) {
          let count = 0;
          while (producers[count % 3]!.tryWriteWords(count)) count++;
          expect(count).toBe(capacityBytes / HEADER_BYTES);
          expect(tagsOf(consumer)).toEqual(Array.from({ length: count }, (_, i) => i));
        }
      }
    });
  }

  test('impossible sizes are refused', () => {
    for (const bad of [0, -1, 1.5, 2 ** 30 + 1, Number.NaN]) {
      expect(() => MpscRing.byteLengthFor({ capacityBytes: bad })).toThrow(RangeError);
      expect(() => MpscRing.byteLengthFor({ maxProducers: bad })).toThrow(RangeError);
    }
    for (const bad of [-1, 0.5, 2 ** 25 - 7]) {
      expect(() => MpscRing.byteLengthFor({ maxRecordBytes: bad })).toThrow(RangeError);
    }
    expect(MpscRing.byteLengthFor({ maxRecordBytes: 100_000, maxProducers: 1 })).toBe(
      mpscByteLength(1, 2 ** 18),
    );
  });

  test('TR-07: the maximum goes through wherever the ring stands, more says the maximum', () => {
    for (let offset = 0; offset < 64; offset += 8) {
      const { producers, consumer } = rawRing(64, offset / 2);
      const longest = producers[0].maxRecordBytes;
      expect(longest).toBe(24);
      expect(producers[0].tryWrite(pattern(longest, 1))).toBe(true);
      expect(() => producers[0].tryWrite(pattern(longest + 1, 1))).toThrow(
        expect.objectContaining({ code: 'ERR_HEDDLE_RECORD_TOO_LARGE' }),
      );
      expect(consumer.tryRead()?.byteLength).toBe(longest);
    }
  });
});

describe('the largest ring', () => {
  test('TR-07: the longest claim, given up, is gone past as a whole', () => {
    const { producers, consumer } = rawRing(2 ** 27);
    const at = producers[0].tryClaim(producers[0].maxRecordBytes);
    // What looks like the header of a record, and is a payload.
    producers[0].memoryWords[at / 4] = packHeader(STATE.committed, 0, 0);
    producers[1].tryWriteWords(2);
    producers[0].abort();
    expect(tagsOf(consumer)).toEqual([2]);
  });

  test('TR-01: a consumer that takes over after 2^31 positions of claims given up skips nothing', () => {
    const { producers, consumer, takeOver, words } = rawRing(2 ** 27);
    const longest = producers[0].maxRecordBytes;
    do {
      producers[0].tryClaim(longest);
      producers[0].abort();
      expect(consumer.tryRead()).toBeUndefined();
    } while (words[head]! >= 0);
    producers[1].tryWriteWords(2);
    const second = takeOver();
    expect(second.skippedRecords).toBe(0);
    expect(tagsOf(second)).toEqual([2]);
  });
});

describe('TR-05: a producer died between claim and commit', () => {
  test('the ring nearly empty', () => {
    const { producers, consumer, recover } = rawRing(256);
    producers[0].tryClaim(20, 1);
    expect(consumer.tryRead()).toBeUndefined();
    recover(1);
    expect(consumer.tryRead()).toBeUndefined();
    expect([consumer.abandonedRecords, consumer.abandonedBytes]).toEqual([1, footprintOf(20)]);
    producers[1].tryWriteWords(2);
    expect(tagsOf(consumer)).toEqual([2]);
  });

  test('the ring full: the space comes back', () => {
    const { producers, consumer, recover } = rawRing(128);
    producers[0].tryClaim(24, 1);
    let tag = 10;
    while (producers[1].tryWriteWords(tag)) tag++;
    expect(consumer.tryRead()).toBeUndefined();
    recover(1);
    recover(1);
    expect(producers[1].tryWriteWords(99)).toBe(false);
    expect(tagsOf(consumer)).toEqual(Array.from({ length: tag - 10 }, (_, i) => i + 10));
    expect([consumer.abandonedRecords, consumer.abandonedBytes]).toEqual([1, 32]);
    expect(producers[1].tryWrite(pattern(56, 0))).toBe(true);
  });

  test('two dead claims in a row, and a slow living one between them', () => {
    const { producers, consumer, recover } = rawRing(256);
    const [a, b, c] = producers;
    a.tryClaim(8, 1);
    b.tryClaim(0, 2);
    recover(1);
    recover(2);
    c.tryWriteWords(3);
    expect(tagsOf(consumer)).toEqual([3]);
    expect([consumer.abandonedRecords, consumer.abandonedBytes]).toEqual([2, 24]);

    const slow = rawRing(256);
    slow.producers[0].tryClaim(8, 1);
    slow.producers[1].tryClaim(8, 2);
    slow.producers[2].tryClaim(8, 3);
    slow.recover(1);
    slow.recover(3);
    expect(slow.consumer.tryRead()).toBeUndefined();
    expect(slow.consumer.claimant).toBe(2);
    slow.producers[1].commit();
    expect(tagsOf(slow.consumer)).toEqual([2]);
    expect(slow.consumer.abandonedRecords).toBe(2);
  });

  test('the dead claim at the wrap, behind padding', () => {
    for (let offset = 0; offset < 128; offset += 8) {
      for (const crossing of [0, 128 * 4]) {
        const { producers, consumer, recover } = rawRing(128, (offset / 2 - crossing) | 0);
        producers[0].tryClaim(40, 1);
        producers[1].tryWriteWords(2);
        recover(1);
        expect(tagsOf(consumer)).toEqual([2]);
        expect(consumer.abandonedBytes).toBe(48);
      }
    }
  });

  test('holding the lock, before the tail moved', () => {
    const { producers, consumer, recover, words } = rawRing(128);
    words[lock] = 1;
    expect(producers[1].tryWriteWords(2)).toBe(false);
    recover(1);
    expect(producers[1].tryWriteWords(2)).toBe(true);
    expect(tagsOf(consumer)).toEqual([2]);
  });
});

describe('close', () => {
  test('claims made before are committed and read, no later one is made', () => {
    const { producers, consumer, close } = rawRing(128);
    const [a, b] = producers;
    a.tryClaim(0, 1);
    b.tryWriteWords(2);
    close();
    close();
    expect(codeOf(() => b.tryWriteWords(3))).toBe('ERR_HEDDLE_CLOSED');
    expect(consumer.tryRead()).toBeUndefined();
    a.commit();
    expect(consumer.tryRead()?.tag).toBe(1);
    expect(consumer.tryRead()?.tag).toBe(2);
    expect(codeOf(() => consumer.tryRead())).toBe('ERR_HEDDLE_CLOSED');
    expect(codeOf(() => consumer.read())).toBe('ERR_HEDDLE_CLOSED');
  });

  test('TR-11: ends what waits on the event loop', async () => {
    const { producers, consumer, close } = rawRing(32);
    const reading = consumer.readAsync();
    close();
    await expect(reading).rejects.toMatchObject({ code: 'ERR_HEDDLE_CLOSED' });
    await expect(producers[0].writeAsync(new Uint8Array(1))).rejects.toMatchObject({
      code: 'ERR_HEDDLE_CLOSED',
    });
    const full = rawRing(32);
    while (full.producers[0].tryWriteWords(1)) {}
    const writing = [1, 2].map((i) => full.producers[i]!.writeAsync(new Uint8Array(1)));
    full.close();
    for (const each of writing) await expect(each).rejects.toMatchObject({ code: 'ERR_HEDDLE_CLOSED' });
  });
});

test('a new consumer does not read again what the dead one had begun', () => {
  const { producers, consumer, takeOver, words } = rawRing(128);
  for (let i = 0; i < 4; i++) producers[i % 3]!.tryWriteWords(i);
  producers[0].tryClaim(0, 4);
  const headBefore = words[head]!;
  consumer.drain(() => {}, 2);
  words[head] = headBefore;
  const second = takeOver();
  expect(second.skippedRecords).toBe(2);
  expect(tagsOf(second)).toEqual([2, 3]);
  producers[0].commit();
  expect(tagsOf(second)).toEqual([4]);
});

describe('in a segment', () => {
  let segment: Segment;
  beforeEach(() => {
    segment = Segment.create({ byteLength: 2 ** 20 });
  });
  afterEach(() => segment.detach());

  test('producers up to the limit, one consumer', () => {
    const ring = MpscRing.create(segment, { name: 'r', maxProducers: 2 });
    const first = ring.producer();
    ring.producer();
    expect(codeOf(() => MpscRing.open(segment, 'r').producer())).toBe('ERR_HEDDLE_RING_ROLE');
    first.release();
    const third = MpscRing.open(segment, 'r').producer();
    third.tryWriteWords(3);
    const consumer = ring.consumer();
    expect(codeOf(() => MpscRing.open(segment, 'r').consumer())).toBe('ERR_HEDDLE_RING_ROLE');
    expect(tagsOf(consumer)).toEqual([3]);
    ring[Symbol.dispose]();
    expect(codeOf(() => consumer.tryRead())).toBe('ERR_HEDDLE_RING_ROLE');
    MpscRing.from(ring.handle)[Symbol.dispose]();
    expect(codeOf(() => MpscRing.from({ ...ring.handle, heddle: 'spsc-ring' } as never))).toBe('TypeError');
  });
});

test('PF-08: words that different sides write are 128 bytes apart', () => {
  const { offsets, wordCount } = mpscRingLayout;
  const places = [offsets.capacity, offsets.lock, offsets.consumer, offsets.tail, offsets.head, wordCount];
  expect(new Set(places.map((at) => Math.floor(at / 32))).size).toBe(places.length);
  expect(slotAt(1) - slotAt(0)).toBe(32);
});
