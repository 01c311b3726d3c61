import { Worker } from 'node:worker_threads';
import { Segment } from '@heddle/memory';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Mpool } from './mpool.js';
import { mpoolLayout, shardLayout } from './mpool.layout.js';
import type { Answer, Task } from './mpool.test-worker.js';
import { POLICIES } from './policy.js';
import { LOCKS, type MpoolOptions } from './pool-options.js';

const long = process.env['HEDDLE_STRESS'] === 'long';

/** A worker thread and how to ask it. */
class Helper {
  readonly worker: Worker;
  readonly #segment: Segment;
  readonly #exited: Promise<void>;
  readonly #asked: { resolve(answer: Answer): void; reject(error: Error): void }[] = [];

  constructor(pool: Mpool) {
    this.#segment = pool.segment;
    this.worker = new Worker(new URL('./mpool.test-worker.js', import.meta.url), {
      workerData: { pool: pool.handle },
    });
    this.#segment.watch(this.worker);
    let error = new Error('The worker ended before it answered');
    this.worker.on('error', (reason) => {
      error = reason as Error;
    });
    this.worker.on('message', (answer: Answer) => this.#asked.shift()?.resolve(answer));
    this.#exited = new Promise((resolve) => {
      this.worker.on('exit', () => {
        for (const { reject } of this.#asked.splice(0)) reject(error);
        resolve();
      });
    });
  }

  ask(task: Task): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#asked.push({ resolve, reject });
      this.worker.postMessage(task);
    });
  }

  /** Ends the thread and waits until its death was recovered. */
  async end(how: 'terminate' | 'exit' | 'throw' | 'detach'): Promise<void> {
    if (how === 'detach') await this.ask({ do: 'end', how });
    if (how === 'terminate' || how === 'detach') void this.worker.terminate();
    else this.worker.postMessage({ do: 'end', how } satisfies Task);
    await this.#exited;
    expect(this.#segment.threads().filter(({ phase }) => phase === 'dead')).toEqual([]);
  }
}

type Variant = Pick<MpoolOptions, 'policy' | 'exact' | 'lock' | 'checked' | 'debug' | 'counters'>;

describe.each<Variant>([{ policy: 'sharded' }, { policy: 'sharded', exact: true }, { policy: 'locked' }])(
  'a pool of %o, on threads',
  (variant) => conformance(variant, false),
);

describe.each<Variant>([{ checked: 'exact' }, { debug: true, counters: true }])(
  'a pool of %o, on threads',
  (variant) => conformance(variant, false),
);

describe.each<Variant>(
  LOCKS.filter((lock) => lock !== 'latch' && lock !== 'none').map((lock) => ({ policy: 'locked', lock })),
)('a pool of %o, on threads', (variant) => conformance(variant, true));

