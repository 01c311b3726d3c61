import { Segment } from '@heddle/memory';
import { countingPlatform } from '@heddle/memory/counting';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Completion } from './completion.js';
import { Context } from './context.js';
import type { ThreadMode } from './thread-mode.js';

/** A receiver and an endpoint to it, in use already, and the Atomics calls of what is done next. */
function make(threadMode: ThreadMode = 'single') {
  const platform = countingPlatform();
  const segment = Segment.create({ platform });
  const context = Context.create({
    segment,
    slots: 1024,
    slotBytes: 1024,
    maxLanes: 1000,
    largeSlots: [{ bytes: 8192, count: 4 }],
  });
  onTestFinished(() => {
    context[Symbol.dispose]();
    segment.detach();
  });
  const receiver = context.createWorker({ threadMode });
  const sender = context.createWorker();
  const endpoint = sender.connect(receiver.address);
  receiver.on(1, () => {});
  for (const size of [8, 1000, 8000]) endpoint.trySend(1, new Uint8Array(size));
  receiver.progress();
  // Fills the magazines of the pool, and looks for room in the lane.
  for (let i = 0; i < 4; i++) endpoint.loan(1)?.cancel();
  endpoint.trySend(1);
  receiver.progress();
  const counted = (act: () => unknown) => {
    platform.reset();
    act();
    return platform.counts();
  };
  return { context, receiver, sender, endpoint, counted };
}

const small = new Uint8Array(8);
const large = new Uint8Array(1000);

