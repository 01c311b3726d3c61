import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { onceClosed } from './link-messages.js';

/** What a thread of the test does: `end` links and ends, `look` tells what it hears of a link that it is sent. */
export type LinkTask =
  | { readonly role: 'end'; readonly port: MessagePort; readonly how: 'exit' | 'return' | 'park' | 'close' }
  | { readonly role: 'look' };

const task = workerData as LinkTask | null;

if (parentPort && task?.role === 'end') {
  const { port, how } = task;
  port.on('message', () => {});
  port.unref();
  port.postMessage({ linked: 7 });
  port.postMessage({ attached: 7 });
  if (how === 'close') {
    port.postMessage({ left: true });
    port.close();
  }
  parentPort.postMessage('linked');
  if (how === 'exit') process.exit(0);
  if (how === 'park') Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}

if (parentPort && task?.role === 'look') {
  parentPort.once('message', ({ port }: { port: MessagePort }) => {
    const heard: string[] = [];
    // As the janitor does.
    port.on('message', (message) => heard.push(...Object.keys(message)));
    onceClosed(port as never, () => parentPort!.postMessage([...heard, 'closed']));
  });
}
