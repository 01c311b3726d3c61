import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { WorkerAddress } from './address.js';
import { Completion } from './completion.js';
import { Context } from './context.js';
import { Crew } from './crew.test-worker.js';
import type { Endpoint, SendAsyncOptions } from './endpoint.js';
import type { Loan } from './loan.js';
import { ALL, DATA, PHASES, TELL } from './mate.test-worker.js';
import type { TransportWorker } from './transport-worker.js';
import { SLEEPS } from './waits-end.test-worker.js';

const SLOTS = 4;
const DATA_BYTES = 1000;
const url = new URL('./waits-end.test-worker.js', import.meta.url);
const turn = () => new Promise(setImmediate);

interface Scene {
  readonly context: Context;
  readonly sender: TransportWorker;
  readonly endpoint: Endpoint;
  /** All slots that there are. */
  readonly loans: Loan[];
  readonly completion: Completion;
}

/** An endpoint to a worker that reads nothing, with no room in its lane and no slot left. */
function sceneOf(context: Context, to: WorkerAddress): Scene {
  const sender = context.createWorker({ name: 'sender' });
  const endpoint = sender.connect(to);
  while (endpoint.trySend(DATA, new Uint8Array(8)) === 'sent');
  const loans: Loan[] = [];
  for (let loan = endpoint.loan(DATA_BYTES); loan; loan = endpoint.loan(DATA_BYTES)) loans.push(loan);
  return { context, sender, endpoint, loans, completion: new Completion() };
}

function make(): Scene & { readonly receiver: TransportWorker } {
  const context = contextOf(false);
  const receiver = context.createWorker({ name: 'receiver' });
  return { ...sceneOf(context, receiver.address), receiver };
}

function contextOf(janitor: boolean): Context {
  const context = Context.create({
    janitor,
    maxWorkers: 4,
    maxLanes: 8,
    laneBytes: 256,
    inlineBytes: 64,
    slotBytes: DATA_BYTES,
    slots: SLOTS,
  });
  onTestFinished(() => context[Symbol.dispose]());
  return context;
}

/** Everything of an endpoint that can be pending. */
const WAITS: Record<string, (scene: Scene, options: SendAsyncOptions) => Promise<unknown>> = {
  'a loan': ({ endpoint }, options) => endpoint.loanAsync(DATA_BYTES, options),
  'a send that wants room': ({ endpoint }, options) =>
    endpoint.sendAsync(DATA, new Uint8Array(8), undefined, options),
  'a send that wants a slot': ({ endpoint }, options) =>
    endpoint.sendAsync(DATA, new Uint8Array(DATA_BYTES), undefined, options),
  'a send that asks': ({ endpoint, completion }, options) =>
    endpoint.sendAsync(DATA, new Uint8Array(8), undefined, { ...options, completion }),
  'a send of a loan': ({ endpoint, loans }, options) =>
    endpoint.sendAsync(DATA, loans[0]!, undefined, options),
  'a flush': ({ endpoint }, options) => endpoint.flushAsync(options),
};

/** Everything that ends them, and how. */
const ENDS: Record<string, { end(scene: ReturnType<typeof make>): void; code?: string }> = {
  'the endpoint closes': { end: ({ endpoint }) => endpoint.close() },
  'the receiver closes': { end: ({ receiver }) => receiver.close() },
  'the worker of the endpoint closes': { end: ({ sender }) => sender.close() },
  'the context is shut down': { end: ({ context }) => context.shutdown() },
  'the thread detaches': { end: ({ context }) => context[Symbol.dispose]() },
  'it is aborted': { end: () => {}, code: 'aborted' },
  'the time is up': { end: () => {}, code: 'ERR_HEDDLE_TIMED_OUT' },
};

/** How often each was settled, and how. */
function settled(waits: readonly Promise<unknown>[]): string[][] {
  return waits.map((wait) => {
    const outcomes: string[] = [];
    wait.then(
      () => outcomes.push('done'),
      (error: { code?: string } | string) =>
        outcomes.push(typeof error === 'string' ? error : (error.code ?? String(error))),
    );
    return outcomes;
  });
}

function assertConserved({ context, loans, endpoint, completion }: Scene, workers: number): void {
  expect(completion.pending).toBe(0);
  for (const loan of loans) loan.cancel();
  endpoint.close();
  if (!context.segment.attached) return;
  // The lane of an endpoint that left is the receiver's until that has looked.
  expect(context.usage()).toMatchObject({ workers, slots: 0 });
  expect(context.audit()).toMatchObject({ outstanding: 0, putTwice: [], consistent: true });
}

describe.each(Object.entries(ENDS))('when %s', (what, { end, code = 'ERR_HEDDLE_CLOSED' }) => {
  const optionsOf = (signal: AbortSignal) => ({
    ...(what === 'it is aborted' && { signal }),
    ...(what === 'the time is up' && { timeout: 1 }),
  });

  it.each(Object.entries(WAITS))('%s that waits ends, once, and leaves nothing', async (_name, wait) => {
    const scene = make();
    const abort = new AbortController();
    const outcomes = settled([wait(scene, optionsOf(abort.signal))]);
    await turn();
    if (what !== 'the time is up') expect(outcomes).toEqual([[]]);
    end(scene);
    abort.abort('aborted');
    await vi.waitUntil(() => outcomes.every(({ length }) => length > 0));
    await turn();
    expect(outcomes).toEqual([[code]]);
    assertConserved(scene, scene.receiver.closed || scene.sender.closed ? 1 : 2);
  });

  it('all that wait at once end, once each, and leave nothing (TR-11)', async () => {
    const scene = make();
    const abort = new AbortController();
    const options = optionsOf(abort.signal);
    const waits = Object.values(WAITS);
    const outcomes = settled([...waits, ...waits].map((wait) => wait(scene, options)));
    await turn();
    end(scene);
    abort.abort('aborted');
    await vi.waitUntil(() => outcomes.every(({ length }) => length > 0));
    await turn();
    expect(outcomes).toEqual(outcomes.map(() => [code]));
    assertConserved(scene, scene.receiver.closed || scene.sender.closed ? 1 : 2);
  });
});

