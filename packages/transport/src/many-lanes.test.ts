import { Segment } from '@heddle/memory';
import { countingPlatform } from '@heddle/memory/counting';
import { expect, it, onTestFinished } from 'vitest';
import { Context } from './context.js';
import { Doorbell } from './doorbell.js';

const SENDERS = 32;

/** A receiver with many senders, and the Atomics calls of what is done next. */
function make() {
  const platform = countingPlatform();
  const segment = Segment.create({ platform });
  const context = Context.create({ segment, slots: 8, slotBytes: 64, maxLanes: SENDERS, laneBytes: 8192 });
  onTestFinished(() => {
    context[Symbol.dispose]();
    segment.detach();
  });
  const receiver = context.createWorker();
  const got = new Array<number>(SENDERS).fill(0);
  const order: number[] = [];
  receiver.on(1, (message) => {
    const from = message.memory[message.byteOffset]!;
    got[from]!++;
    order.push(from);
  });
  const endpoints = Array.from({ length: SENDERS }, () => context.createWorker().connect(receiver.address));
  const send = (from: number) => endpoints[from]!.trySend(1, Uint8Array.of(from));
  const counted = (act: () => unknown) => {
    platform.reset();
    act();
    const counts = Object.values(platform.counts()).reduce<number>((sum, count) => sum + count, 0);
    return counts;
  };
  return { receiver, endpoints, got, order, send, counted };
}

it('progress costs what the lanes with messages cost, and a sleep what those that were looked at cost', () => {
  const { receiver, got, send, counted } = make();
  receiver.progress();
  const first = counted(() => receiver.arm());
  expect(first).toBeGreaterThan(2 * SENDERS);
  // All lanes are armed, and none of them was looked at since.
  expect(counted(() => receiver.arm())).toBeLessThan(8);
  for (let round = 0; round < 3; round++) {
    const from = (round * 11) % SENDERS;
    send(from);
    // Two looks: for attention and for the bits; then the lane.
    expect(counted(() => receiver.progress())).toBeLessThan(8);
    expect(got[from]).toBe(1);
    expect(counted(() => receiver.arm())).toBeLessThan(10);
  }
});

it('a lane goes cold while others keep the receiver awake, and wakes with its next message', () => {
  const { receiver, endpoints, got, send, counted } = make();
  for (let i = 0; i < 200; i++) {
    send(3);
    receiver.progress();
  }
  // Its tail is armed by now.
  expect(counted(() => send(5))).toBeGreaterThan(1);
  expect(counted(() => send(3))).toBe(1);
  receiver.progress();
  expect(got[5]).toBe(1);
  expect(got[3]).toBe(201);
  for (const endpoint of endpoints) endpoint.close();
  receiver.progress();
  expect(receiver.progress()).toBe(0);
});

it('one that floods delays the others by its share, not more, hot or cold', () => {
  const { receiver, order, send } = make();
  receiver.progress();
  receiver.arm();
  while (send(0) === 'sent');
  for (let from = 1; from < SENDERS; from++) send(from);
  let others = 0;
  for (let calls = 0; calls < 4; calls++) {
    receiver.progress();
    while (send(0) === 'sent');
    others = new Set(order.filter((from) => from !== 0)).size;
  }
  expect(others).toBe(SENDERS - 1);
});

it('nothing is lost between hot and cold, in any order', () => {
  const { receiver, got, send } = make();
  const sent = new Array<number>(SENDERS).fill(0);
  let seed = 1;
  for (let i = 0; i < 20_000; i++) {
    seed = Math.imul(seed, 1664525) + 1013904223;
    // A few busy ones at a time.
    const from = ((seed >>> 24) % 4) + ((i >>> 10) % 8) * 4;
    if (send(from) === 'sent') sent[from]!++;
    if ((seed & 0x300) === 0) receiver.progress((seed >>> 16) & 7);
    if ((seed & 0xf000) === 0) receiver.arm();
  }
  while (receiver.progress() > 0);
  expect(got).toEqual(sent);
});

it('lanes are spread over the bits, also where they lie at equal distances', () => {
  for (const distance of [1, 2, 30, 60, 64]) {
    const buckets = new Set(Array.from({ length: 64 }, (_, i) => Doorbell.bucketOf(i * distance)));
    expect(buckets.size).toBeGreaterThan(15);
    for (const bucket of buckets) expect(bucket).toBeLessThan(30);
  }
  const seen: number[] = [];
  Doorbell.forEachBucket((1 << 2) | (1 << 31) | (1 << 10), (bucket) => seen.push(bucket));
  expect(seen).toEqual([0, 8, 29]);
});