/** What every pool for many threads does. `brief` is for those that differ in their lock alone. */
function conformance(variant: Variant, brief: boolean): void {
  let segment: Segment;
  const helpers: Helper[] = [];

  const poolOf = (maxElems: number, elemSize = 64) =>
    Mpool.create(segment, {
      name: 'blocks',
      elemSize,
      maxElems,
      ...variant,
      ...(variant.debug && { init: (bytes) => bytes.set([0, 0, 0, 0]) }),
    });
  const helperOf = (pool: Mpool) => {
    const helper = new Helper(pool);
    helpers.push(helper);
    return helper;
  };

  beforeEach(() => {
    segment = Segment.create({ byteLength: 2 ** 24 });
  });

  afterEach(async () => {
    await Promise.all(helpers.splice(0).map(({ worker }) => worker.terminate()));
    segment.detach();
  });

  it.skipIf(brief)('PL-05 gets elements here and puts them there', async () => {
    const pool = poolOf(64);
    const helper = helperOf(pool);
    // A stack trace each takes its time.
    const rounds = long ? (variant.debug ? 2000 : 16_000) : 200;
    let put = 0;
    for (let round = 0; round < rounds; round++) {
      const descriptors: number[] = [];
      while (descriptors.length < 64) descriptors.push(pool.get({ timeout: 0 }));
      expect(new Set(descriptors.map((d) => pool.offset(d))).size).toBe(descriptors.length);
      put += descriptors.length;
      await helper.ask({ do: 'put', descriptors });
      await helper.ask({ do: 'flush' });
    }
    pool.flush();
    expect(pool.audit()).toMatchObject({ outstanding: 0, put, putAcrossThreads: put, consistent: true });
  });

  it.skipIf(brief)('PL-03 refuses a descriptor that another thread put', async () => {
    const pool = poolOf(4);
    const helper = helperOf(pool);
    const descriptor = pool.get();
    await helper.ask({ do: 'put', descriptors: [descriptor] });
    await helper.ask({ do: 'flush' });
    expect(() => pool.put(descriptor)).toThrow(/put already/);
    expect(pool.audit()).toMatchObject({ outstanding: 0, consistent: true });
  });

  it.skipIf(brief)('PL-06 lets a thread have what another one got and put', async () => {
    const pool = poolOf(32);
    const helper = helperOf(pool);
    const { descriptors } = await helper.ask({ do: 'get', count: 1 });
    await helper.ask({ do: 'put', descriptors });
    const got = new Set<number>();
    for (let i = 0; i < 32; i++) got.add(pool.offset(pool.get({ timeout: 0 })));
    expect(got.size).toBe(32);
  });

  it.each(['terminate', 'exit', 'throw', 'detach'] as const)(
    'PL-10 brings back what a thread held that ends by %s',
    async (how) => {
      const pool = poolOf(8);
      const helper = helperOf(pool);
      const { descriptors, threadId } = await helper.ask({ do: 'get', count: 8 });
      expect(pool.tryGet()).toBeNull();
      const holders = pool.audit().holders;
      expect(holders.map(({ descriptor }) => descriptor).sort()).toEqual([...descriptors].sort());
      expect(holders.every((holder) => holder.threadId === threadId && holder.gotBy === threadId)).toBe(true);
      await helper.end(how);
      expect(pool.audit()).toMatchObject({ outstanding: 0, recovered: 8, consistent: true });
      const got = new Set<number>();
      for (let i = 0; i < 8; i++) got.add(pool.offset(pool.get({ timeout: 0 })));
      expect(got.size).toBe(8);
      expect(() => pool.put(descriptors[0]!)).toThrow(/generation/);
    },
  );

  it.skipIf(brief)('PL-10 brings back what a busy thread held through leases that it forgot', async () => {
    const pool = poolOf(128);
    const helper = helperOf(pool);
    await helper.ask({ do: 'get', count: 100, drop: true });
    expect(pool.audit().outstanding).toBe(100);
    await helper.end('terminate');
    expect(pool.audit()).toMatchObject({ outstanding: 0, recovered: 100, consistent: true });
  });

  it.skipIf(brief)(
    'PL-08 never runs out over receivers that die with elements held and underway',
    async () => {
      const pool = poolOf(8);
      for (let restart = 0; restart < (long ? 20 : 5); restart++) {
        const helper = helperOf(pool);
        const { token, threadId } = await helper.ask({ do: 'flush' });
        const send = () => {
          const descriptor = pool.get({ timeout: 0 });
          pool.detach(descriptor, token);
          return descriptor;
        };
        // Only it may have what was sent to it.
        const sent = send();
        expect(pool.audit().holders).toMatchObject([{ descriptor: sent, state: 'sent', threadId }]);
        expect(() => pool.adopt(sent)).toThrow(/sent/);
        expect(() => pool.put(sent)).toThrow(/sent/);
        await helper.ask({ do: 'put', descriptors: [sent] });
        await helper.ask({ do: 'flush' });
        // Two that it holds, two that are sent and that it never takes.
        await helper.ask({ do: 'adopt', descriptors: [send(), send()] });
        send();
        send();
        expect(pool.audit().outstanding).toBe(4);
        await helper.end('terminate');
        expect(pool.audit()).toMatchObject({ outstanding: 0, consistent: true });
      }
    },
  );

  it.skipIf(brief)(
    'PL-03 refuses to a third thread what was sent to a second one and not adopted',
    async () => {
      const pool = poolOf(64);
      const [receiver, third] = [helperOf(pool), helperOf(pool)];
      const { token } = await receiver.ask({ do: 'flush' });
      const { threadId } = await third.ask({ do: 'flush' });
      const first = pool.get();
      const offset = pool.offset(first);
      await third.ask({ do: 'put', descriptors: [first] });
      await third.ask({ do: 'flush' });
      let descriptor = pool.get();
      while (pool.offset(descriptor) !== offset) descriptor = pool.get();
      const { outstanding } = pool.audit();
      pool.detach(descriptor, token);
      const notHolder = { code: 'ERR_HEDDLE_NOT_HOLDER' };
      expect(() => pool.put(descriptor)).toThrow(expect.objectContaining(notHolder));
      const batched = variant.policy === 'sharded' && !variant.exact;
      if (batched) {
        // It has put that slot before, so it sends this one off without a look at the lease; who collects it refuses it.
        await third.ask({ do: 'put', descriptors: [descriptor] });
        await third.ask({ do: 'flush' });
        expect(pool.audit()).toMatchObject({ refused: 2, putTwice: [{ descriptor, threadId }] });
      }
      // From then on it looks.
      await expect(third.ask({ do: 'put', descriptors: [descriptor] })).rejects.toMatchObject(notHolder);
      expect(pool.audit()).toMatchObject({ outstanding, put: 1, refused: batched ? 3 : 2, consistent: true });
      await receiver.ask({ do: 'adopt', descriptors: [descriptor] });
      await receiver.ask({ do: 'put', descriptors: [descriptor] });
      await receiver.ask({ do: 'flush' });
      expect(pool.audit()).toMatchObject({ outstanding: outstanding - 1, put: 2, consistent: true });
    },
  );

  it.skipIf(brief)('leaves to a living thread what a dead one sent to it', async () => {
    const pool = poolOf(8);
    const helper = helperOf(pool);
    const { descriptors } = await helper.ask({ do: 'send', count: 3, to: segment.thread.token });
    await helper.end('terminate');
    for (const descriptor of descriptors) {
      pool.adopt(descriptor);
      pool.put(descriptor);
    }
    expect(pool.audit()).toMatchObject({ outstanding: 0, put: 3, recovered: 0 });
  });

  it.skipIf(brief)('wakes a getter that blocks, by a put on any thread', async () => {
    const pool = poolOf(1);
    const [getter, putter] = [helperOf(pool), helperOf(pool)];
    const descriptor = pool.get();
    const waiting = getter.ask({ do: 'wait' });
    await putter.ask({ do: 'put', descriptors: [descriptor] });
    const { descriptors } = await waiting;
    expect(pool.audit().holders.map((holding) => holding.descriptor)).toEqual(descriptors);
  });

  it('recovers a thread later where another one, whose death nobody has noticed, died in the list', async () => {
    const pool = poolOf(8);
    const [first, second] = [helperOf(pool), helperOf(pool)];
    const { threadId } = await first.ask({ do: 'get', count: 3 });
    const { token } = await second.ask({ do: 'flush' });
    const info = segment.directory.find('blocks')!;
    const words = segment.wordsAt(info.byteOffset, info.byteLength);
    const guard = guardWordOf(words);
    // As if it had been terminated in there; only a turn of this thread's event loop tells.
    if (guard !== undefined) Atomics.store(words, guard, token);
    // Its exit is seen here, and would wait for the other one.
    await first.worker.terminate();
    const dead = segment.threads().filter(({ phase }) => phase === 'dead');
    expect(dead.map(({ id }) => id)).toEqual(guard === undefined ? [] : [threadId]);
    expect(segment.recover().stalled).toBe(guard !== undefined);
    await second.end('terminate');
    expect(pool.audit()).toMatchObject({ outstanding: 0, recovered: 3, consistent: true });
  });

  it('wakes a getter that blocks, by the death of a holder', async () => {
    const pool = poolOf(1);
    const [getter, holder] = [helperOf(pool), helperOf(pool)];
    await holder.ask({ do: 'get', count: 1 });
    const waiting = getter.ask({ do: 'wait' });
    await holder.end('terminate');
    expect((await waiting).descriptors).toHaveLength(1);
  });

  it('PL-01 never gives one element to two threads, with more threads than cores and elements', async () => {
    const pool = poolOf(4);
    const threads = 6;
    const rounds = long ? 200_000 : brief ? 300 : 2000;
    const all = Array.from({ length: threads }, () => helperOf(pool));
    await Promise.all(all.map((helper) => helper.ask({ do: 'exchange', rounds, hold: 2 })));
    const audit = pool.audit();
    expect(audit).toMatchObject({ outstanding: 0, consistent: true });
    expect(audit.got).toBe(audit.put);
    expect(audit.put).toBeGreaterThanOrEqual(threads * rounds);
    expect(new Set(Array.from({ length: 4 }, () => pool.offset(pool.get({ timeout: 0 })))).size).toBe(4);
  });

  it.skipIf(brief).each([1, 8])('PL-06 goes on with %d elements for 8 threads', async (maxElems) => {
    const pool = poolOf(maxElems);
    const all = Array.from({ length: 8 }, () => helperOf(pool));
    const rounds = long ? 20_000 : 100;
    await Promise.all(all.map((helper) => helper.ask({ do: 'exchange', rounds, hold: 1 })));
    const audit = pool.audit();
    expect(audit).toMatchObject({ outstanding: 0, refused: 0, consistent: true });
    expect(audit.put).toBeGreaterThanOrEqual(8 * rounds);
    const got = Array.from({ length: maxElems }, () => pool.offset(pool.get({ timeout: 0 })));
    expect(new Set(got).size).toBe(maxElems);
  });

  it.skipIf(brief)('PL-05 moves elements from all threads to all threads', async () => {
    const pool = poolOf(256);
    const threads = 8;
    const rounds = long ? 150_000 : 4000;
    const boxes = new SharedArrayBuffer(4 * 64);
    const all = Array.from({ length: threads }, () => helperOf(pool));
    await Promise.all(all.map((helper) => helper.ask({ do: 'swap', rounds, boxes })));
    for (const box of new Int32Array(boxes)) if (box !== 0) pool.put(box - 1);
    pool.flush();
    const audit = pool.audit();
    expect(audit).toMatchObject({ outstanding: 0, refused: 0, consistent: true });
    expect(audit.put).toBe(threads * rounds);
    expect(audit.putAcrossThreads).toBeGreaterThan(0);
    const got = Array.from({ length: 256 }, () => pool.offset(pool.get({ timeout: 0 })));
    expect(new Set(got).size).toBe(256);
  });

  describe.skipIf(brief)('closed', () => {
    const isGone = () => segment.directory.find('blocks') === undefined;

    it('goes when each thread that used it has noticed, disposed of it, or died', async () => {
      const pool = poolOf(8);
      const [noticing, disposing, dying] = [helperOf(pool), helperOf(pool), helperOf(pool)];
      const ids: number[] = [];
      for (const helper of [noticing, disposing, dying]) {
        const { descriptors, threadId } = await helper.ask({ do: 'get', count: 1 });
        await helper.ask({ do: 'put', descriptors });
        await helper.ask({ do: 'flush' });
        ids.push(threadId);
      }
      expect(pool.close()).toEqual({ outstanding: [], usedBy: ids.sort((a, b) => a - b) });
      expect(isGone()).toBe(false);
      expect(await noticing.ask({ do: 'try' })).toMatchObject({ descriptors: [] });
      await dying.end('terminate');
      expect(isGone()).toBe(false);
      await disposing.ask({ do: 'dispose' });
      expect(isGone()).toBe(true);
      expect(await noticing.ask({ do: 'try' })).toMatchObject({ descriptors: [] });
      poolOf(8).close();
    });

    it('by force leaves elements to their holder, until it puts them or dies', async () => {
      for (const how of ['put', 'terminate'] as const) {
        const pool = poolOf(8);
        const helper = helperOf(pool);
        const { descriptors, threadId } = await helper.ask({ do: 'get', count: 2 });
        const left = pool.close({ force: true });
        expect(left.usedBy).toEqual([threadId]);
        expect(left.outstanding.map(({ descriptor }) => descriptor).sort()).toEqual([...descriptors].sort());
        if (how === 'put') {
          await helper.ask({ do: 'put', descriptors });
          expect(() => pool.tryGet()).toThrow(/closed/);
          expect(await helper.ask({ do: 'try' })).toMatchObject({ descriptors: [] });
        } else {
          await helper.end('terminate');
          expect(() => pool.tryGet()).toThrow(/closed/);
        }
        expect(isGone()).toBe(true);
      }
    });

    it('by who waits until another thread has put what it held', async () => {
      const pool = poolOf(8);
      const [holder, getter] = [helperOf(pool), helperOf(pool)];
      const { descriptors } = await holder.ask({ do: 'get', count: 8 });
      await getter.ask({ do: 'flush' });
      const waiting = getter.ask({ do: 'wait' });
      const closing = pool.closeAsync();
      expect((await getter.ask({ do: 'flush' })).descriptors).toEqual([]);
      await holder.ask({ do: 'put', descriptors });
      // Whoever comes, or waits already, while it is waited for gets nothing.
      expect((await waiting).descriptors).toEqual([]);
      await closing;
      await getter.ask({ do: 'try' });
      await holder.ask({ do: 'try' });
      expect(isGone()).toBe(true);
    });

    it('wakes who blocks in get', async () => {
      const pool = poolOf(1);
      const descriptor = pool.get();
      const getter = helperOf(pool);
      await getter.ask({ do: 'flush' });
      const waiting = getter.ask({ do: 'wait' });
      pool.close({ force: true });
      expect(await waiting).toMatchObject({ descriptors: [] });
      pool.put(descriptor);
      expect(() => pool.tryGet()).toThrow(/closed/);
    });
  });

  it('loses nothing when threads are killed while they get and put', async () => {
    const pool = poolOf(16);
    const survivor = helperOf(pool);
    const kills = long ? 100 : brief ? 3 : 8;
    let killed = 0;
    for (; killed < kills; killed++) {
      const victim = helperOf(pool);
      await victim.ask({ do: 'flush' });
      victim.worker.postMessage({ do: 'exchange', rounds: 1e9, hold: 2 } satisfies Task);
      await survivor.ask({ do: 'flush' });
      // What the victim marked as its own is no evidence against the next one.
      await victim.end('terminate');
      const words = new Int32Array(segment.buffer);
      const got = Array.from({ length: 16 }, () => pool.get({ timeout: 0 }));
      expect(new Set(got.map((descriptor) => pool.offset(descriptor))).size).toBe(16);
      for (const descriptor of got) {
        words[pool.offset(descriptor) / 4] = 0;
        pool.put(descriptor);
      }
      pool.flush();
      expect(pool.audit()).toMatchObject({ outstanding: 0, consistent: true });
    }
  });
}

