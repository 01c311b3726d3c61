import { Segment } from '@heddle/memory';
import { describe, expect, it } from 'vitest';
import { MpmcQueue, MpscRing, SpscRing, SpscStream } from './index.js';

type Made = SpscRing | SpscStream | MpscRing | MpmcQueue;
interface Kind {
  readonly name: string;
  create(...given: unknown[]): Made;
  from(handle: unknown): Made;
}

const kinds = [SpscRing, SpscStream, MpscRing, MpmcQueue] as unknown as readonly Kind[];

describe.each(kinds.map((kind) => [kind.name, kind] as const))('%s in a segment of its own', (_, kind) => {
  it('is opened by its handle, and ends when it is disposed of', () => {
    const made = kind.create();
    const opened = kind.from(made.handle);
    expect(opened.segment).toBe(made.segment);
    made.close();
    expect(opened.closed).toBe(true);
    made[Symbol.dispose]();
    made[Symbol.dispose]();
    expect(opened.segment.attached).toBe(true);
    opened[Symbol.dispose]();
    expect(opened.segment.attached).toBe(false);
  });

  it('may have a name', () => {
    const made = kind.create({ name: 'mine' });
    expect(made.name).toBe('mine');
    expect(made.segment.directory.list().map(({ name }) => name)).toEqual(['mine']);
    made[Symbol.dispose]();
  });

  it('takes no bad options, nor a segment without options', () => {
    const segment = Segment.create();
    const bad = { capacityBytes: -1, capacity: -1 };
    expect(() => kind.create(bad)).toThrow(RangeError);
    expect(() => kind.create({ name: '' })).toThrow(TypeError);
    for (const given of [null, 5, 'name', segment]) expect(() => kind.create(given)).toThrow(TypeError);
    expect(segment.directory.list()).toEqual([]);
    segment.detach();
  });
});

it('is as large as the limits say', () => {
  const largest = [
    SpscRing.create({ capacityBytes: 2 ** 30 }),
    MpscRing.create({ capacityBytes: 2 ** 30, maxProducers: 512 }),
    SpscStream.create({ capacityBytes: 2 ** 27 }),
    MpmcQueue.create({ capacity: 2 ** 20 }),
  ];
  for (const made of largest) made[Symbol.dispose]();
});

it('is as large as asked for', async () => {
  const ring = SpscRing.create({ capacityBytes: 2 ** 20 });
  const [producer, consumer] = [ring.producer(), ring.consumer()];
  expect(producer.tryWrite(new Uint8Array(ring.maxRecordBytes).fill(7))).toBe(true);
  expect(producer.tryWrite(new Uint8Array(0))).toBe(false);
  expect(consumer.tryRead()!.bytes.every((byte) => byte === 7)).toBe(true);
  ring[Symbol.dispose]();
});
