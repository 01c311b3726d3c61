import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { realPlatform, Segment } from '@heddle/memory';
import { countingPlatform } from '@heddle/memory/counting';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Context } from './context.js';
import type { ContextOptions } from './context-options.js';
import type { MtType } from './mt-type.js';

const SMALL = { janitor: false, maxWorkers: 4, maxLanes: 8, slots: 8, slotBytes: 64 } as const;

function make(mtType?: MtType, options: ContextOptions = {}) {
  const context = Context.create({ ...SMALL, ...options, ...(mtType && { mtType }) });
  onTestFinished(() => context[Symbol.dispose]());
  return context;
}

/** What a second thread meets: the codes of its errors, or what came. */
async function secondThread(context: Context): Promise<string[]> {
  const thread = new Worker(
    `const { parentPort, workerData } = require('node:worker_threads');
     import(workerData.module).then(async ({ Context }) => {
       const codes = [];
       const attempt = (act) => {
         try {
           codes.push(String(act()));
         } catch (error) {
           codes.push(error.code ?? error.message);
         }
       };
       let context;
       attempt(() => void (context = Context.attach(workerData.handle)));
       if (context) {
         attempt(() => context.locked((outcome) => outcome));
         attempt(() => context.createWorker().threadMode);
         await context.close();
       }
       parentPort.postMessage(codes);
     });`,
    {
      eval: true,
      workerData: { module: new URL('./index.js', import.meta.url).href, handle: context.handle },
    },
  );
  const ended = once(thread, 'exit');
  const [codes] = await once(thread, 'message');
  await ended;
  return codes;
}

const code = (wanted: string) => expect.objectContaining({ code: wanted });

describe('the lock of a context', () => {
  it('is the one that was asked for, a spin lock unless told otherwise', () => {
    expect(make().mtType).toBe('spinlock');
    for (const mtType of ['none', 'spinlock', 'mutex', 'worker-async'] as const) {
      const context = make(mtType);
      expect(context.mtType).toBe(mtType);
      expect(context.locked(() => context.locked((outcome) => outcome))).toBe('acquired');
      expect(context.createWorker().threadMode).toBe('single');
    }
    expect(() => make('futex' as never)).toThrow(RangeError);
  });

  it.each(['spinlock', 'mutex'] as const)('%s lets all threads share', async (mtType) => {
    expect(await secondThread(make(mtType))).toEqual(['undefined', 'acquired', 'single']);
  });

  it('none refuses to share: other threads, and workers for several', async () => {
    const context = make('none');
    for (const threadMode of ['serialized', 'multi'] as const) {
      expect(() => context.createWorker({ threadMode })).toThrow(code('ERR_HEDDLE_UNSUPPORTED'));
    }
    expect(await secondThread(context)).toEqual(['ERR_HEDDLE_WRONG_THREAD']);
    const worker = context.createWorker();
    const endpoint = worker.connect(worker.address);
    worker.on(1, () => {});
    endpoint.trySend(1);
    expect(worker.progress()).toBe(1);
  });

  it('worker-async is that of the only multi worker, and there is none before', async () => {
    const context = make('worker-async');
    expect(await secondThread(context)).toEqual([
      'undefined',
      'ERR_HEDDLE_WRONG_THREAD',
      'ERR_HEDDLE_WRONG_THREAD',
    ]);
    const lender = context.createWorker({ threadMode: 'multi' });
    expect(() => context.createWorker({ threadMode: 'multi' })).toThrow(code('ERR_HEDDLE_UNSUPPORTED'));
    expect(context.createWorker({ threadMode: 'serialized' }).threadMode).toBe('serialized');
    expect(await secondThread(context)).toEqual(['undefined', 'acquired', 'single']);
    lender.close();
    const next = context.createWorker({ threadMode: 'multi' });
    expect(next.threadMode).toBe('multi');
    expect(await secondThread(context)).toEqual(['undefined', 'acquired', 'single']);
  });

  it.each(['spinlock', 'mutex'] as const)(
    '%s is not waited for by a thread that must not block: it tries for a while, and nothing has changed (LC-03)',
    async (mtType) => {
      const segment = Segment.create({ platform: { ...realPlatform, canBlock: () => false } });
      onTestFinished(() => segment.detach());
      const context = make(mtType, { segment });
      const worker = context.createWorker();
      const before = context.usage();
      const goOn = new Int32Array(new SharedArrayBuffer(4));
      const thread = new Worker(
        `const { parentPort, workerData } = require('node:worker_threads');
         import(workerData.module).then(({ Context }) => {
           const context = Context.attach(workerData.handle);
           context.locked(() => {
             parentPort.postMessage('inside');
             Atomics.wait(workerData.goOn, 0, 0);
           });
           return context.close();
         });`,
        {
          eval: true,
          workerData: {
            module: new URL('./index.js', import.meta.url).href,
            handle: context.handle,
            goOn,
          },
        },
      );
      const ended = once(thread, 'exit');
      await once(thread, 'message');
      for (const act of [() => context.createWorker(), () => worker.connect(worker.address)]) {
        expect(act).toThrow(code('ERR_HEDDLE_MUST_NOT_BLOCK'));
      }
      expect(context.usage()).toEqual(before);
      Atomics.store(goOn, 0, 1);
      Atomics.notify(goOn, 0);
      await ended;
      expect(context.createWorker().connect(worker.address).trySend(1)).toBe('sent');
    },
  );

  it('is released when a section throws', () => {
    const context = make('mutex');
    expect(() =>
      context.locked(() => {
        throw new Error('from the section');
      }),
    ).toThrow('from the section');
    expect(context.locked((outcome) => outcome)).toBe('acquired');
  });

  it.each([
    ['none', 0],
    ['spinlock', 2],
    ['mutex', 2],
    ['worker-async', 6],
  ] as const)('%s costs as many Atomics calls as is stated: %i', (mtType, calls) => {
    const platform = countingPlatform();
    const segment = Segment.create({ platform });
    onTestFinished(() => segment.detach());
    const context = make(mtType, { segment });
    if (mtType === 'worker-async') context.createWorker({ threadMode: 'multi' });
    const cost = (act: () => unknown) => {
      platform.reset();
      act();
      return Object.values(platform.counts()).reduce<number>((sum, count) => sum + count, 0);
    };
    context.locked(() => {});
    // Whether the context was shut down is 1 load.
    expect(cost(() => context.locked(() => {}))).toBe(1 + calls);
  });
});
