import { execFileSync } from 'node:child_process';
import type { Worker } from 'node:worker_threads';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { Holder, registerHolder } from './holder.test-worker.js';
import { Segment, type SegmentOptions } from './segment.js';
import { ENDINGS, type Ending, type SegmentJob, startJob } from './segment.test-worker.js';

const long = process.env['HEDDLE_STRESS'] === 'long';
if (long) vi.setConfig({ testTimeout: 600_000 });
const workers: Worker[] = [];
const segments: Segment[] = [];

function setUp(options: SegmentOptions = {}) {
  const segment = Segment.create({ byteLength: 2 ** 20, ...options });
  segments.push(segment);
  return { segment, holder: new Holder(segment) };
}

function start(job: SegmentJob, transferList: readonly unknown[] = []): Worker {
  const worker = startJob(job, transferList);
  worker.on('error', () => {});
  workers.push(worker);
  return worker;
}

/** Starts a job whose thread is linked to the janitor from the start. */
function startLinked(segment: Segment, job: Omit<SegmentJob, 'handle'>): Worker {
  const { handle, transferList } = segment.lifeline();
  return start({ ...job, handle }, transferList);
}

/** Ends a thread that does not end by itself. */
function finish(worker: Worker, ending: Ending): void {
  if (ending === 'terminate') void worker.terminate();
}

/** Unlike `once`, it does not mind an error of the worker. */
const exitOf = (worker: Worker) => new Promise((resolve) => worker.once('exit', resolve));

const others = (segment: Segment) =>
  segment.threads().filter(({ unique }) => unique !== segment.thread.unique && unique !== segment.janitor);

const janitorReady = (segment: Segment) =>
  vi.waitFor(() => expect(segment.janitor).toBeGreaterThan(0), { timeout: 30_000 });

afterEach(async () => {
  await Promise.all(workers.splice(0).map((worker) => worker.terminate()));
  for (const segment of segments.splice(0)) segment.detach();
});

describe('watch', () => {
  test.each(ENDINGS)('recovers what a worker held that ended by %s', async (ending) => {
    const { segment, holder } = setUp();
    const worker = start({ handle: segment.handle, ending });
    segment.watch(worker);
    await holder.untilAsync('held', 1);
    finish(worker, ending);
    await holder.untilAsync('recovered', 1);
    expect(others(segment)).toEqual([]);
    expect(segment.deaths).toBe(1);
  });

  test('takes no notice once it is called off', async () => {
    const { segment, holder } = setUp();
    const worker = start({ handle: segment.handle, ending: 'process.exit', stay: true });
    const unwatch = segment.watch(worker);
    await holder.untilAsync('held', 1);
    unwatch();
    const ended = exitOf(worker);
    worker.postMessage('end');
    await ended;
    expect(holder.recovered).toBe(0);
    expect(() => segment.watch(worker)).toThrow(expect.objectContaining({ code: 'ERR_HEDDLE_CLOSED' }));
  });

  test('does nothing for a worker that never attached', async () => {
    const { segment } = setUp();
    const worker = start({ handle: {} as never, ending: 'return' });
    segment.watch(worker);
    await exitOf(worker);
    expect(segment.threads()).toHaveLength(1);
  });

  test('does nothing once the watching thread has detached', async () => {
    const { segment, holder } = setUp();
    const worker = start({ handle: segment.handle, ending: 'return', stay: true });
    segment.watch(worker);
    await holder.untilAsync('held', 1);
    segment.detach();
    const ended = exitOf(worker);
    worker.postMessage('end');
    await ended;
    expect(holder.recovered).toBe(0);
    // Whoever comes next, and hears of it, goes on.
    const again = Segment.attach(segment.handle);
    segments.push(again);
    expect(again.threads().filter(({ phase }) => phase === 'attached')).toHaveLength(2);
    for (const { unique } of others(again)) again.declareDead(unique);
    expect(holder.recovered).toBe(1);
  });
});