it('a pool of policy serialized refuses to a third thread what was sent to a second one', async () => {
  const segment = Segment.create({ byteLength: 2 ** 22 });
  const pool = Mpool.create(segment, { name: 'p', elemSize: 64, maxElems: 4, policy: 'serialized' });
  const [receiver, third] = [new Helper(pool), new Helper(pool)];
  const { token } = await receiver.ask({ do: 'flush' });
  const descriptor = pool.get();
  pool.detach(descriptor, token);
  const notHolder = { code: 'ERR_HEDDLE_NOT_HOLDER' };
  expect(() => pool.put(descriptor)).toThrow(expect.objectContaining(notHolder));
  await expect(third.ask({ do: 'put', descriptors: [descriptor] })).rejects.toMatchObject(notHolder);
  await receiver.ask({ do: 'adopt', descriptors: [descriptor] });
  await receiver.end('terminate');
  expect(pool.audit()).toMatchObject({ outstanding: 0, recovered: 1, consistent: true });
  segment.detach();
});

/** The latch of the first list; undefined where another lock guards it. */
function guardWordOf(words: Int32Array): number | undefined {
  const { policy, lockWords } = mpoolLayout.offsets;
  if (POLICIES[words[policy]!] === 'locked' && words[lockWords] !== 0) return undefined;
  return mpoolLayout.wordCount + shardLayout.offsets.latch;
}

