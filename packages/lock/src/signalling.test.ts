import { HeddleError, type Platform, realPlatform } from '@heddle/memory';
import { countingPlatform } from '@heddle/memory/counting';
import { beforeEach, describe, expect, test } from 'vitest';
import { AutoResetEvent } from './auto-reset-event.js';
import { Barrier } from './barrier.js';
import { Condition } from './condition.js';
import { Segment } from './index.js';
import { ManualResetEvent } from './manual-reset-event.js';
import { Mutex } from './mutex.js';
import { mutexLayout } from './mutex.layout.js';
import { Once } from './once.js';
import { Semaphore } from './semaphore.js';
import type { SharedObject } from './shared-object.js';

interface Waits {
  readonly timeout?: number;
  readonly signal?: AbortSignal;
}

/** One side of something that can be waited for, and signalled. A wait answers whether it was in time. */
interface Side {
  wait(options?: Waits): boolean;
  waitAsync(options?: Waits): Promise<boolean>;
  signal(): void;
}

interface Subject {
  readonly kind: string;
  readonly create: (segment: Segment, name: string) => SharedObject;
  readonly open: (segment: Segment, name: string) => SharedObject;
  readonly from: (handle: SharedObject['handle']) => SharedObject;
  /** Two sides over the same words, for two threads. */
  readonly sides: (segment: Segment, platform?: Platform) => readonly [Side, Side];
  readonly skips?: { readonly kept?: string; readonly free?: string };
}

const inTime = (call: () => unknown) => {
  try {
    call();
    return true;
  } catch (error) {
    if (error instanceof HeddleError && error.code === 'ERR_HEDDLE_TIMED_OUT') return false;
    throw error;
  }
};
const inTimeAsync = (promise: Promise<unknown>) =>
  promise.then(
    () => true,
    (error: unknown) => {
      if (error instanceof HeddleError && error.code === 'ERR_HEDDLE_TIMED_OUT') return false;
      throw error;
    },
  );

/** The body of a structure in the segment, as the thread of `token` would use it. */
function placed(object: SharedObject, name: string, layout: { kind: string; version: number }) {
  const info = object.segment!.openStructure(name, layout);
  return (token: number, platform?: Platform) => ({
    words: object.segment!.wordsAt(info.byteOffset, info.byteLength),
    token,
    platform,
  });
}

const SUBJECTS: readonly Subject[] = [
  {
    kind: 'semaphore',
    create: (segment, name) => Semaphore.create(segment, { name, permits: 0 }),
    open: Semaphore.open,
    from: Semaphore.from,
    sides: (segment, platform) => {
      const at = placed(Semaphore.create(segment, { name: 'x', permits: 0 }), 'x', {
        kind: 'semaphore',
        version: 1,
      });
      return [1, 2].map((token) => {
        const semaphore = new Semaphore(at(token, platform));
        return {
          wait: (options?: Waits) => inTime(() => semaphore.acquire(options)),
          waitAsync: (options?: Waits) => inTimeAsync(semaphore.acquireAsync(options)),
          signal: () => semaphore.release(),
        };
      }) as unknown as [Side, Side];
    },
  },
  ...([AutoResetEvent, ManualResetEvent] as const).map((Event, i) => {
    const kind = ['auto-reset-event', 'manual-reset-event'][i]!;
    return {
      kind,
      create: (segment: Segment, name: string) => Event.create(segment, { name }),
      open: Event.open,
      from: Event.from,
      sides: (segment: Segment, platform?: Platform) => {
        const at = placed(Event.create(segment, { name: 'x' }), 'x', { kind, version: 1 });
        return [1, 2].map((token) => {
          const event = new Event(at(token, platform));
          return {
            wait: (options?: Waits) => event.wait(options),
            waitAsync: (options?: Waits) => event.waitAsync(options),
            signal: () => event.set(),
          };
        }) as unknown as [Side, Side];
      },
    };
  }),
  {
    kind: 'barrier',
    create: (segment, name) => Barrier.create(segment, { name, parties: 2 }),
    open: Barrier.open,
    from: Barrier.from,
    sides: (segment, platform) => {
      const at = placed(Barrier.create(segment, { name: 'x', parties: 2 }), 'x', {
        kind: 'barrier',
        version: 1,
      });
      return [1, 2].map((token) => {
        const barrier = new Barrier(at(token, platform));
        return {
          wait: (options?: Waits) => inTime(() => barrier.wait(options)),
          waitAsync: (options?: Waits) => inTimeAsync(barrier.waitAsync(options)),
          signal: () => void barrier.waitAsync(),
        };
      }) as unknown as [Side, Side];
    },
  },
  {
    kind: 'condition',
    create: (segment, name) => Condition.create(segment, { name }),
    open: Condition.open,
    from: Condition.from,
    sides: (segment, platform) => {
      const at = placed(Condition.create(segment, { name: 'x' }), 'x', { kind: 'condition', version: 1 });
      Mutex.create(segment, { name: 'm' });
      const mutexAt = placed(Mutex.open(segment, 'm'), 'm', { kind: 'mutex', version: 1 });
      return [1, 2].map((token) => {
        const condition = new Condition(at(token, platform));
        const mutex = new Mutex(mutexAt(token, platform));
        return {
          wait: (options?: Waits) => {
            mutex.lock();
            try {
              return condition.wait(mutex, options) === 'notified';
            } finally {
              mutex.unlock();
            }
          },
          waitAsync: (options?: Waits) =>
            mutex.runAsync(async () => (await condition.waitAsync(mutex, options)) === 'notified'),
          signal: () => condition.notifyOne(),
        };
      }) as unknown as [Side, Side];
    },
    skips: { kept: 'A notify that nobody waits for is gone; what is waited for is kept by the caller' },
  },
];

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