describe('the janitor', () => {
  test.each(ENDINGS)('recovers what a worker held that ended by %s, while its parent blocks', (ending) => {
    const { segment, holder } = setUp({ janitor: true });
    const worker = startLinked(segment, { ending });
    const { recoveriesHere } = holder;
    // No turn of this thread's event loop from here on.
    holder.waitUntil('held', 1);
    finish(worker, ending);
    holder.waitUntil('recovered', 1);
    expect(holder.recoveriesHere).toBe(recoveriesHere);
  });

  test.each(ENDINGS)(
    'recovers what a worker held that had only a handle, and ended by %s',
    async (ending) => {
      const { segment, holder } = setUp({ janitor: true });
      await janitorReady(segment);
      const worker = start({ handle: segment.handle, ending });
      await holder.untilAsync('held', 1);
      finish(worker, ending);
      await holder.untilAsync('recovered', 1);
    },
  );

  test.each(['plain', 'lifeline'] as const)(
    'recovers what a grandchild held, while its parent blocks (%s handle)',
    async (nested) => {
      const { segment, holder } = setUp({ janitor: true });
      await janitorReady(segment);
      const ended = exitOf(startLinked(segment, { ending: 'terminate', nested }));
      if (nested === 'lifeline') holder.waitUntil('recovered', 1);
      else await holder.untilAsync('recovered', 1);
      await ended;
    },
  );

  test('notes in the table who is linked', async () => {
    const { segment, holder } = setUp({ janitor: true });
    const worker = startLinked(segment, { ending: 'return', stay: true });
    await holder.untilAsync('held', 1);
    await vi.waitFor(() => expect(others(segment)).toMatchObject([{ linked: true, phase: 'attached' }]));
    worker.postMessage('end');
    await holder.untilAsync('recovered', 1);
  });

  test('lets threads leave and come back', async () => {
    const { segment, holder } = setUp({ janitor: true });
    await janitorReady(segment);
    const worker = startLinked(segment, { ending: 'return', stay: true, rounds: long ? 2000 : 100 });
    await holder.untilAsync('held', 1);
    // All that the worker has sent is seen by the janitor before this.
    startLinked(segment, { ending: 'return' });
    await holder.untilAsync('recovered', 1);
    await vi.waitFor(() => expect(others(segment)).toMatchObject([{ phase: 'attached' }]));
    worker.postMessage('end');
    await holder.untilAsync('recovered', 2);
  });

  test('ends when nobody is left, and another is started when it is needed again', async () => {
    const { segment } = setUp({ janitor: true });
    await janitorReady(segment);
    const first = segment.janitor;
    const { handle } = segment;
    segment.detach();
    await vi.waitFor(() => expect(segment.janitor).toBe(0));
    expect(segment.threads()).toEqual([]);
    const again = Segment.attach(handle);
    segments.push(again);
    again.startJanitor();
    again.startJanitor();
    await janitorReady(again);
    expect(again.janitor).not.toBe(first);
    expect(again.threads()).toHaveLength(2);
  });

  test('is started once, however many threads want one', async () => {
    const { segment, holder } = setUp();
    const jobs = Array.from({ length: 4 }, () =>
      start({ handle: segment.handle, ending: 'return', janitor: true, stay: true }),
    );
    segment.startJanitor();
    await holder.untilAsync('held', 4);
    await janitorReady(segment);
    await vi.waitFor(() => expect(others(segment).filter(({ linked }) => linked)).toHaveLength(4));
    for (const job of jobs) job.postMessage('end');
    // The one who started it may end first: then another takes over.
    await holder.untilAsync('recovered', 4);
  });

  test('is replaced when the thread that started it ends, and both are recovered', async () => {
    const { segment, holder } = setUp();
    const starter = start({ handle: segment.handle, ending: 'terminate', janitor: true, stay: true });
    await holder.untilAsync('held', 1);
    await janitorReady(segment);
    const first = segment.janitor;
    segment.startJanitor(); // There is one: this thread links to it.
    await vi.waitFor(() =>
      expect(segment.threads().find(({ unique }) => unique === segment.thread.unique)!.linked).toBe(true),
    );
    await starter.terminate();
    await holder.untilAsync('recovered', 1);
    await vi.waitFor(() => expect([0, first]).not.toContain(segment.janitor), { timeout: 30_000 });
    await vi.waitFor(() => expect(segment.threads()).toHaveLength(2));
    expect(segment.threads().map(({ unique }) => unique)).toContain(segment.thread.unique);
    startLinked(segment, { ending: 'process.exit' });
    holder.waitUntil('recovered', 2);
  });

  test('that was replaced does not lose a worker whose lifeline led to it', async () => {
    const { segment, holder } = setUp();
    const starter = start({ handle: segment.handle, ending: 'terminate', janitor: true, stay: true });
    await holder.untilAsync('held', 1);
    await janitorReady(segment);
    const first = segment.janitor;
    segment.startJanitor();
    const late = startLinked(segment, { ending: 'return', late: true, stay: true });
    await starter.terminate();
    await vi.waitFor(() => expect([0, first]).not.toContain(segment.janitor), { timeout: 30_000 });
    const second = segment.janitor;
    late.postMessage('attach');
    await holder.untilAsync('held', 2);
    await vi.waitFor(() => expect(others(segment)).toMatchObject([{ linked: true }]), { timeout: 30_000 });
    expect(segment.janitor).toBe(second);
    late.postMessage('end');
    await holder.untilAsync('recovered', 2);
  });

  test('asks the others where it cannot load the code of a kind', async () => {
    registerHolder({ forJanitor: false });
    try {
      const { segment, holder } = setUp({ janitor: true });
      const { recoveriesHere } = holder;
      startLinked(segment, { ending: 'process.exit', withoutModule: true });
      await holder.untilAsync('recovered', 1);
      expect(holder.recoveriesHere).toBe(recoveriesHere + 1);
      await vi.waitFor(() => expect(others(segment)).toEqual([]));
    } finally {
      registerHolder();
    }
  });
});