describe('a pool of policy owner, on threads', () => {
  it('PL-05 refuses other threads, and loses nothing when one of them dies', async () => {
    const segment = Segment.create({ byteLength: 2 ** 22 });
    const pool = Mpool.create(segment, { name: 'p', elemSize: 64, maxElems: 4, policy: 'owner' });
    const descriptor = pool.get();
    const helper = new Helper(pool);
    await expect(helper.ask({ do: 'put', descriptors: [descriptor] })).rejects.toMatchObject({
      code: 'ERR_HEDDLE_WRONG_THREAD',
    });
    const other = new Helper(pool);
    await other.ask({ do: 'flush' });
    await other.end('terminate');
    pool.put(descriptor);
    expect(pool.audit()).toMatchObject({ outstanding: 0, put: 1, consistent: true });
    segment.detach();
  });

  it('is audited by another thread while it goes on, and counts exactly', async () => {
    const segment = Segment.create({ byteLength: 2 ** 22 });
    const pool = Mpool.create(segment, { name: 'p', elemSize: 64, maxElems: 4, policy: 'owner' });
    const helper = new Helper(pool);
    await helper.ask({ do: 'flush' });
    const until = new SharedArrayBuffer(4);
    const auditing = helper.ask({ do: 'audit', until });
    const rounds = long ? 10_000_000 : 1_000_000;
    for (let round = 0; round < rounds; round++) pool.put(pool.get());
    Atomics.store(new Int32Array(until), 0, 1);
    await auditing;
    expect(pool.audit()).toMatchObject({ outstanding: 0, got: rounds, put: rounds, consistent: true });
    segment.detach();
  });

  it('gives nothing to other threads, from which it could not come back', async () => {
    const segment = Segment.create({ byteLength: 2 ** 22 });
    const pool = Mpool.create(segment, { name: 'p', elemSize: 64, maxElems: 4, policy: 'owner' });
    const helper = new Helper(pool);
    const { token } = await helper.ask({ do: 'flush' });
    const descriptor = pool.get();
    const wrongThread = { code: 'ERR_HEDDLE_WRONG_THREAD' };
    expect(() => pool.detach(descriptor, token)).toThrow(expect.objectContaining(wrongThread));
    pool.detach(descriptor);
    await expect(helper.ask({ do: 'adopt', descriptors: [descriptor] })).rejects.toMatchObject(wrongThread);
    pool.detach(pool.get(), segment.thread.token);
    pool.put(descriptor);
    expect(pool.audit()).toMatchObject({ outstanding: 1, put: 1, holders: [{ state: 'sent' }] });
    segment.detach();
  });
});

