import { announceJanitor, forgetJanitor } from './janitor.js';
import { type MessagePortLike, onceClosed } from './link-messages.js';
import { Segment, type SegmentHandle } from './segment.js';

interface HostProcess {
  getBuiltinModule(name: 'node:worker_threads'): { parentPort: MessagePortLike | null; workerData: unknown };
  on(event: 'workerMessage', listener: (message: unknown) => void): void;
  on(event: 'exit', listener: () => void): void;
  exit(): never;
}

const host = (globalThis as unknown as { process: HostProcess }).process;
const { parentPort, workerData } = host.getBuiltinModule('node:worker_threads');
const handle = (workerData as { heddleJanitor: SegmentHandle }).heddleJanitor;
const segment = Segment.attach(handle, { linked: false });

const ports = new Set<MessagePortLike>();
const modules = new Set<string>();
/** Settles when every module named so far is loaded, or cannot be. */
let loading: Promise<unknown> = Promise.resolve();

function accept(port: MessagePortLike): void {
  /** Whose death the close of the port is, 0 for nobody's. */
  let unique = 0;
  ports.add(port);
  port.on('message', (message) => {
    if ('linked' in message) unique = message.linked;
    else if ('left' in message) unique = 0;
    else if ('attached' in message) segment.noteLinked(message.attached);
    else if ('port' in message) accept(message.port);
    else if ('module' in message) load(message.module);
    else recover();
  });
  onceClosed(port, () => {
    ports.delete(port);
    void loading.then(() => {
      if (unique !== 0) segment.declareDead(unique);
      recover();
      // Alone: whoever comes next starts another.
      if (ports.size === 0) host.exit();
    });
  });
}

function load(module: string): void {
  if (modules.has(module)) return;
  modules.add(module);
  loading = Promise.allSettled([loading, import(module)]).then(recover);
}

let asking = false;

/** Recovers, and asks the others where it lacks the code of a structure: a kind may have no module to import. */
function recover(): void {
  const { unknownKinds, othersMayContinue } = segment.recover();
  if (asking || (unknownKinds.length === 0 && !othersMayContinue)) return;
  asking = true;
  // Paced, so that the answers of many threads bring one more question, not many.
  segment.platform.schedule(() => {
    asking = false;
    for (const port of ports) port.postMessage({ help: true });
  }, 1);
}

parentPort!.on('message', (message) => {
  if ('port' in message) accept(message.port);
});
host.on('workerMessage', (message) => {
  const { heddleJanitor, port } = message as { heddleJanitor?: string; port: MessagePortLike };
  if (heddleJanitor === segment.id) accept(port);
});
// Whatever ends this thread but the end of the thread that started it comes by here; see janitor.ts.
host.on('exit', () => {
  forgetJanitor(segment, segment.thread.unique);
  segment.detach();
});
announceJanitor(segment, handle.from);
recover();
