import { describe, expect, it } from 'vitest';
import { Crew } from './crew.test-worker.js';
import { ALL, DATA } from './mate.test-worker.js';
import { codeOf, makePair } from './pair.test-worker.js';
import { THREAD_MODES, type ThreadMode } from './thread-mode.js';

function make(threadMode: ThreadMode) {
  const pair = makePair({ laneBytes: 256, slotBytes: 1000, slots: 2 }, threadMode);
  const { endpoint, sender } = pair;
  /** Every way to block until the receiver moves, which has to. */
  const blocking = [
    () => endpoint.flush(),
    () => sender.flush(),
    () => endpoint.send(DATA, new Uint8Array(8)),
    () => endpoint.send(DATA, new Uint8Array(1000)),
  ];
  const fill = () => {
    while (endpoint.trySend(DATA, new Uint8Array(1000)) === 'sent');
    while (endpoint.trySend(DATA, new Uint8Array(8)) === 'sent');
  };
  return { ...pair, blocking, fill };
}

describe('a thread that would wait for itself is told so, and nothing was sent', () => {
  it('single: it alone receives there', () => {
    const { receiver, blocking, endpoint, fill } = make('single');
    let sent = 0;
    let got = 0;
    receiver.on(DATA, () => got++);
    // What needs no waiting is done.
    endpoint.flush();
    endpoint.send(DATA);
    sent += receiver.progress();
    fill();
    for (const block of blocking) expect(codeOf(block)).toBe('ERR_HEDDLE_MUST_NOT_BLOCK');
    sent += receiver.progress();
    endpoint.flush();
    expect(receiver.progress()).toBe(0);
    expect(got).toBe(sent);
    // With a limit of time it is the time that ends it.
    fill();
    expect(codeOf(() => endpoint.flush({ timeout: 1 }))).toBe('ERR_HEDDLE_TIMED_OUT');
    expect(codeOf(() => endpoint.send(DATA, new Uint8Array(8), undefined, { timeout: 0 }))).toBe(
      'ERR_HEDDLE_TIMED_OUT',
    );
  });

  it.each(THREAD_MODES)('%s: it is inside of a handler there', (threadMode) => {
    const { receiver, blocking, fill } = make(threadMode);
    const codes: string[] = [];
    receiver.on(DATA, () => {
      if (codes.length === 0) codes.push(...blocking.map(codeOf));
    });
    fill();
    receiver.progress();
    expect(codes).toEqual(blocking.map(() => 'ERR_HEDDLE_MUST_NOT_BLOCK'));
  });

  it.each(THREAD_MODES)('%s: it has a message of an iteration there', async (threadMode) => {
    const { receiver, blocking, fill } = make(threadMode);
    fill();
    await receiver.messages().next();
    expect(blocking.map(codeOf)).toEqual(blocking.map(() => 'ERR_HEDDLE_MUST_NOT_BLOCK'));
  });
});

describe('a thread blocks where another one can go on', () => {
  it.each(['serialized', 'multi'] as const)('%s: another thread receives there, too', async (threadMode) => {
    const { context, receiver, blocking, endpoint, fill } = make(threadMode);
    const crew = new Crew(context, new URL('./waits-end.test-worker.js', import.meta.url), 1);
    crew.start('member', { address: receiver.address });
    await crew.until('it receives', () => crew.get(ALL.ready) > 0);
    for (const block of blocking) {
      fill();
      block();
    }
    endpoint.flush();
    crew.set(ALL.stop, 1);
    receiver.signal();
    await crew.untilAllEnded();
    crew.assertWell();
    expect(receiver.progress()).toBe(0);
    expect(context.usage().slots).toBe(0);
  });
});
