import { HeddleError, type Platform, realPlatform } from '@heddle/memory';
import { countingPlatform } from '@heddle/memory/counting';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createLock } from './create-lock.js';
import { EXCLUSION_KINDS, type Skips } from './exclusion-kinds.test-worker.js';
import type { ExclusiveLock } from './exclusive-lock.js';
import { Segment } from './index.js';
import type { LockKind } from './lock.js';

const MINE = 1;
const OTHER = 2;

function codeOf(action: () => unknown): string {
  try {
    action();
  } catch (error) {
    if (error instanceof HeddleError) return error.code;
    throw error;
  }
  return 'nothing thrown';
}

const rejection = (promise: Promise<unknown>) =>
  promise.then(
    () => 'resolved',
    (error: unknown) => (error instanceof HeddleError ? error.code : error),
  );

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

describe.each(EXCLUSION_KINDS)('$kind', ({ kind, Class, wordCount, skips }) => {
  /** A test, unless this kind has a reason not to take it. */
  const unless = (why: keyof Skips, name: string, body: () => unknown) =>
    test(name, async (context) => {
      if (skips[why]) context.skip(skips[why]);
      await body();
    });

  let words: Int32Array<SharedArrayBuffer>;
  let lock: ExclusiveLock;
  let other: ExclusiveLock;
  const over = (token: number, platform?: Platform): ExclusiveLock =>
    Class.over(words, { token, ...(platform && { platform }) });

  beforeEach(() => {
    words = new Int32Array(new SharedArrayBuffer(wordCount * 4));
    lock = over(MINE);
    other = over(OTHER);
  });

  describe('one at a time', () => {
    unless('otherThreads', 'a held lock is refused to another thread, a released one is not', () => {
      expect(lock.lock()).toBe('acquired');
      expect(lock.locked).toBe(true);
      expect(other.tryLock()).toBeNull();
      lock.unlock();
      expect(lock.locked).toBe(false);
      expect(other.tryLock()).toBe('acquired');
      expect(lock.tryLock()).toBeNull();
      other.unlock();
    });

    unless('relock', 're-locking by the owner is an error in every form and changes nothing', async () => {
      lock.lock();
      expect(codeOf(() => lock.lock())).toBe('ERR_HEDDLE_RELOCK');
      expect(codeOf(() => lock.lock({ timeout: 5 }))).toBe('ERR_HEDDLE_RELOCK');
      expect(codeOf(() => lock.tryLock())).toBe('ERR_HEDDLE_RELOCK');
      expect(codeOf(() => lock.guard())).toBe('ERR_HEDDLE_RELOCK');
      expect(await rejection(lock.lockAsync())).toBe('ERR_HEDDLE_RELOCK');
      lock.unlock();
      expect(lock.locked).toBe(false);
    });

    unless(
      'otherThreads',
      'releasing a lock of another thread, or one that nobody holds, is an error and changes nothing',
      () => {
        expect(codeOf(() => lock.unlock())).toBe('ERR_HEDDLE_NOT_OWNER');
        other.lock();
        expect(codeOf(() => lock.unlock())).toBe('ERR_HEDDLE_NOT_OWNER');
        expect(codeOf(() => lock.markConsistent())).toBe('ERR_HEDDLE_NOT_OWNER');
        other.unlock();
        expect(codeOf(() => other.unlock())).toBe('ERR_HEDDLE_NOT_OWNER');
        expect(lock.tryLock()).toBe('acquired');
      },
    );

    unless('otherThreads', 'a timeout of 0 tries once, and nothing is left behind', () => {
      other.lock();
      for (const timeout of [0, -5]) {
        expect(codeOf(() => lock.lock({ timeout }))).toBe('ERR_HEDDLE_TIMED_OUT');
      }
      other.unlock();
      expect(lock.lock({ timeout: 0 })).toBe('acquired');
      lock.unlock();
    });

    unless('otherThreads', 'a call whose time is up says who holds the lock', async () => {
      other.lock();
      const said = /^Locking the .+ did not succeed within 1 ms: thread 2 holds it$/;
      expect(() => lock.lock({ timeout: 1 })).toThrow(said);
      await expect(lock.lockAsync({ timeout: 1 })).rejects.toThrow(said);
    });

    unless('otherThreads', 'a timed call that fails leaves the lock to the others', () => {
      other.lock();
      for (let i = 0; i < 5; i++) {
        expect(codeOf(() => lock.lock({ timeout: 1 }))).toBe('ERR_HEDDLE_TIMED_OUT');
      }
      other.unlock();
      expect(over(3).lock()).toBe('acquired');
      expect(codeOf(() => lock.lock({ timeout: 1 }))).toBe('ERR_HEDDLE_TIMED_OUT');
    });

    test('a bad timeout is refused before anything changes', async () => {
      expect(() => lock.lock({ timeout: Number.NaN })).toThrow(RangeError);
      expect(() => lock.lock({ timeout: '5' as never })).toThrow(TypeError);
      expect(await rejection(lock.lockAsync({ timeout: Number.NaN }))).toBeInstanceOf(RangeError);
      expect(lock.locked).toBe(false);
    });
  });

  describe('guards', () => {
    test('run releases when its body ends and when it throws', () => {
      expect(lock.run((guard) => guard.outcome)).toBe('acquired');
      expect(lock.locked).toBe(false);
      expect(() =>
        lock.run(() => {
          throw new RangeError('body');
        }),
      ).toThrow('body');
      expect(lock.locked).toBe(false);
    });

    unless('otherThreads', 'a guard releases once', () => {
      const guard = lock.guard();
      guard.release();
      expect(codeOf(() => guard.release())).toBe('ERR_HEDDLE_NOT_OWNER');
      expect(codeOf(() => guard.markConsistent())).toBe('ERR_HEDDLE_NOT_OWNER');
      other.lock();
      guard[Symbol.dispose]();
      expect(lock.locked).toBe(true);
    });

    test('runAsync releases when its body resolves and when it rejects', async () => {
      expect(await lock.runAsync(async (guard) => guard.outcome)).toBe('acquired');
      await expect(lock.runAsync(async () => Promise.reject(new Error('body')))).rejects.toThrow('body');
      expect(lock.locked).toBe(false);
    });
  });

  describe('on the event loop', () => {
    test('tasks of one thread get it in the order in which they asked', async () => {
      const order: number[] = [];
      const tasks = Array.from({ length: 50 }, (_, i) =>
        lock.runAsync(async () => {
          order.push(i);
          await turn();
          order.push(i);
        }),
      );
      await Promise.all(tasks);
      expect(order).toEqual(Array.from({ length: 50 }, (_, i) => [i, i]).flat());
      expect(lock.locked).toBe(false);
    });

    test('a blocking call fails at once while a task of the same thread holds the lock', async () => {
      const guard = await lock.lockAsync();
      expect(codeOf(() => lock.lock())).toBe('ERR_HEDDLE_RELOCK');
      expect(codeOf(() => lock.tryLock())).toBe('ERR_HEDDLE_RELOCK');
      expect(codeOf(() => lock.unlock())).toBe('ERR_HEDDLE_NOT_OWNER');
      guard.release();
      expect(codeOf(() => guard.release())).toBe('ERR_HEDDLE_NOT_OWNER');
      expect(lock.lock()).toBe('acquired');
    });

    unless('otherThreads', 'what a task took is released by its guard alone', async () => {
      const guard = await lock.lockAsync();
      expect(codeOf(() => lock.unlock())).toBe('ERR_HEDDLE_NOT_OWNER');
      expect(codeOf(() => other.unlock())).toBe('ERR_HEDDLE_NOT_OWNER');
      expect(other.tryLock()).toBeNull();
      guard.release();
      expect(codeOf(() => guard.release())).toBe('ERR_HEDDLE_NOT_OWNER');
      expect(other.tryLock()).toBe('acquired');
    });

    unless('otherThreads', 'a task waits for another thread', async () => {
      other.lock();
      const waiting = lock.lockAsync();
      await turn();
      other.unlock();
      expect((await waiting).outcome).toBe('acquired');
    });

    unless(
      'otherThreads',
      'a thread has one pending wait for a lock, however many of its tasks wait',
      async () => {
        const platform = countingPlatform();
        const mine = over(MINE, platform);
        other.lock();
        const tasks = Array.from({ length: 20 }, () => mine.runAsync(() => {}));
        await turn();
        expect(platform.counts().waitAsync).toBe(1);
        other.unlock();
        await Promise.all(tasks);
        expect(platform.counts().waitAsync).toBe(1);
      },
    );

    unless(
      'otherThreads',
      'an aborted task rejects with the reason and leaves the lock to the next',
      async () => {
        other.lock();
        const aborts = [new AbortController(), new AbortController()];
        const [first, second, third] = [
          lock.lockAsync({ signal: aborts[0]!.signal }),
          lock.lockAsync({ signal: aborts[1]!.signal }),
          lock.lockAsync(),
        ];
        await turn();
        // The second waits behind the first in this thread, the first for the other thread.
        aborts[1]!.abort('second');
        expect(await rejection(second)).toBe('second');
        aborts[0]!.abort('first');
        expect(await rejection(first)).toBe('first');
        other.unlock();
        (await third).release();
        expect(lock.locked).toBe(false);
      },
    );

    unless('otherThreads', 'a task that is given up swallows no wake of the next', async () => {
      for (let round = 0; round < 20; round++) {
        other.lock();
        const abort = new AbortController();
        const first = rejection(lock.lockAsync({ signal: abort.signal }));
        const second = over(3).lockAsync();
        await turn();
        other.unlock();
        abort.abort('late');
        const outcome = await first;
        if (outcome !== 'late') throw new Error(`The abort came before the grant, yet it ${String(outcome)}`);
        (await second).release();
      }
    });

    test('an aborted signal is refused before anything changes', async () => {
      expect(await rejection(lock.lockAsync({ signal: AbortSignal.abort('before') }))).toBe('before');
      expect(lock.locked).toBe(false);
      (await lock.lockAsync({ timeout: 0 })).release();
    });

    unless('otherThreads', 'tasks run out of time, wherever they wait', async () => {
      other.lock();
      const waits = [
        lock.lockAsync({ timeout: 1 }),
        lock.lockAsync({ timeout: 1 }),
        lock.lockAsync({ timeout: 0 }),
      ];
      expect(await Promise.all(waits.map(rejection))).toEqual(Array(3).fill('ERR_HEDDLE_TIMED_OUT'));
      other.unlock();
      (await lock.lockAsync()).release();
    });
  });

  describe('on a thread that must not block (LC-03)', () => {
    unless('otherThreads', 'blocking forms always throw, the others work', async () => {
      const mine = over(MINE, { ...realPlatform, canBlock: () => false });
      expect(codeOf(() => mine.lock())).toBe('ERR_HEDDLE_MUST_NOT_BLOCK');
      expect(codeOf(() => mine.run(() => {}))).toBe('ERR_HEDDLE_MUST_NOT_BLOCK');
      other.lock();
      expect(codeOf(() => mine.lock())).toBe('ERR_HEDDLE_MUST_NOT_BLOCK');
      expect(mine.tryLock()).toBeNull();
      other.unlock();
      expect(mine.tryLock()).toBe('acquired');
      mine.unlock();
      (await mine.lockAsync()).release();
    });
  });

  describe('death (LK-06)', () => {
    test('the next owner is told once, and goes on when it marks the data consistent', () => {
      other.lock();
      lock.core.recover(OTHER);
      lock.core.recover(OTHER);
      expect(lock.lock()).toBe('owner-died');
      lock.markConsistent();
      lock.unlock();
      expect(lock.lock()).toBe('acquired');
    });

    unless('otherThreads', 'a try, a guard and a task are told as well', async () => {
      const kill = () => {
        other.lock();
        lock.core.recover(OTHER);
      };
      kill();
      expect(lock.tryLock()).toBe('owner-died');
      lock.markConsistent();
      lock.unlock();
      kill();
      lock.run((guard) => {
        expect(guard.outcome).toBe('owner-died');
        guard.markConsistent();
      });
      kill();
      const guard = await lock.lockAsync();
      expect(guard.outcome).toBe('owner-died');
      guard.markConsistent();
      guard.release();
      expect(lock.lock()).toBe('acquired');
    });

    unless('otherThreads', 'a release without a word poisons it for everybody', async () => {
      other.lock();
      lock.core.recover(OTHER);
      expect(lock.lock()).toBe('owner-died');
      lock.unlock();
      expect(codeOf(() => lock.lock())).toBe('ERR_HEDDLE_POISONED');
      expect(codeOf(() => lock.tryLock())).toBe('ERR_HEDDLE_POISONED');
      expect(codeOf(() => over(3).lock({ timeout: 1 }))).toBe('ERR_HEDDLE_POISONED');
      expect(await rejection(lock.lockAsync())).toBe('ERR_HEDDLE_POISONED');
      expect(codeOf(() => lock.unlock())).toBe('ERR_HEDDLE_NOT_OWNER');
    });

    unless('otherThreads', 'tasks that wait while it is poisoned are told', async () => {
      other.lock();
      lock.core.recover(OTHER);
      const third = over(3);
      expect(third.lock()).toBe('owner-died');
      const waiting = [lock.lockAsync(), lock.lockAsync()].map(rejection);
      await turn();
      third.unlock();
      expect(await Promise.all(waiting)).toEqual(Array(2).fill('ERR_HEDDLE_POISONED'));
    });

    unless('otherThreads', 'the next is told again where the one who was told dies as well', () => {
      other.lock();
      lock.core.recover(OTHER);
      const third = over(3);
      expect(third.lock()).toBe('owner-died');
      lock.core.recover(3);
      expect(lock.lock()).toBe('owner-died');
    });

    unless('otherThreads', 'the death of a thread that does not hold it changes nothing', () => {
      lock.lock();
      lock.core.recover(OTHER);
      expect(other.tryLock()).toBeNull();
      lock.unlock();
      expect(other.lock()).toBe('acquired');
    });

    unless('otherThreads', 'a waiting task is served after the death of the owner', async () => {
      other.lock();
      const waiting = lock.lockAsync();
      await turn();
      over(3).core.recover(OTHER);
      expect((await waiting).outcome).toBe('owner-died');
    });

    test('the death of a thread whose task holds it is a death of the owner', async () => {
      await other.lockAsync();
      lock.core.recover(OTHER);
      expect(lock.lock()).toBe('owner-died');
    });
  });

  describe('placement', () => {
    let segment: Segment;
    beforeEach(() => {
      segment = Segment.create({ byteLength: 2 ** 20 });
    });
    afterEach(() => segment.detach());

    test('it is created and opened by name, and made from a handle', () => {
      const created = Class.create(segment, { name: 'guard' });
      created.lock();
      expect(Class.open(segment, 'guard').locked).toBe(true);
      const again = Class.from(structuredClone(created.handle));
      expect(again.segment).toBe(segment);
      again.unlock();
      expect(created.locked).toBe(false);
      again[Symbol.dispose]();
      again[Symbol.dispose]();
      expect(segment.attached).toBe(true);
      expect(codeOf(() => Class.create(segment, { name: 'guard' }))).toBe('ERR_HEDDLE_NAME_TAKEN');
      expect(codeOf(() => Class.open(segment, 'gard'))).toBe('ERR_HEDDLE_NAME_UNKNOWN');
    });

    test('what is no handle of its kind is refused', () => {
      const created = Class.create(segment, { name: 'guard' });
      expect(() => Class.from(undefined as never)).toThrow(TypeError);
      expect(() => Class.from({ ...created.handle, heddle: 'ring' })).toThrow(TypeError);
      expect(codeOf(() => Class.from({ ...created.handle, name: 'gone' }))).toBe('ERR_HEDDLE_NAME_UNKNOWN');
    });

    test('alone, it has a segment of its own', () => {
      const alone = new Class();
      const second = Class.from(structuredClone(alone.handle));
      alone.lock();
      expect(second.locked).toBe(true);
      second[Symbol.dispose]();
      alone.unlock();
      const own = alone.segment!;
      alone[Symbol.dispose]();
      expect(own.attached).toBe(false);
    });

    test('over words of another structure it has no handle', () => {
      expect(() => lock.handle).toThrow(TypeError);
      expect(() => Class.over(words.subarray(0, 16), { token: 1 })).toThrow(RangeError);
      expect(() => Class.over(words, { token: 0 })).toThrow(RangeError);
      expect(() => Class.over(words, { token: 2 ** 24 })).toThrow(RangeError);
    });

    test('a thread that leaves with the lock is recovered like a dead one', () => {
      const created = Class.create(segment, { name: 'guard' });
      const { buffer } = segment;
      created.lock();
      segment.detach();
      segment = Segment.create({ buffer });
      expect(Class.open(segment, 'guard').lock()).toBe('owner-died');
    });
  });

  unless('byName', 'it can be chosen by name', () => {
    const chosen = createLock(kind as LockKind, words, 3);
    expect(chosen.kind).toBe(kind);
    expect(chosen.lock()).toBe('acquired');
    expect(chosen.owner()).toBe(3);
    chosen.unlock();
    expect(() => createLock('futex' as never, words, 3)).toThrow(RangeError);
    expect(() => createLock(kind as LockKind, words, 0)).toThrow(RangeError);
    expect(() => createLock(kind as LockKind, words.subarray(0, 16), 3)).toThrow(RangeError);
  });
});