describe('when an endpoint closes whose lane another one keeps open', () => {
  it.each(Object.entries(WAITS))(
    '%s that waits ends, and those of the other one go on',
    async (_name, wait) => {
      const { sender, receiver, ...scene } = make();
      const { endpoint } = scene;
      const other = sender.connect(receiver.address);
      const inFront = settled([other.sendAsync(DATA)]);
      const outcomes = settled([wait({ sender, ...scene }, {})]);
      const behind = settled([other.flushAsync(), other.sendAsync(DATA)]);
      await turn();
      endpoint.close();
      await turn();
      expect([...inFront, ...outcomes, ...behind]).toEqual([[], ['ERR_HEDDLE_CLOSED'], [], []]);
      receiver.on(DATA, () => {});
      await vi.waitUntil(() => receiver.progress() === 0 && behind.every(({ length }) => length > 0));
      expect([...inFront, ...behind]).toEqual([['done'], ['done'], ['done']]);
      other.close();
      assertConserved({ sender, ...scene }, 2);
    },
  );

  it('a flush that waits ends, also where nothing else does', async () => {
    const { sender, receiver, endpoint } = make();
    const other = sender.connect(receiver.address);
    const outcomes = settled([endpoint.flushAsync(), other.flushAsync()]);
    await turn();
    endpoint.close();
    await turn();
    expect(outcomes).toEqual([['ERR_HEDDLE_CLOSED'], []]);
  });
});

describe('when the receiver dies', () => {
  it.each(['watched', 'by the janitor alone'] as const)(
    'all that wait end, once each, and leave nothing: %s',
    async (how) => {
      const context = contextOf(how !== 'watched');
      const crew = new Crew(context, url, 1);
      const receiver = crew.start('deaf');
      await crew.until('it can be sent to', () => crew.get(TELL.phase, 1) >= PHASES.indexOf('announced'));
      const scene = sceneOf(context, crew.addressOf(1));
      const waits = Object.values(WAITS);
      const outcomes = settled([...waits, ...waits].map((wait) => wait(scene, {})));
      await turn();
      expect(outcomes.flat()).toEqual([]);
      void receiver.worker.terminate();
      await crew.until('all have ended', () => outcomes.every(({ length }) => length > 0));
      await turn();
      expect(outcomes).toEqual(outcomes.map(() => ['ERR_HEDDLE_CLOSED']));
      // The janitor, another thread, may not be done yet: what waits ends before the worker's row is free.
      await crew.until('it is recovered', () => context.usage().workers === 1);
      assertConserved(scene, 1);
      scene.sender.close();
      expect(context.usage()).toEqual({ workers: 0, lanes: 0, slots: 0 });
    },
  );
});

describe.each(['serialized', 'multi'] as const)(
  'when a thread closes its use of a %s worker',
  (threadMode) => {
    it('its sleeps there end, and those of the others go on (TR-11)', async () => {
      const context = contextOf(false);
      const worker = context.createWorker({ threadMode });
      const waiting = worker.waitAsync();
      const crew = new Crew(context, url, 1);
      for (const sleep of Object.keys(SLEEPS)) {
        for (const end of ['worker', 'context']) {
          crew.start('leaver', { address: worker.address, sleep, end }, 1);
          await crew.untilAllEnded();
          crew.assertWell();
        }
      }
      const outcomes = settled([waiting]);
      await turn();
      expect(outcomes).toEqual([[]]);
      worker.connect(worker.address).trySend(DATA);
      await waiting;
    });
  },
);

it('a thread ends its use of the context while another one is inside of its worker: that goes on, what waits here ends', async () => {
  const context = contextOf(true);
  const receiver = context.createWorker();
  const crew = new Crew(context, url, 1);
  crew.start('owner', { address: receiver.address });
  await crew.until('there is a worker', () => crew.get(ALL.ready) === 1);
  const shared = context.openWorker(crew.addressOf(1));
  let handled = 0;
  shared.on(DATA, () => {
    if (++handled > 1) return;
    crew.set(ALL.stop, 1);
    crew.blockUntil('its owner has left', () => crew.get(TELL.phase, 1) === PHASES.indexOf('done'));
  });
  const endpoint = receiver.connect(shared.address);
  for (let i = 0; i < 2; i++) endpoint.send(DATA);
  expect(shared.progress(1)).toBe(1);
  await crew.untilAllEnded();
  expect(shared.progress()).toBe(1);
  endpoint.close();
  shared.close();
  receiver.on(DATA, () => {});
  receiver.progress();
  await crew.until('the lane of the owner is free', () => context.usage().lanes === 0);
  receiver.close();
  crew.assertConserved();
});