describe.each(SUBJECTS)('$kind', ({ create, open, from, sides, skips }) => {
  let segment: Segment;
  beforeEach(() => {
    segment = Segment.create({ byteLength: 2 ** 20 });
    return () => segment.detach();
  });
  const unlessLost = (name: string, body: () => unknown) =>
    test(name, async (context) => {
      if (skips?.kept) context.skip(skips.kept);
      await body();
    });

  unlessLost('a signal that comes first is not waited for', () => {
    const [mine, other] = sides(segment);
    other.signal();
    expect(mine.wait({ timeout: 0 })).toBe(true);
  });

  unlessLost('a signal that comes first is not waited for by a task', async () => {
    const [mine, other] = sides(segment);
    other.signal();
    expect(await mine.waitAsync({ timeout: 0 })).toBe(true);
  });

  test('without a signal a wait runs out of time, and takes nothing with it', async () => {
    const [mine, other] = sides(segment);
    expect(mine.wait({ timeout: 0 })).toBe(false);
    expect(mine.wait({ timeout: 1 })).toBe(false);
    expect(await mine.waitAsync({ timeout: 1 })).toBe(false);
    expect(await mine.waitAsync({ timeout: 0 })).toBe(false);
    const waiting = mine.waitAsync();
    await turn();
    other.signal();
    expect(await waiting).toBe(true);
  });

  test('an aborted task rejects with the reason, and takes nothing with it', async () => {
    const [mine, other] = sides(segment);
    const abort = new AbortController();
    const given = mine.waitAsync({ signal: abort.signal });
    await turn();
    abort.abort('enough');
    await expect(given).rejects.toBe('enough');
    await expect(mine.waitAsync({ signal: AbortSignal.abort('before') })).rejects.toBe('before');
    const waiting = mine.waitAsync();
    await turn();
    other.signal();
    expect(await waiting).toBe(true);
  });

  test('a bad timeout is refused', async () => {
    const [mine] = sides(segment);
    expect(() => mine.wait({ timeout: Number.NaN })).toThrow(RangeError);
    await expect(mine.waitAsync({ timeout: Number.NaN })).rejects.toThrow(RangeError);
  });

  test('on a thread that must not block the blocking form always throws (LC-03)', async () => {
    const [mine, other] = sides(segment, { ...realPlatform, canBlock: () => false });
    const refused = expect.objectContaining({ code: 'ERR_HEDDLE_MUST_NOT_BLOCK' });
    expect(() => mine.wait()).toThrow(refused);
    expect(() => mine.wait({ timeout: 0 })).toThrow(refused);
    const waiting = mine.waitAsync();
    await turn();
    other.signal();
    expect(await waiting).toBe(true);
  });

  test('it is created, opened by name and made from a handle', () => {
    const created = create(segment, 'named');
    expect(open(segment, 'named').segment).toBe(segment);
    const again = from(structuredClone(created.handle));
    expect(again.segment).toBe(segment);
    again[Symbol.dispose]();
    again[Symbol.dispose]();
    expect(segment.attached).toBe(true);
    expect(() => from({ ...created.handle, heddle: 'ring' })).toThrow(TypeError);
    expect(() => open(segment, 'nmaed')).toThrow(
      expect.objectContaining({ code: 'ERR_HEDDLE_NAME_UNKNOWN' }),
    );
  });
});

