import { describe, expect, it, onTestFinished } from 'vitest';
import { Completion } from './completion.js';
import { Context } from './context.js';
import { Crew } from './crew.test-worker.js';
import type { EndpointReport } from './endpoint.js';
import { DATA, PHASES, TELL } from './mate.test-worker.js';
import { bytes, codeOf } from './pair.test-worker.js';

/** A receiver that reads nothing: of this thread, and closed by it; or of another one, that dies. */
async function make(gone: 'closed' | 'dead') {
  const context = Context.create({
    maxWorkers: 4,
    maxLanes: 8,
    laneBytes: 1024,
    inlineBytes: 64,
    slotBytes: 1000,
    slots: 8,
  });
  onTestFinished(() => context[Symbol.dispose]());
  const crew = new Crew(context, new URL('./waits-end.test-worker.js', import.meta.url), 1);
  const sender = context.createWorker({ name: 'sender' });
  const reports: EndpointReport[] = [];
  const onClosed = (report: EndpointReport) => void reports.push(report);
  if (gone === 'closed') {
    const receiver = context.createWorker({ name: 'receiver' });
    const endpoint = sender.connect(receiver.address, { onClosed });
    return { context, sender, reports, endpoint, end: async () => receiver.close() };
  }
  const member = crew.start('deaf');
  await crew.until('it can be sent to', () => crew.get(TELL.phase, 1) >= PHASES.indexOf('announced'));
  const endpoint = sender.connect(crew.addressOf(1), { onClosed });
  const end = async () => {
    void member.worker.terminate();
    await crew.until('its death is dealt with', () => endpoint.closed && context.usage().workers === 1);
  };
  return { context, sender, reports, endpoint, end };
}

describe.each(['closed', 'dead'] as const)('what was held back for a receiver that is %s', (gone) => {
  it('is reported once, from progress, with what was published and not read', async () => {
    const { context, sender, reports, endpoint, end } = await make(gone);
    const completion = new Completion();
    expect(endpoint.trySend(DATA, bytes(8))).toBe('sent');
    endpoint.cork();
    expect(endpoint.trySend(DATA, bytes(1000))).toBe('sent');
    expect(endpoint.trySend(DATA, bytes(8), undefined, completion)).toBe('sent');
    await end();
    // Nobody looks whether the lane is closed before it is published.
    expect(endpoint.trySend(DATA, bytes(8))).toBe('sent');
    expect(endpoint.trySend(DATA, bytes(1000), undefined, completion)).toBe('sent');
    expect(completion.pending).toBe(2);
    expect(reports).toEqual([]);
    for (let i = 0; i < 3; i++) sender.progress();
    expect(reports).toEqual([{ address: endpoint.address, begun: 0, unread: 5 }]);
    expect([completion.pending, completion.failed]).toEqual([0, 2]);
    await expect(completion.finished()).rejects.toMatchObject({ code: 'ERR_HEDDLE_CLOSED' });
    expect(endpoint.trySend(DATA)).toBe('closed');
    expect(context.usage()).toEqual({ workers: 1, lanes: 0, slots: 0 });
  });

  it.each(['flush', 'uncork', 'fence', 'send', 'full'] as const)(
    'is not published by %s, and reported from progress',
    async (how) => {
      const { context, sender, reports, endpoint, end } = await make(gone);
      endpoint.cork();
      endpoint.trySend(DATA, bytes(1000));
      await end();
      let sent = 1;
      if (how === 'flush') expect(codeOf(() => endpoint.flush())).toBe('ERR_HEDDLE_CLOSED');
      if (how === 'uncork') expect(endpoint.uncork()).toBe(false);
      if (how === 'fence') sender.fence();
      if (how === 'full') {
        let answer = endpoint.trySend(DATA, bytes(8));
        while (answer === 'sent') {
          sent++;
          answer = endpoint.trySend(DATA, bytes(8));
        }
        expect(answer).toBe('closed');
      }
      if (how === 'send') {
        endpoint.send(DATA, bytes(8));
        sent++;
      }
      sender.progress();
      sender.progress();
      expect(reports).toEqual([{ address: endpoint.address, begun: 0, unread: sent }]);
      // Who asks is told again.
      expect(codeOf(() => endpoint.flush())).toBe('ERR_HEDDLE_CLOSED');
      expect(endpoint.uncork()).toBe(false);
      expect(endpoint.trySend(DATA)).toBe('closed');
      expect(context.usage()).toEqual({ workers: 1, lanes: 0, slots: 0 });
    },
  );
});