it('ends a wait on the event loop of a thread that detaches, which gets nothing any more', async () => {
  const segment = Segment.create({ byteLength: 2 ** 22 });
  const pool = Mpool.create(segment, { name: 'p', elemSize: 64, maxElems: 1 });
  const helper = new Helper(pool);
  const descriptor = pool.get();
  const ended = new SharedArrayBuffer(4);
  await helper.ask({ do: 'detach while waiting', ended });
  pool.put(descriptor);
  await Atomics.waitAsync(new Int32Array(ended), 0, 0).value;
  expect(new Int32Array(ended)[0]).toBe(2);
  expect(pool.audit()).toMatchObject({ outstanding: 0, put: 1, consistent: true });
  pool.put(pool.get());
  await helper.worker.terminate();
  segment.detach();
});

it('recovers a thread by itself as soon as who has a latch lets go of it', async () => {
  const segment = Segment.create({ byteLength: 2 ** 22 });
  const pool = Mpool.create(segment, { name: 'p', elemSize: 64, maxElems: 8 });
  const [victim, holder] = [new Helper(pool), new Helper(pool)];
  await victim.ask({ do: 'get', count: 3 });
  const { token } = await holder.ask({ do: 'flush' });
  const info = segment.directory.find('p')!;
  const words = segment.wordsAt(info.byteOffset, info.byteLength);
  const guard = guardWordOf(words)!;
  Atomics.store(words, guard, token);
  await victim.worker.terminate();
  const deadRows = () => segment.threads().filter(({ phase }) => phase === 'dead').length;
  expect(deadRows()).toBe(1);
  Atomics.store(words, guard, 0);
  while (deadRows() > 0) await turn();
  expect(pool.audit()).toMatchObject({ outstanding: 0, recovered: 3, consistent: true });
  await holder.end('terminate');
  segment.detach();
});

