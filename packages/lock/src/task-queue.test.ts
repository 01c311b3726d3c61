import { type Platform, realPlatform } from '@heddle/memory';
import { expect, test } from 'vitest';
import { Mutex } from './mutex.js';
import { mutexLayout } from './mutex.layout.js';
import { TaskQueue } from './task-queue.js';

const words = () => new Int32Array(new SharedArrayBuffer(128));

/** A clock that goes on by a millisecond each time it is read. */
function hastyPlatform() {
  let now = 0;
  return { ...realPlatform, now: () => now++ };
}

test('a turn that was never given, because the time was up at once, does not hold up the next', async () => {
  const queue = TaskQueue.over(words());
  let end = () => {};
  const first = queue.inTurn({}, realPlatform, () => new Promise<void>((resolve) => (end = resolve)));
  for (let timeout = 0; timeout < 5; timeout++) {
    expect(await queue.inTurn({ timeout }, hastyPlatform(), async () => 'ran')).toBeNull();
  }
  const last = queue.inTurn({}, realPlatform, async () => 'ran');
  end();
  await first;
  expect(await last).toBe('ran');
});

test('queues over one word are one, and are forgotten when nobody uses them', async () => {
  const shared = words();
  const queue = TaskQueue.over(shared);
  await queue.inTurn({}, realPlatform, async () => {
    expect(TaskQueue.over(shared)).toBe(queue);
    expect(TaskQueue.over(shared, 1)).not.toBe(queue);
  });
  expect(TaskQueue.over(shared)).not.toBe(queue);
});

test('a task that waits keeps the event loop alive, at the gate and for its turn, unless it is asked not to', async () => {
  let held = 0;
  const platform: Platform = {
    ...realPlatform,
    keepAlive() {
      held++;
      return () => held--;
    },
  };
  const shared = new Int32Array(new SharedArrayBuffer(mutexLayout.byteLength));
  const theirs = Mutex.over(shared, { token: 2 });
  const mine = Mutex.over(shared, { token: 1, platform });
  for (const ref of [false, true]) {
    theirs.lock();
    const tasks = [1, 2].map(() => mine.runAsync(() => {}, { ref }));
    await new Promise((resolve) => setImmediate(resolve));
    expect(held).toBe(ref ? 2 : 0);
    theirs.unlock();
    await Promise.all(tasks);
    expect(held).toBe(0);
  }
});
