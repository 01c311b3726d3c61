import { once } from 'node:events';
import { MessageChannel, Worker } from 'node:worker_threads';
import { expect, it, onTestFinished } from 'vitest';
import { onceClosed } from './link-messages.js';
import type { LinkTask } from './link-messages.test-worker.js';

const url = new URL('./link-messages.test-worker.js', import.meta.url);

function start(workerData: LinkTask, transferList: MessageChannel['port1'][] = []): Worker {
  const worker = new Worker(url, { workerData, transferList });
  onTestFinished(() => void worker.terminate());
  return worker;
}

it.each([
  ['exit', 'before'],
  ['exit', 'after'],
  ['return', 'after'],
  ['park', 'after'],
  ['close', 'after'],
] as const)(
  'what a link was sent is heard before its close: %s, it arrives %s the end',
  async (how, when) => {
    const { port1, port2 } = new MessageChannel();
    const janitor = start({ role: 'look' });
    if (when === 'before') janitor.postMessage({ port: port1 }, [port1]);
    const heard = once(janitor, 'message');
    const linked = start({ role: 'end', port: port2, how }, [port2]);
    const exit = once(linked, 'exit');
    await once(linked, 'message');
    if (how === 'park') void linked.terminate();
    await exit;
    if (when === 'after') janitor.postMessage({ port: port1 }, [port1]);
    const left = how === 'close' ? ['left'] : [];
    expect(await heard).toEqual([['linked', 'attached', ...left, 'closed']]);
  },
);

it('a port that was closed before anyone listened is closed, once', async () => {
  const { port1, port2 } = new MessageChannel();
  const closed = once(port1, 'close');
  port2.close();
  await closed;
  let calls = 0;
  port1.on('message', () => {});
  onceClosed(port1 as never, () => calls++);
  await new Promise(setImmediate);
  await new Promise(setImmediate);
  expect(calls).toBe(1);
});