it("PL-03 refuses with checked: 'exact' at its call what waits in another thread's batch", async () => {
  const segment = Segment.create({ byteLength: 2 ** 22 });
  const exact = { elemSize: 64, maxElems: 32, magazine: 8, threads: 4, checked: 'exact' } as const;
  const pool = Mpool.create(segment, { name: 'p', ...exact });
  const helper = new Helper(pool);
  const descriptor = pool.get();
  const block = new SharedArrayBuffer(4);
  await helper.ask({ do: 'put', descriptors: [descriptor], thenBlock: block });
  expect(pool.audit()).toMatchObject({ unsent: 1, outstanding: 0 });
  expect(() => pool.put(descriptor)).toThrow(/put already/);
  expect(() => pool.bytes(descriptor)).toThrow(/put already/);
  Atomics.store(new Int32Array(block), 0, 1);
  Atomics.notify(new Int32Array(block), 0);
  await helper.ask({ do: 'flush' });
  expect(pool.audit()).toMatchObject({ put: 1, refused: 1, putTwice: [], outstanding: 0, consistent: true });
  await helper.end('terminate');
  segment.detach();
});

it('sends off what was put soon after the turn of the event loop, and keeps no process alive for that', async () => {
  const segment = Segment.create({ byteLength: 2 ** 22 });
  const pool = Mpool.create(segment, { name: 'p', elemSize: 64, maxElems: 32, magazine: 8, threads: 4 });
  const helper = new Helper(pool);
  const descriptors = Array.from({ length: 32 }, () => pool.get({ timeout: 0 }));
  // The helper takes no further turn by itself: its batch is not full.
  await helper.ask({ do: 'put', descriptors: descriptors.slice(0, 3) });
  while (pool.audit().unsent > 0) await turn();
  expect(pool.audit()).toMatchObject({ outstanding: 29, put: 3, consistent: true });
  // Once more: it was armed anew.
  await helper.ask({ do: 'put', descriptors: descriptors.slice(3, 5) });
  while (pool.audit().unsent > 0) await turn();
  await helper.end('terminate');
  // This thread detaches before its turn ends: recovery has done it, and the callback does nothing.
  pool.put(descriptors[5]!);
  segment.detach();
  await new Promise((resolve) => setTimeout(resolve, 5));
});

