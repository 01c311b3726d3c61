import { announceJanitor, forgetJanitor } from './janitor.js';
import { Segment, type SegmentHandle } from './segment.js';

/** What a thread sends over its link. */
export type LinkMessage =
  /** The first message: whose death the close of this port is. */
  | { readonly linked: number }
  /** The row is claimed. */
  | { readonly attached: number }
  /** A module that registers a kind which the thread uses. */
  | { readonly module: string }
  /** The end of another thread's link. */
  | { readonly port: MessagePortLike };

/** What the janitor sends: it has no code for some structure, and asks who has to finish a recovery. */
export interface JanitorMessage {
  readonly recover?: true;
}

/** What is used of a `MessagePort`. */
export interface MessagePortLike {
  postMessage(message: LinkMessage | JanitorMessage, transferList?: readonly unknown[]): void;
  on(event: 'message', listener: (message: LinkMessage & JanitorMessage) => void): void;
  on(event: 'close', listener: () => void): void;
  unref(): void;
  close(): void;
}

interface HostProcess {
  getBuiltinModule(name: 'node:worker_threads'): { parentPort: MessagePortLike | null; workerData: unknown };
  on(event: 'workerMessage', listener: (message: unknown) => void): void;
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
  let unique = 0;
  ports.add(port);
  port.on('message', (message) => {
    if ('linked' in message) unique = message.linked;
    else if ('attached' in message) segment.noteLinked(message.attached);
    else if ('port' in message) accept(message.port);
    else load(message.module);
  });
  port.on('close', () => {
    ports.delete(port);
    void loading.then(() => bury(unique));
  });
}

function load(module: string): void {
  if (modules.has(module)) return;
  modules.add(module);
  loading = Promise.allSettled([loading, import(module)]).then(askForHelp);
}

/** Recovers, and asks the others where it lacks the code of a structure: a kind may have no module to import. */
function askForHelp(): void {
  if (segment.recover().unknownKinds.length === 0) return;
  for (const port of ports) port.postMessage({ recover: true });
}

function bury(unique: number): void {
  segment.declareDead(unique);
  askForHelp();
  if (ports.size > 0) return;
  // Alone: whoever comes next starts another.
  forgetJanitor(segment, segment.thread.unique);
  segment.detach();
  host.exit();
}

parentPort!.on('message', (message) => {
  if ('port' in message) accept(message.port);
});
host.on('workerMessage', (message) => {
  const { heddleJanitor, port } = message as { heddleJanitor?: string; port: MessagePortLike };
  if (heddleJanitor === segment.id) accept(port);
});
announceJanitor(segment, handle.from);