describe('Atomics calls', () => {
  it('of sending: 1 inline, 2 in a slot or as a loan, 0 while corked', () => {
    const { endpoint, counted } = make();
    expect(counted(() => endpoint.trySend(1, small))).toEqual({ compareExchange: 1 });
    expect(counted(() => endpoint.trySend(1, small, small))).toEqual({ compareExchange: 1 });
    expect(counted(() => endpoint.trySend(1, large))).toEqual({ compareExchange: 2 });
    expect(counted(() => endpoint.trySend(1, endpoint.loan(100)!))).toEqual({ compareExchange: 2 });
    expect(counted(() => endpoint.cork())).toEqual({});
    expect(counted(() => endpoint.trySend(1, small))).toEqual({});
    expect(counted(() => endpoint.trySend(1, large))).toEqual({ compareExchange: 1 });
    expect(counted(() => endpoint.uncork())).toEqual({ compareExchange: 1 });
  });

  it('of many at once: 1 in all, and what slots take', () => {
    const { endpoint, counted } = make();
    const all = Array.from({ length: 32 }, () => small);
    expect(counted(() => endpoint.sendMany(1, all))).toEqual({ compareExchange: 1 });
    expect(counted(() => endpoint.sendMany(1, [small, large, large]))).toEqual({ compareExchange: 3 });
  });

  it('of a large slot, of which there are few: 2 more to get, 3 more to put', () => {
    const { receiver, endpoint, counted } = make();
    const larger = new Uint8Array(8000);
    expect(counted(() => endpoint.trySend(1, larger))).toEqual({ compareExchange: 3, exchange: 1 });
    const received = { load: 3, exchange: 2, compareExchange: 2 };
    expect(counted(() => receiver.progress())).toEqual(received);
    expect(counted(() => endpoint.trySend(1, endpoint.loan(8192)!))).toEqual({
      compareExchange: 3,
      exchange: 1,
    });
  });

  it('of a completion: 2 loads a look for the sender; the put and the ring for the receiver', () => {
    const { receiver, sender, endpoint, counted } = make();
    const completion = new Completion();
    sender.progress();
    expect(counted(() => sender.progress())).toEqual({});
    expect(counted(() => endpoint.trySend(1, small, undefined, completion))).toEqual({ compareExchange: 2 });
    // Not handled: the second word need not be looked at.
    expect(counted(() => sender.progress())).toEqual({ load: 1 });
    const asked = counted(() => receiver.progress());
    expect(asked).toEqual({ load: 6, exchange: 3, compareExchange: 4, and: 1 });
    expect(counted(() => sender.progress())).toEqual({ load: 2 * 2 });
    expect(completion.done).toBe(1);
    expect(counted(() => sender.progress())).toEqual({});
  });

  it('of a fence: 1 CAS for each endpoint that holds something back', () => {
    const { sender, endpoint, counted } = make();
    expect(counted(() => sender.fence())).toEqual({});
    endpoint.cork();
    endpoint.trySend(1, small);
    expect(counted(() => sender.fence())).toEqual({ compareExchange: 1 });
  });

  it('of a refusal for lack of room: 2 loads', () => {
    const { endpoint, counted } = make();
    while (endpoint.trySend(1, small) === 'sent');
    expect(counted(() => endpoint.trySend(1, small))).toEqual({ load: 2 });
  });

  it('of progress: 1 load and 1 exchange for all that came, and 1 load each eighth time', () => {
    const { receiver, endpoint, counted } = make();
    const progress = () => counted(() => receiver.progress());
    while (progress()['load'] !== 1);
    for (let i = 0; i < 7; i++) expect(progress()).toEqual({});
    // Now and then it looks for new lanes by a load.
    expect(progress()).toEqual({ load: 1 });
    for (let i = 0; i < 7; i++) {
      for (let n = 0; n < 50; n++) endpoint.trySend(1, small);
      expect(progress()).toEqual({ load: 1, exchange: 1 });
    }
    endpoint.trySend(1, small);
    expect(progress()).toEqual({ load: 2, exchange: 1 });
  });

  it('of a message in a slot: 1 load and 2 CAS more', () => {
    const { receiver, endpoint, counted } = make();
    receiver.progress();
    endpoint.trySend(1, large);
    expect(counted(() => receiver.progress())).toEqual({ load: 2, exchange: 1, compareExchange: 2 });
  });

  it('of going to sleep and being woken', () => {
    const { receiver, endpoint, counted } = make();
    // Sends off what the pool keeps back for this thread.
    receiver.arm();
    endpoint.trySend(1, small);
    receiver.progress();
    expect(counted(() => receiver.arm())).toEqual({ load: 4, exchange: 1, compareExchange: 1 });
    expect(counted(() => endpoint.trySend(1, small))).toEqual({ compareExchange: 3, notify: 1 });
    // The receiver is awake: back to 1.
    expect(counted(() => endpoint.trySend(1, small))).toEqual({ compareExchange: 1 });
  });

  it('of a look at all lanes, after one came or went: 4 loads for each here, 1 for each that was ever in use', () => {
    const { context, receiver, counted } = make();
    const loads = () => {
      const other = context.createWorker();
      other.connect(receiver.address);
      receiver.progress();
      other.close();
      return counted(() => receiver.progress())['load']!;
    };
    const before = loads();
    expect(before).toBeLessThan(30);
    const ways = Array.from({ length: 10 }, () => context.createWorker().connect(receiver.address));
    expect(loads()).toBe(before + 40);
    for (const way of ways) way.close();
    receiver.progress();
    expect(loads()).toBe(before + 10);
  });

  it('of thread mode serialized: 1 CAS and 1 store more', () => {
    const { receiver, counted } = make('serialized');
    receiver.progress();
    expect(counted(() => receiver.progress())).toEqual({ compareExchange: 1, store: 1 });
  });

  it('of thread mode multi: 2 CAS and 3 loads more for each lane that has something', () => {
    const { receiver, endpoint, counted } = make('multi');
    expect(counted(() => receiver.progress())).toEqual({});
    for (let i = 0; i < 50; i++) endpoint.trySend(1, small);
    expect(counted(() => receiver.progress())).toEqual({ load: 4, exchange: 1, compareExchange: 2 });
  });

  it('of thread mode multi with idle lanes: none to poll; 2 loads each before a sleep, and 1 CAS the first time', () => {
    const { context, receiver, counted } = make('multi');
    const sleep = () => {
      const counts = counted(() => receiver.arm());
      receiver.signal();
      receiver.arm();
      return counts;
    };
    sleep();
    const before = sleep();
    for (let i = 0; i < 10; i++) context.createWorker().connect(receiver.address);
    receiver.progress();
    for (let i = 0; i < 7; i++) expect(counted(() => receiver.progress())['load'] ?? 0).toBeLessThan(2);
    expect(sleep()).toEqual({ ...before, load: before['load']! + 20, compareExchange: 10 });
    expect(sleep()).toEqual({ ...before, load: before['load']! + 20 });
  });
});