describe('semaphore', () => {
  test('it has as many permits as were given to it, and gives back no more than there may be', async () => {
    using semaphore = new Semaphore({ permits: 2, most: 3 });
    expect(semaphore.tryAcquire()).toBe(true);
    semaphore.acquire();
    expect(semaphore.tryAcquire()).toBe(false);
    expect(() => semaphore.release(4)).toThrow(RangeError);
    for (const count of [0, -1, 1.5, Number.NaN]) expect(() => semaphore.release(count)).toThrow(RangeError);
    semaphore.release(3);
    expect(semaphore.available).toBe(3);
    expect(() => semaphore.run(() => expect(semaphore.available).toBe(2))).not.toThrow();
    expect(() =>
      semaphore.run(() => {
        throw new Error('body');
      }),
    ).toThrow('body');
    await expect(semaphore.runAsync(() => Promise.reject(new Error('body')))).rejects.toThrow('body');
    expect(semaphore.available).toBe(3);
  });

  test('bad numbers are refused', () => {
    for (const options of [
      { permits: -1 },
      { permits: 0.5 },
      { permits: 2, most: 1 },
      { permits: 0, most: 0 },
    ]) {
      expect(() => new Semaphore(options)).toThrow(RangeError);
    }
  });

  test('tasks of one thread get permits in the order in which they asked', async () => {
    using semaphore = new Semaphore({ permits: 0 });
    const order: number[] = [];
    const tasks = Array.from({ length: 5 }, (_, i) => semaphore.acquireAsync().then(() => order.push(i)));
    await turn();
    for (let i = 0; i < 5; i++) semaphore.release();
    await Promise.all(tasks);
    expect(order).toEqual([0, 1, 2, 3, 4]);
  });

  test('acquire and release cost a load and a compare-and-exchange each', () => {
    const platform = countingPlatform();
    using segment = Segment.create({ byteLength: 2 ** 20 });
    const at = placed(Semaphore.create(segment, { name: 'x', permits: 1 }), 'x', {
      kind: 'semaphore',
      version: 1,
    });
    const semaphore = new Semaphore(at(1, platform));
    platform.reset();
    semaphore.acquire();
    expect(platform.counts()).toEqual({ load: 1, compareExchange: 1 });
    semaphore.release();
    expect(platform.counts()).toEqual({ load: 2, compareExchange: 2 });
  });
});

describe('events', () => {
  test('a manual one stays set until it is reset, an automatic one is reset by who passes', () => {
    using manual = new ManualResetEvent();
    manual.set();
    manual.set();
    expect([manual.wait(), manual.wait(), manual.isSet]).toEqual([true, true, true]);
    manual.reset();
    manual.reset();
    expect(manual.wait({ timeout: 0 })).toBe(false);
    using auto = new AutoResetEvent();
    auto.set();
    auto.set();
    expect([auto.isSet, auto.wait(), auto.isSet, auto.tryWait()]).toEqual([true, true, false, false]);
    auto.set();
    auto.reset();
    expect(auto.tryWait()).toBe(false);
  });

  test('a task that waits for a manual one passes though it is reset at once', async () => {
    using event = new ManualResetEvent();
    const waiting = event.waitAsync();
    await turn();
    event.set();
    event.reset();
    expect(await waiting).toBe(true);
    expect(event.isSet).toBe(false);
  });

  test('what counts sets and notifies wraps', async () => {
    using segment = Segment.create({ byteLength: 2 ** 20 });
    const event = ManualResetEvent.create(segment, { name: 'e' });
    const mutex = Mutex.create(segment, { name: 'm' });
    const condition = Condition.create(segment, { name: 'c' });
    const at = (name: string, kind: string) => placed(event, name, { kind, version: 1 })(1).words;
    at('e', 'manual-reset-event')[0] = 2 ** 23 - 1;
    const waiting = event.waitAsync();
    await turn();
    event.set();
    event.reset();
    expect(await waiting).toBe(true);
    expect(event.wait({ timeout: 0 })).toBe(false);
    at('c', 'condition')[0] = 2 ** 24 - 1;
    const notified = mutex.runAsync(() => condition.waitAsync(mutex));
    await turn();
    condition.notifyOne();
    expect(await notified).toBe('notified');
    expect(at('c', 'condition')[0]! & (2 ** 24 - 1)).toBe(0);
  });

  test('they cost what they say', () => {
    using segment = Segment.create({ byteLength: 2 ** 20 });
    const kind = 'manual-reset-event';
    const platform = countingPlatform();
    const at = placed(ManualResetEvent.create(segment, { name: 'x' }), 'x', { kind, version: 1 });
    const event = new ManualResetEvent(at(1, platform));
    event.set();
    expect(platform.counts()).toEqual({ load: 1, compareExchange: 1 });
    platform.reset();
    event.wait();
    expect(platform.counts()).toEqual({ load: 1 });
  });
});

