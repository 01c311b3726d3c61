import { HeddleError, Segment } from '@heddle/memory';
import { type CountingPlatform, countingPlatform } from '@heddle/memory/counting';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Gate } from './gate.js';
import { MpmcCells } from './mpmc-cells.js';
import { MpmcQueue } from './mpmc-queue.js';
import { mpmcByteLength } from './mpmc-queue.layout.js';
import { closeMpsc } from './mpsc-close.js';
import { MpscConsumer } from './mpsc-consumer.js';
import { MpscProducer } from './mpsc-producer.js';
import { MpscRing } from './mpsc-ring.js';
import { mpscByteLength, mpscRingLayout, mpscSlotLayout, slotAt, spaceAt } from './mpsc-ring.layout.js';
import { SLEEPING } from './position.js';
import { closeSpsc, recoverSpsc } from './spsc-close.js';
import { SpscConsumer } from './spsc-consumer.js';
import { SpscProducer } from './spsc-producer.js';
import { SpscRing } from './spsc-ring.js';
import { spscRingLayout } from './spsc-ring.layout.js';
import { StreamReader } from './stream-reader.js';
import { StreamWriter } from './stream-writer.js';

// The costs that the comments of the classes state, in Atomics calls.

let platform: CountingPlatform;

beforeEach(() => {
  platform = countingPlatform();
});

function cost(operation: () => unknown) {
  platform.reset();
  try {
    operation();
  } catch (error) {
    if (!(error instanceof HeddleError)) throw error;
  }
  return platform.counts();
}

const bytes = new Uint8Array(20);
const nothing = () => {};