test('threads that attach by a handle and end at once are not missed, however busy the machine is', async () => {
  const count = long ? 600 : 24;
  const { segment, holder } = setUp({ janitor: true, maxThreads: 64 });
  await janitorReady(segment);
  for (let started = 0; started < count; started += 6) {
    const group = Array.from({ length: 6 }, (_, i) =>
      start({ handle: segment.handle, ending: ENDINGS[i % 4]! }),
    );
    await Promise.all(group.map(exitOf));
  }
  await holder.untilAsync('recovered', count);
  expect(holder.held).toBe(count);
});

test('a janitor can be started by a script that is given on the command line', () => {
  const entry = JSON.stringify(new URL('./index.js', import.meta.url).href);
  const script = `
    const { Segment } = await import(${entry});
    const segment = Segment.create({ byteLength: 2 ** 20, janitor: true });
    while (segment.janitor === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    console.log('ready');`;
  const output = execFileSync(process.execPath, ['--input-type=module', '--eval', script], {
    encoding: 'utf8',
  });
  expect(output).toBe('ready\n');
});

test('both detectors at once recover each death once', async () => {
  const count = long ? 100 : 12;
  const { segment, holder } = setUp({ janitor: true, maxThreads: 32 });
  for (let i = 0; i < count; i++) {
    const worker = startLinked(segment, { ending: ENDINGS[i % 4]! });
    segment.watch(worker);
    if (i % 4 === 3) await holder.untilAsync('held', i + 1);
  }
  await holder.untilAsync('recovered', count);
  expect(holder.held).toBe(count);
  await vi.waitFor(() => expect(others(segment)).toEqual([]));
  expect(holder.recovered).toBe(count);
});

test('ids are used again, tokens are not', async () => {
  const { segment, holder } = setUp({ maxThreads: 2 });
  const seen = new Set([segment.thread.token]);
  for (let i = 1; i <= 5; i++) {
    const worker = start({ handle: segment.handle, ending: 'return', stay: true });
    segment.watch(worker);
    await holder.untilAsync('held', i);
    const [row] = others(segment);
    expect(row).toMatchObject({ id: 2 });
    expect(seen.has(row!.token)).toBe(false);
    seen.add(row!.token);
    worker.postMessage('end');
    await holder.untilAsync('recovered', i);
  }
});

test('a segment outlives the worker that made it (LC-05)', async () => {
  const { segment, holder } = setUp();
  const maker = start({ handle: segment.handle, ending: 'process.exit' });
  segment.watch(maker);
  await holder.untilAsync('recovered', 1);
  const { handle } = segment;
  segment.detach();
  // Nobody is attached; the next find everything in place.
  const again = Segment.attach(handle);
  segments.push(again);
  expect(new Holder(again).recovered).toBe(1);
  const next = start({ handle, ending: 'return' });
  again.watch(next);
  await new Holder(again).untilAsync('recovered', 2);
});

test('a worker that is parked can be terminated, with a nested one below it (LC-01)', async () => {
  const { segment, holder } = setUp({ janitor: true });
  await janitorReady(segment);
  const middle = startLinked(segment, { ending: 'return', stay: true, nested: 'lifeline' });
  await holder.untilAsync('held', 1);
  await middle.terminate();
  // The nested one held something, and went with the one above it.
  await holder.untilAsync('recovered', 1);
  await vi.waitFor(() => expect(others(segment)).toEqual([]));
});