describe('barrier', () => {
  test('it goes round, and its round wraps', async () => {
    using segment = Segment.create({ byteLength: 2 ** 20 });
    const barrier = Barrier.create(segment, { name: 'x', parties: 1 });
    for (let round = 0; round < 2 ** 14 + 3; round++) expect(barrier.wait()).toBe('last');
    const [first, second] = SUBJECTS.find(({ kind }) => kind === 'barrier')!.sides(
      Segment.create({ byteLength: 2 ** 20 }),
    );
    for (let round = 0; round < 20; round++) await Promise.all([first.waitAsync(), second.waitAsync()]);
  });

  test('a thread is one party', async () => {
    using segment = Segment.create({ byteLength: 2 ** 20 });
    const barrier = Barrier.create(segment, { name: 'x', parties: 2 });
    const relock = expect.objectContaining({ code: 'ERR_HEDDLE_RELOCK' });
    const waiting = barrier.waitAsync({ timeout: 1 });
    await expect(barrier.waitAsync()).rejects.toEqual(relock);
    expect(() => barrier.wait()).toThrow(relock);
    await expect(waiting).rejects.toEqual(expect.objectContaining({ code: 'ERR_HEDDLE_TIMED_OUT' }));
  });

  test('more threads than parties are refused, until one leaves', () => {
    using segment = Segment.create({ byteLength: 2 ** 20 });
    const at = placed(Barrier.create(segment, { name: 'x', parties: 1 }), 'x', {
      kind: 'barrier',
      version: 1,
    });
    const first = new Barrier(at(1));
    const second = new Barrier(at(2));
    first.wait();
    expect(() => second.wait()).toThrow(expect.objectContaining({ code: 'ERR_HEDDLE_EXHAUSTED' }));
    first.leave();
    expect(second.wait()).toBe('last');
    expect(second.parties).toBe(1);
  });

  test('the death of one that takes part breaks it, until it is reset', async () => {
    using segment = Segment.create({ byteLength: 2 ** 20 });
    const at = placed(Barrier.create(segment, { name: 'x', parties: 2 }), 'x', {
      kind: 'barrier',
      version: 1,
    });
    const [first, second, third] = [1, 2, 3].map((token) => new Barrier(at(token)));
    const poisoned = expect.objectContaining({ code: 'ERR_HEDDLE_POISONED' });
    expect(() => first!.wait({ timeout: 0 })).toThrow(
      expect.objectContaining({ code: 'ERR_HEDDLE_TIMED_OUT' }),
    );
    const waiting = second!.waitAsync();
    second!.recover(1);
    await expect(waiting).rejects.toEqual(poisoned);
    expect(() => second!.wait()).toThrow(poisoned);
    expect(second!.broken).toBe(true);
    second!.reset();
    const again = second!.waitAsync();
    expect(third!.wait()).toBe('last');
    expect(await again).toBe('released');
  });

  test('a reset does not let those pass who waited in the broken round', async () => {
    using segment = Segment.create({ byteLength: 2 ** 20 });
    const at = placed(Barrier.create(segment, { name: 'x', parties: 2 }), 'x', {
      kind: 'barrier',
      version: 1,
    });
    const [first, second] = [1, 2].map((token) => new Barrier(at(token)));
    expect(() => first!.wait({ timeout: 0 })).toThrow();
    const waiting = second!.waitAsync();
    second!.recover(1);
    second!.reset();
    await expect(waiting).rejects.toEqual(expect.objectContaining({ code: 'ERR_HEDDLE_POISONED' }));
  });

  test('bad numbers of parties are refused', () => {
    for (const parties of [0, -1, 1.5, 513, Number.NaN])
      expect(() => new Barrier({ parties })).toThrow(RangeError);
  });
});