describe('SPSC ring', () => {
  function ring(capacityBytes = 256) {
    const buffer = new SharedArrayBuffer(spscRingLayout.byteLength + capacityBytes);
    const words = new Int32Array(buffer);
    SpscRing.initialise(words, capacityBytes);
    const memory = new Uint8Array(buffer, spscRingLayout.byteLength);
    const producer = new SpscProducer(words, memory, platform);
    const consumer = new SpscConsumer(words, memory, platform);
    producer.tryWriteWords(0);
    consumer.tryRead();
    consumer.tryRead();
    return { words, producer, consumer };
  }

  test('a write is 1 CAS in every form, an abort nothing, a corked one nothing', () => {
    const { producer } = ring();
    const published = { compareExchange: 1 };
    expect(cost(() => producer.tryWrite(bytes))).toEqual(published);
    expect(cost(() => producer.tryWriteWords(1, 2, 3))).toEqual(published);
    expect(cost(() => producer.write(bytes))).toEqual(published);
    expect(cost(() => producer.tryClaim(8))).toEqual({});
    expect(cost(() => producer.commit())).toEqual(published);
    producer.tryClaim(8);
    expect(cost(() => producer.abort())).toEqual({});
    producer.cork();
    expect(cost(() => producer.tryWriteWords(1))).toEqual({});
    producer.tryWriteWords(1);
    expect(cost(() => producer.uncork())).toEqual(published);
  });

  test('1 load more when the room known is used up, 2 loads to be refused', () => {
    const { producer, consumer } = ring(64);
    while (producer.tryWriteWords(1)) {}
    expect(cost(() => producer.tryWriteWords(1))).toEqual({ load: 2 });
    expect(cost(() => producer.tryClaim(1))).toEqual({ load: 2 });
    consumer.drain(nothing);
    expect(cost(() => producer.tryWriteWords(1))).toEqual({ load: 1, compareExchange: 1 });
  });

  test('a read is 1 exchange, a drain 1 exchange, 1 load more for a new look', () => {
    const { producer, consumer } = ring();
    expect(cost(() => consumer.tryRead())).toEqual({ load: 1 });
    for (let i = 0; i < 6; i++) producer.tryWriteWords(i);
    expect(cost(() => consumer.tryRead())).toEqual({ load: 1 });
    expect(cost(() => consumer.tryRead())).toEqual({ exchange: 1 });
    consumer.releaseRecord();
    expect(cost(() => consumer.drain(nothing))).toEqual({ exchange: 1 });
    for (let i = 0; i < 6; i++) producer.tryWriteWords(i);
    expect(cost(() => consumer.drain(nothing))).toEqual({ load: 1, exchange: 1 });
  });

  test('the other side is notified only where it sleeps', () => {
    const { producer, consumer, words } = ring();
    words[spscRingLayout.offsets.tail]! |= SLEEPING;
    expect(cost(() => producer.tryWriteWords(1))).toEqual({ compareExchange: 2, notify: 1 });
    expect(cost(() => producer.tryWriteWords(1))).toEqual({ compareExchange: 1 });
    words[spscRingLayout.offsets.head]! |= SLEEPING;
    expect(cost(() => consumer.drain(nothing))).toEqual({ load: 1, exchange: 1, notify: 1 });
  });

  test('asynchronous writes for which there is room are done at the call, those that wait as many at a wake as fit', async () => {
    const { producer, consumer } = ring(256);
    const write = () => producer.writeAsync(bytes);
    let writing: Promise<boolean>[] = [];
    expect(
      cost(() => {
        writing = [write(), write(), write()];
        expect(producer.tryWriteWords(1)).toBe(true);
      }),
    ).toEqual({ compareExchange: 4 });
    while (producer.tryWriteWords(1)) {}
    const waiting = Array.from({ length: 20 }, write);
    platform.reset();
    for (let read = 0; read < 16 + waiting.length; ) {
      read += consumer.drain(nothing);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(await Promise.all([...writing, ...waiting])).toEqual(Array(23).fill(true));
    // Eight fit: one wake for eight, not one for each.
    expect(platform.counts()['waitAsync']).toBe(2);
  });

  test('close and recovery', () => {
    const { words } = ring();
    expect(cost(() => recoverSpsc(words, 1, platform.atomics))).toEqual({
      compareExchange: 2,
      load: 1,
      notify: 2,
    });
    expect(cost(() => closeSpsc(words, platform.atomics))).toEqual({ or: 1, and: 1, notify: 2 });
  });
});

describe('SPSC stream', () => {
  test('a write is 1 CAS, a read 1 exchange, 1 load more for a new look', () => {
    const buffer = new SharedArrayBuffer(spscRingLayout.byteLength + 64);
    const words = new Int32Array(buffer);
    const memory = new Uint8Array(buffer, spscRingLayout.byteLength);
    const writer = new StreamWriter(words, memory, platform);
    const reader = new StreamReader(words, memory, platform);
    expect(cost(() => writer.tryWrite(bytes))).toEqual({ load: 1, compareExchange: 1 });
    expect(cost(() => writer.tryWrite(bytes))).toEqual({ compareExchange: 1 });
    writer.tryWrite(bytes);
    writer.tryWrite(bytes);
    expect(cost(() => writer.tryWrite(bytes))).toEqual({ load: 2 });
    const target = new Uint8Array(16);
    expect(cost(() => reader.tryRead(target))).toEqual({ load: 1, exchange: 1 });
    expect(cost(() => reader.tryRead(target))).toEqual({ exchange: 1 });
    reader.tryRead(target);
    reader.tryRead(target);
    expect(cost(() => reader.tryRead(target))).toEqual({ load: 2 });
  });
});

describe('MPSC ring', () => {
  function ring(capacityBytes = 256) {
    const buffer = new SharedArrayBuffer(mpscByteLength(1, capacityBytes));
    const words = new Int32Array(buffer);
    MpscRing.initialise(words, { capacityBytes, maxProducers: 1 });
    words[slotAt(0) + mpscSlotLayout.offsets.holder] = 1;
    const memory = new Uint8Array(buffer, spaceAt(1) * 4);
    const producer = new MpscProducer(words, memory, { slot: 0, token: 1, spaceAt: spaceAt(1) }, platform);
    return { words, producer, consumer: new MpscConsumer(words, memory, spaceAt(1), platform) };
  }

  test('a write is 4 calls in every form, an abort costs what a commit does', () => {
    const { producer } = ring();
    const claimed = { compareExchange: 1, exchange: 1, and: 1 };
    const written = { compareExchange: 1, exchange: 2, and: 1 };
    expect(cost(() => producer.tryWrite(bytes))).toEqual(written);
    expect(cost(() => producer.tryWriteWords(1, 2))).toEqual(written);
    expect(cost(() => producer.write(bytes))).toEqual(written);
    expect(cost(() => producer.tryClaim(4))).toEqual(claimed);
    expect(cost(() => producer.commit())).toEqual({ exchange: 1 });
    producer.tryClaim(4);
    expect(cost(() => producer.abort())).toEqual({ exchange: 1 });
  });

  test('1 load more when the room known is used up, 3 calls to be refused', () => {
    const { producer, consumer } = ring(64);
    while (producer.tryWriteWords(1)) {}
    expect(cost(() => producer.tryWriteWords(1))).toEqual({ compareExchange: 1, load: 1, and: 1 });
    consumer.drain(nothing);
    expect(cost(() => producer.tryWriteWords(1))).toEqual({
      compareExchange: 1,
      load: 1,
      and: 1,
      exchange: 2,
    });
  });

  test('a read is 1 load and 1 exchange, a drain 1 exchange and a load a record', () => {
    const { producer, consumer } = ring();
    expect(cost(() => consumer.tryRead())).toEqual({ load: 2 });
    for (let i = 0; i < 6; i++) producer.tryWriteWords(i);
    expect(cost(() => consumer.tryRead())).toEqual({ load: 2 });
    expect(cost(() => consumer.tryRead())).toEqual({ load: 1, exchange: 1 });
    consumer.releaseRecord();
    expect(cost(() => consumer.drain(nothing))).toEqual({ load: 4, exchange: 1 });
    for (let i = 0; i < 6; i++) producer.tryWriteWords(i);
    expect(cost(() => consumer.drain(nothing))).toEqual({ load: 7, exchange: 1 });
  });

  test('who sleeps is notified, others are not', () => {
    const { producer, consumer, words } = ring();
    words[mpscRingLayout.offsets.tail]! |= SLEEPING;
    expect(cost(() => producer.tryWriteWords(1))).toEqual({
      compareExchange: 1,
      exchange: 2,
      and: 1,
      notify: 1,
    });
    words[mpscRingLayout.offsets.head]! |= SLEEPING;
    expect(cost(() => consumer.drain(nothing))).toEqual({ load: 2, exchange: 1, notify: 1 });
  });

  test('close', () => {
    const { words } = ring();
    expect(cost(() => closeMpsc(words, platform.atomics))).toEqual({ or: 1, and: 2, notify: 3 });
  });
});

describe('MPMC queue', () => {
  test('put and take are 6 calls, refused 3', () => {
    const words = new Int32Array(new SharedArrayBuffer(mpmcByteLength(2)));
    MpmcQueue.initialise(words, 2);
    const cells = new MpmcCells(words, 1, platform.atomics);
    expect(cost(() => cells.take())).toEqual({ load: 4 });
    expect(cost(() => cells.put(1))).toEqual({ load: 2, compareExchange: 2, store: 2 });
    cells.put(2);
    expect(cost(() => cells.put(3))).toEqual({ load: 2, compareExchange: 1 });
    expect(cost(() => cells.take())).toEqual({ load: 4, compareExchange: 2 });
  });

  test('a gate', () => {
    const words = new Int32Array(new SharedArrayBuffer(8));
    const gate = new Gate(words, 1, platform.atomics);
    expect(cost(() => gate.wake())).toEqual({ load: 1 });
    gate.announce();
    expect(cost(() => gate.wake())).toEqual({ load: 1, compareExchange: 1, notify: 1 });
  });
});

describe('objects', () => {
  let segment: Segment;
  beforeEach(() => {
    segment = Segment.create({ byteLength: 2 ** 20 });
  });
  afterEach(() => segment.detach());

  /** Bytes of the heap that a round leaves behind, the least of several: a collection in between frees some. */
  function heapOf(round: () => void): number {
    let least = Number.POSITIVE_INFINITY;
    for (let i = 0; i < 20; i++) {
      const before = process.memoryUsage().heapUsed;
      for (let n = 0; n < 20_000; n++) round();
      const used = process.memoryUsage().heapUsed - before;
      if (used >= 0) least = Math.min(least, used);
    }
    return least / 20_000;
  }

  test('none is made for a record of words or of bytes, written and read', () => {
    const spsc = SpscRing.create(segment, { name: 'spsc', capacityBytes: 4096 });
    const mpsc = MpscRing.create(segment, { name: 'mpsc', capacityBytes: 4096, maxProducers: 1 });
    let sum = 0;
    for (const ring of [spsc, mpsc]) {
      const producer = ring.producer();
      const consumer = ring.consumer();
      const add = (record: { word(index: number): number }) => {
        sum += record.word(0);
      };
      expect(
        heapOf(() => {
          producer.tryWriteWords(1, 2, 3);
          producer.tryWrite(bytes);
          consumer.tryRead()!.word(0);
          consumer.drain(add);
        }),
      ).toBeLessThan(1);
    }
    expect(sum).toBe(0);
  });
});