it('names the thread that wrote to an element after it had put it', async () => {
  const segment = Segment.create({ byteLength: 2 ** 22 });
  const pool = Mpool.create(segment, { name: 'p', elemSize: 64, maxElems: 1, debug: true, counters: true });
  const helper = new Helper(pool);
  const descriptor = pool.get();
  const view = pool.bytes(descriptor);
  const { threadId } = await helper.ask({ do: 'put', descriptors: [descriptor] });
  view[0] = 1;
  const facts = { kind: 'used after put', threadId, foundBy: segment.thread.id };
  expect(() => pool.get()).toThrow(
    expect.objectContaining({ code: 'ERR_HEDDLE_DAMAGED', facts: expect.objectContaining(facts) }),
  );
  expect(pool.counters()!.threads).toMatchObject([
    { threadId: segment.thread.id, got: 2, put: 1 },
    { threadId, got: 0, put: 1, putAcrossThreads: 1 },
  ]);
  const { descriptors } = await helper.ask({ do: 'get', count: 1 });
  const [holding] = pool.audit().holders;
  expect(holding).toMatchObject({ descriptor: descriptors[0], threadId });
  expect(holding!.place).toMatch(/^mpool\.test-worker\.[jt]s:\d+:\d+$/);
  expect(holding!.ageMs).toBeLessThan(60_000);
  await helper.end('terminate');
  segment.detach();
});

it('PL-06 lets one thread have the nominal capacity, whatever idle threads keep in magazines and seats', async () => {
  const segment = Segment.create({ byteLength: 2 ** 22 });
  const pool = Mpool.create(segment, { name: 'p', elemSize: 64, maxElems: 32, magazine: 8, threads: 4 });
  const helpers = [new Helper(pool), new Helper(pool), new Helper(pool)];
  for (const helper of helpers) {
    // Its magazine is full of what came along, and its put waits to be sent off.
    const { descriptors } = await helper.ask({ do: 'get', count: 2 });
    await helper.ask({ do: 'put', descriptors, thenBlock: new SharedArrayBuffer(4) });
  }
  expect(pool.audit()).toMatchObject({ cached: 21, unsent: 6, outstanding: 0, consistent: true });
  const got = new Set<number>();
  for (let i = 0; i < 32; i++) got.add(pool.offset(pool.get({ timeout: 0 })));
  expect(got.size).toBe(32);
  for (const helper of helpers) await helper.end('terminate');
  expect(pool.audit()).toMatchObject({ unsent: 0, outstanding: 32, consistent: true });
  segment.detach();
});