describe('once', () => {
  function make() {
    const segment = Segment.create({ byteLength: 2 ** 20 });
    const at = placed(Once.create(segment, { name: 'x' }), 'x', { kind: 'once', version: 1 });
    return [1, 2].map((token) => new Once(at(token))) as [Once, Once];
  }

  test('it runs once, whoever asks', async () => {
    const [first, second] = make();
    let runs = 0;
    expect(first.run(() => runs++)).toBe(true);
    expect(first.run(() => runs++)).toBe(false);
    expect(second.run(() => runs++)).toBe(false);
    expect(await second.runAsync(() => void runs++)).toBe(false);
    expect([runs, first.done, second.done]).toEqual([1, true, true]);
  });

  test('tasks wait for the task that runs it', async () => {
    const [first, second] = make();
    let runs = 0;
    const body = async () => {
      await turn();
      runs++;
    };
    const ran = await Promise.all([first.runAsync(body), first.runAsync(body), second.runAsync(body)]);
    expect(ran).toEqual([true, false, false]);
    expect(runs).toBe(1);
  });

  test('a body that throws is as if it had not run, a body that asks for itself is an error', async () => {
    const [first, second] = make();
    expect(() => first.run(() => first.run(() => {}))).toThrow(
      expect.objectContaining({ code: 'ERR_HEDDLE_RELOCK' }),
    );
    await expect(second.runAsync(() => Promise.reject(new Error('body')))).rejects.toThrow('body');
    expect(first.done).toBe(false);
    expect(second.run(({ interrupted }) => expect(interrupted).toBe(false))).toBe(true);
  });

  test('who waits too long is told', () => {
    const [first, second] = make();
    first.run(() => {
      expect(() => second.run(() => {}, { timeout: 1 })).toThrow(
        expect.objectContaining({ code: 'ERR_HEDDLE_TIMED_OUT' }),
      );
    });
  });

  test('after the death of the one who ran it the next one runs it, and is told', async () => {
    const [first, second] = make();
    void second.runAsync(() => new Promise(() => {}));
    await turn();
    first.recover(2);
    expect(first.run(({ interrupted }) => expect(interrupted).toBe(true))).toBe(true);
  });
});

describe('condition', () => {
  test('waiting without the lock is an error, and so is waiting with a recursive one held twice', async () => {
    const { RecursiveMutex } = await import('./recursive-mutex.js');
    using condition = new Condition();
    using mutex = new Mutex();
    expect(() => condition.wait(mutex)).toThrow(expect.objectContaining({ code: 'ERR_HEDDLE_NOT_OWNER' }));
    using segment = Segment.create({ byteLength: 2 ** 20 });
    const recursive = RecursiveMutex.create(segment, { name: 'r' });
    const other = Condition.create(segment, { name: 'c' });
    recursive.lock();
    recursive.lock();
    expect(() => other.wait(recursive)).toThrow(expect.objectContaining({ code: 'ERR_HEDDLE_RELOCK' }));
    recursive.unlock();
    expect(other.wait(recursive, { timeout: 1 })).toBe('timed-out');
    recursive.unlock();
  });

  test('it may stand in another segment than the lock, where threads have other tokens', () => {
    using condition = new Condition();
    const words = new Int32Array(new SharedArrayBuffer(mutexLayout.byteLength));
    // Another thread, whose token in the segment of the lock is that of this one in the condition's.
    const { token } = condition.segment!.thread;
    const theirs = Mutex.over(words, { token });
    const mutex = Mutex.over(words, { token: token + 1 });
    const { lock, unlock } = mutex;
    mutex.lock();
    mutex.unlock = () => {
      unlock.call(mutex);
      theirs.lock();
    };
    mutex.lock = () => {
      theirs.unlock();
      return lock.call(mutex);
    };
    expect(condition.wait(mutex, { timeout: 0 })).toBe('timed-out');
    expect(mutex.locked).toBe(true);
  });

  test('waitUntil looks again, and ends when the time is up', () => {
    using condition = new Condition();
    using mutex = new Mutex();
    mutex.lock();
    let looks = 0;
    expect(condition.waitUntil(mutex, () => ++looks === 2, { timeout: 1 })).toBe('notified');
    expect(condition.waitUntil(mutex, () => false, { timeout: 1 })).toBe('timed-out');
    mutex.unlock();
  });

  test('a notify costs a load where nobody waits', () => {
    const platform = countingPlatform();
    const words = new Int32Array(new SharedArrayBuffer(128));
    const condition = new Condition({ words, token: 1, platform });
    condition.notifyOne();
    condition.notifyAll();
    expect(platform.counts()).toEqual({ load: 2 });
  });

  test('the guard of a task stays good over its wait', async () => {
    using condition = new Condition();
    using mutex = new Mutex();
    const waiting = mutex.runAsync(async () => {
      expect(await condition.waitAsync(mutex)).toBe('notified');
      expect(mutex.locked).toBe(true);
    });
    await turn();
    await mutex.runAsync(() => condition.notifyOne());
    await waiting;
    expect(mutex.locked).toBe(false);
  });
});
