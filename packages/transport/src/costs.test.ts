import { Segment } from '@heddle/memory';
import { countingPlatform } from '@heddle/memory/counting';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Context } from './context.js';
import type { ThreadMode } from './thread-mode.js';

/** A receiver and an endpoint to it, in use already, and the Atomics calls of what is done next. */
function make(threadMode: ThreadMode = 'single') {
  const platform = countingPlatform();
  const segment = Segment.create({ platform });
  const context = Context.create({ segment, slots: 1024, slotBytes: 1024, maxLanes: 4 });
  onTestFinished(() => {
    context[Symbol.dispose]();
    segment.detach();
  });
  const receiver = context.createWorker({ threadMode });
  const endpoint = context.createWorker().connect(receiver.address);
  receiver.on(1, () => {});
  for (const size of [8, 1000]) endpoint.trySend(1, new Uint8Array(size));
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
  return { receiver, endpoint, counted };
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

  it('of a refusal for lack of room: 2 loads', () => {
    const { endpoint, counted } = make();
    while (endpoint.trySend(1, small) === 'sent');
    expect(counted(() => endpoint.trySend(1, small))).toEqual({ load: 2 });
  });

  it('of progress: 1 load where nothing came; 1 exchange, and 2 loads, or 1 while messages keep coming', () => {
    const { receiver, endpoint, counted } = make();
    receiver.progress();
    expect(counted(() => receiver.progress())).toEqual({ load: 1 });
    endpoint.trySend(1, small);
    expect(counted(() => receiver.progress())).toEqual({ load: 2, exchange: 1 });
    for (let i = 0; i < 8; i++) {
      for (let n = 0; n < 50; n++) endpoint.trySend(1, small);
      expect(counted(() => receiver.progress())).toEqual({ load: 1, exchange: 1 });
    }
    // Now and then it looks for new lanes nevertheless.
    endpoint.trySend(1, small);
    expect(counted(() => receiver.progress())).toEqual({ load: 2, exchange: 1 });
    expect(counted(() => receiver.progress())).toEqual({ load: 2 });
    expect(counted(() => receiver.progress())).toEqual({ load: 1 });
  });

  it('of a message in a slot: 1 load and 2 CAS more', () => {
    const { receiver, endpoint, counted } = make();
    receiver.progress();
    endpoint.trySend(1, large);
    expect(counted(() => receiver.progress())).toEqual({ load: 3, exchange: 1, compareExchange: 2 });
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

  it('of thread mode serialized: 1 CAS and 1 store more', () => {
    const { receiver, counted } = make('serialized');
    receiver.progress();
    expect(counted(() => receiver.progress())).toEqual({ load: 1, compareExchange: 1, store: 1 });
  });

  it('of thread mode multi: 2 CAS and 2 loads more for each lane that has something', () => {
    const { receiver, endpoint, counted } = make('multi');
    expect(counted(() => receiver.progress())).toEqual({ load: 1 });
    for (let i = 0; i < 50; i++) endpoint.trySend(1, small);
    expect(counted(() => receiver.progress())).toEqual({ load: 4, exchange: 1, compareExchange: 2 });
  });
});
