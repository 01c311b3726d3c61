import { realPlatform } from '@heddle/memory';
import { expect, test } from 'vitest';
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
