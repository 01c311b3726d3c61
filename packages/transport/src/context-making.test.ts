import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { Segment } from '@heddle/memory';
import { expect, it, onTestFinished, vi } from 'vitest';
import { Context } from './context.js';
import { endingAfter, type MakerData } from './context-making.test-worker.js';
import { type ContextOptions, planOf } from './context-options.js';
import { contextByteLength, contextLayout, writeShape } from './transport.layout.js';

const LONG = process.env['HEDDLE_STRESS'] === 'long';
if (LONG) vi.setConfig({ testTimeout: 3_600_000 });
const url = new URL('./context-making.test-worker.js', import.meta.url);

const SMALL: ContextOptions = {
  maxWorkers: 1,
  maxLanes: 1,
  laneBytes: 64,
  slotBytes: 64,
  slots: 4,
  largeSlots: [{ bytes: 128, count: 2 }],
};

it('a context whose maker dies half way leaves nothing, and can be made anew (LC-06)', {
  timeout: 60_000,
}, async () => {
  const counter = endingAfter(1_000_000, () => {});
  const alone = Segment.create({ platform: counter.platform });
  counter.begin();
  Context.create({ ...SMALL, segment: alone })[Symbol.dispose]();
  const most = 1_000_000 - counter.left;
  alone.detach();
  const every = LONG ? 1 : Math.ceil(most / 16);

  let deaths = 0;
  for (let calls = 0; calls < most; calls += every) {
    const segment = Segment.create({ byteLength: 2 ** 22 });
    // What is made once for all pools.
    Context.create({ ...SMALL, segment, name: 'first' })[Symbol.dispose]();
    const { used } = segment.space.usage();
    const options = { ...SMALL, name: `after ${calls}` };
    const workerData: MakerData = { handle: segment.handle, options, calls };
    const worker = new Worker(url, { workerData });
    segment.watch(worker);
    await once(worker, 'exit');
    expect(segment.threads()).toHaveLength(1);
    const names = segment.directory.list().map(({ name }) => name);
    const made = names.includes(options.name);
    if (made) {
      Context.attach({ heddle: 'context', segment: segment.handle, name: options.name })[Symbol.dispose]();
    } else {
      deaths++;
      expect(
        names.filter((name) => name.startsWith(`${options.name}.`)),
        `after ${calls}`,
      ).toEqual([]);
      expect(segment.space.usage().used, `after ${calls}`).toBe(used);
      const context = Context.create({ ...options, segment });
      const worker = context.createWorker();
      worker.on(1, () => {});
      expect(worker.connect(worker.address).trySend(1, new Uint8Array(100))).toBe('sent');
      expect(worker.progress()).toBe(1);
      context[Symbol.dispose]();
    }
    segment.detach();
  }
  expect(deaths).toBeGreaterThan(3);
});

it('a context that is being made cannot be attached to, and its name is taken (LC-06)', () => {
  const segment = Segment.create({ byteLength: 2 ** 22 });
  onTestFinished(() => segment.detach());
  const { shape } = planOf(SMALL);
  const name = 'half';
  segment.createStructure({
    name,
    layout: contextLayout,
    byteLength: contextByteLength(shape),
    init({ byteOffset, byteLength }) {
      const words = segment.wordsAt(byteOffset, byteLength);
      writeShape(words, shape);
      // Of another thread.
      words[contextLayout.offsets.maker] = segment.thread.token + 1;
    },
  });
  const attach = () => Context.attach({ heddle: 'context', segment: segment.handle, name });
  expect(attach).toThrow(expect.objectContaining({ code: 'ERR_HEDDLE_NOT_READY' }));
  expect(() => Context.create({ ...SMALL, segment, name })).toThrow(
    expect.objectContaining({ code: 'ERR_HEDDLE_NAME_TAKEN' }),
  );
});

it('the name of a context is 1 to 47 bytes, so that those of its pools fit', () => {
  const segment = Segment.create({ byteLength: 2 ** 23 });
  onTestFinished(() => segment.detach());
  const make = (name: string) => Context.create({ ...SMALL, segment, name })[Symbol.dispose]();
  make('n'.repeat(47));
  const before = segment.space.usage().used;
  for (const name of ['n'.repeat(48), 'ü'.repeat(24)]) expect(() => make(name)).toThrow(RangeError);
  for (const name of ['', 'a\0b', 5 as unknown as string]) expect(() => make(name)).toThrow(TypeError);
  expect(segment.space.usage().used).toBe(before);
});