it('lets threads that follow each other put through the lane of one seat, and closes with puts underway', async () => {
  const segment = Segment.create({ byteLength: 2 ** 22 });
  const pool = Mpool.create(segment, { name: 'p', elemSize: 64, maxElems: 64, magazine: 4, threads: 2 });
  let put = 0;
  for (let restart = 0; restart < 8; restart++) {
    const helper = new Helper(pool);
    // More than a lane has room for, and a batch that is not full.
    const descriptors = Array.from({ length: 27 }, () => pool.get({ timeout: 0 }));
    await helper.ask({ do: 'put', descriptors });
    put += descriptors.length;
    await helper.end('terminate');
    expect(pool.audit()).toMatchObject({
      outstanding: 0,
      unsent: 0,
      put,
      putAcrossThreads: put,
      refused: 0,
      consistent: true,
    });
  }
  const helper = new Helper(pool);
  await helper.ask({ do: 'put', descriptors: Array.from({ length: 7 }, () => pool.get({ timeout: 0 })) });
  // Nobody has collected these: they are put all the same.
  pool.close();
  expect(pool.closed).toBe(true);
  await helper.end('terminate');
  segment.detach();
});

it('PL-03 names who put what another thread has put already, at the latest when it is collected', async () => {
  const segment = Segment.create({ byteLength: 2 ** 22 });
  const pool = Mpool.create(segment, { name: 'p', elemSize: 64, maxElems: 32, magazine: 4, threads: 4 });
  const helpers = [new Helper(pool), new Helper(pool)];
  const [first, second] = helpers as [Helper, Helper];
  // Both have put this slot before, so neither looks at it closely.
  let descriptor = pool.get();
  const { offset } = { offset: pool.offset(descriptor) };
  for (const helper of helpers) {
    await helper.ask({ do: 'put', descriptors: [descriptor] });
    await helper.ask({ do: 'flush' });
    pool.audit();
    const got: number[] = [];
    pool.getMany(32, got);
    descriptor = got.find((one) => pool.offset(one) === offset)!;
    expect(descriptor).toBeDefined();
    pool.putMany(got.filter((one) => one !== descriptor));
  }
  await first.ask({ do: 'put', descriptors: [descriptor] });
  await first.ask({ do: 'flush' });
  const { threadId } = await second.ask({ do: 'put', descriptors: [descriptor] });
  await second.ask({ do: 'flush' });
  expect(pool.audit()).toMatchObject({
    outstanding: 0,
    putTwice: [{ descriptor, threadId }],
    consistent: true,
  });
  await expect(second.ask({ do: 'put', descriptors: [descriptor] })).rejects.toMatchObject({
    code: 'ERR_HEDDLE_STALE_DESCRIPTOR',
  });
  for (const helper of helpers) await helper.worker.terminate();
  segment.detach();
});

it('wakes a thread that blocks when the holder dies that it waits for, by the janitor', async () => {
  const segment = Segment.create({ byteLength: 2 ** 22, janitor: true });
  const pool = Mpool.create(segment, { name: 'p', elemSize: 64, maxElems: 1 });
  // Until the janitor runs, this thread is not linked to it.
  while (!segment.threads().some(({ id, linked }) => id === segment.thread.id && linked)) await turn();
  const { handle, transferList } = segment.lifeline();
  const worker = new Worker(new URL('./mpool.test-worker.js', import.meta.url), {
    workerData: { pool: { ...pool.handle, segment: handle } },
    transferList: transferList as never,
  });
  worker.on('error', () => {});
  worker.postMessage({ do: 'get', count: 1 } satisfies Task);
  await new Promise((resolve) => worker.once('message', resolve));
  expect(pool.tryGet()).toBeNull();
  worker.postMessage({ do: 'end', how: 'exit' } satisfies Task);
  // This thread's event loop does not turn any more: it cannot see the exit.
  pool.put(pool.get());
  expect(pool.audit()).toMatchObject({ recovered: 1, outstanding: 0, consistent: true });
  await worker.terminate();
  segment.detach();
});

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
