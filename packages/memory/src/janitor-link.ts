import { HeddleError } from './errors.js';
import { forgetJanitor } from './janitor.js';
import type { Kind } from './kind.js';
import { type LinkMessage, type MessagePortLike, onceClosed } from './link-messages.js';
import type { RecoveryReport } from './recovery.js';
import type { Segment, SegmentHandle } from './segment.js';
import { segmentLayout } from './segment.layout.js';
import { threadIdOf, threadState, uniqueOfThreadId } from './thread-state.js';
import { Waiter } from './waiter.js';

interface NodeWorker {
  readonly threadId: number;
  postMessage(message: unknown, transferList?: readonly unknown[]): void;
  unref(): void;
  on(event: 'error', listener: (error: Error) => void): void;
}

interface WorkerThreads {
  isMainThread: boolean;
  Worker: new (
    url: URL,
    options: { name: string; workerData: unknown; execArgv?: readonly string[] },
  ) => NodeWorker;
  MessageChannel: new () => { port1: MessagePortLike; port2: MessagePortLike };
  postMessageToThread?: (
    threadId: number,
    message: unknown,
    transferList: readonly unknown[],
  ) => Promise<void>;
}

/** A handle that carries a port, and what to transfer with it. */
export interface Lifeline {
  readonly handle: SegmentHandle;
  // biome-ignore lint/suspicious/noExplicitAny: the type of a transfer list differs from engine to engine
  readonly transferList: any[];
}

const { janitor } = segmentLayout.offsets;

const { process: node } = globalThis as {
  process?: {
    getBuiltinModule?: (name: string) => unknown;
    execArgv?: readonly string[];
    on(event: 'exit', listener: () => void): void;
  };
};

function workerThreads(): WorkerThreads | undefined {
  return node?.getBuiltinModule?.('node:worker_threads') as WorkerThreads | undefined;
}

/** Node refuses `--input-type` in a worker that runs a file, and lets it inherit it: then it inherits nothing. */
function execArgv(): { execArgv?: readonly string[] } {
  return node?.execArgv?.some((option) => option.startsWith('--input-type')) ? { execArgv: [] } : {};
}

/**
 * Whether a bundler put this module into a file of another name than those of this package. The file of the janitor is
 * beside it then only if the bundle was made so, and what a kind names as its module is the program itself, which must not
 * be started once more.
 */
const bundled = !/\/(?:janitor-link\.[jt]s|lib\/heddle-memory\.js)(?:$|[?#])/.test(import.meta.url ?? '');

/** @throws HeddleError `ERR_HEDDLE_UNSUPPORTED` in a bundle that came without the janitor. */
function janitorFile(): URL {
  const files = node?.getBuiltinModule?.('node:fs') as { existsSync(file: URL): boolean };
  // Where a bundle is CommonJS, there is no `import.meta.url`.
  const url = import.meta.url && new URL('./janitor.worker.js', import.meta.url);
  if (url && (!bundled || files.existsSync(url))) return url;
  throw new HeddleError(
    'ERR_HEDDLE_UNSUPPORTED',
    'There is no janitor.worker.js beside this bundle: make lib/janitor.worker.js of @heddle/memory an entry of that name, leave @heddle/memory out of the bundle, or do without (janitor: false) and watch workers',
  );
}

/** What a link does about deaths. */
export interface Deaths {
  declareDead(unique: number): RecoveryReport;
  recover(): RecoveryReport;
  /** Unique number of the thread that made the handle by which this one attached, 0 where that is not known. */
  parentOf(unique: number): number;
  /** Notes in the table that no janitor has a port to this thread any more. */
  noteUnlinked(): void;
  /** Blocks until the janitor has the port of this thread, for so many milliseconds at most. */
  awaitLinked(timeoutMs: number): void;
}

/**
 * How long a thread that ends waits for its port to reach the janitor, in milliseconds. Usually it takes one. The
 * engine throws away what a thread that has ended sent through the main thread and that has not been handed on yet, the
 * port with it; so a thread that attaches and ends at once would not be missed by anybody.
 */
const LAST_WAIT_MS = 200;

/** Links of this thread whose ports were sent through the main thread; undefined before the first. */
let sentLinks: Set<JanitorLink> | undefined;

function waitAtExitFor(link: JanitorLink): void {
  if (!sentLinks) {
    const links = new Set<JanitorLink>();
    sentLinks = links;
    node!.on('exit', () => {
      for (const sent of links) sent.awaitArrival();
    });
  }
  sentLinks.add(link);
}

/** Ports that this thread has made use of: a handle may come again after its port was closed. */
const usedPorts = new WeakSet<MessagePortLike>();

/** This thread's link to the janitor of a segment. */
export class JanitorLink {
  readonly #segment: Segment;
  readonly #deaths: Deaths;
  #port: MessagePortLike | undefined;
  /** Unique number of the janitor that has the other end. */
  #janitor = 0;
  #attached = false;
  #closed = false;
  readonly #tellKind = (kind: Kind) => {
    if (kind.module && !bundled) this.#send({ module: kind.module });
  };

  constructor(segment: Segment, deaths: Deaths) {
    this.#segment = segment;
    this.#deaths = deaths;
  }

  /** Links to the janitor that there is, through a port whose other end it has already, or by sending it one. */
  connect(lifeline?: SegmentHandle['link']): void {
    const port = lifeline?.port as MessagePortLike | undefined;
    const word = this.#word();
    if (port && !usedPorts.has(port)) this.#use(port, lifeline!.janitor);
    else if (word > 0) this.#sendPort(word);
    else if (word < 0) void this.#connectWhenReady();
  }

  /** Starts a janitor where there is none, and links to it. */
  start(): void {
    const threads = workerThreads();
    if (!threads) {
      throw new HeddleError(
        'ERR_HEDDLE_UNSUPPORTED',
        'A janitor needs Node: here, call segment.declareDead when you know that a thread ended',
      );
    }
    const file = janitorFile();
    const { atomics } = this.#segment.platform;
    const { unique } = threadState();
    if (atomics.compareExchange(this.#segment.words, janitor, 0, -unique) !== 0) {
      if (!this.#port) this.connect();
      return;
    }
    try {
      const worker = new threads.Worker(file, {
        name: 'heddle janitor',
        workerData: { heddleJanitor: this.#segment.handle },
        ...execArgv(),
      });
      worker.unref();
      worker.on('error', (error) => {
        forgetJanitor(this.#segment, unique);
        throw error;
      });
      const { port1, port2 } = new threads.MessageChannel();
      worker.postMessage({ port: port2 }, [port2]);
      this.#use(port1, uniqueOfThreadId(worker.threadId));
    } catch (error) {
      forgetJanitor(this.#segment, unique);
      throw error;
    }
  }

  /** Tells the janitor that the row is claimed, so that it notes the link there. */
  noteAttached(): void {
    this.#attached = true;
    this.#send({ attached: threadState().unique });
  }

  /** Asks all linked threads to go on with recoveries that lack the code of some structure here. */
  askForHelp(): void {
    this.#send({ help: true });
  }

  /** @throws HeddleError `ERR_HEDDLE_UNSUPPORTED` where this thread is not linked. */
  lifeline(): Lifeline {
    if (!this.#port) {
      throw new HeddleError(
        'ERR_HEDDLE_UNSUPPORTED',
        'This thread is not linked to a janitor: create the segment with { janitor: true }, or call startJanitor first',
      );
    }
    const { port1, port2 } = new (workerThreads()!.MessageChannel)();
    this.#port.postMessage({ port: port1 } satisfies LinkMessage, [port1]);
    const link = { port: port2, janitor: this.#janitor };
    return { handle: { ...this.#segment.handle, link }, transferList: [port2] };
  }

  /** For a thread that has detached: it may attach again, and this link's end is not its death. */
  close(): void {
    this.#closed = true;
    threadState().kindListeners.delete(this.#tellKind);
    sentLinks?.delete(this);
    this.#send({ left: true });
    this.#port?.close();
  }

  /** For a thread that ends. */
  awaitArrival(): void {
    if (this.#port) this.#deaths.awaitLinked(LAST_WAIT_MS);
  }

  #sendPort(to: number): void {
    const threads = workerThreads();
    if (!threads?.postMessageToThread) return;
    // The main thread ends with the process.
    if (!threads.isMainThread) waitAtExitFor(this);
    const { port1, port2 } = new threads.MessageChannel();
    this.#use(port1, to);
    const message = { heddleJanitor: this.#segment.id, port: port2 };
    // Where it ended before the message came, the close brings a replacement.
    threads.postMessageToThread(threadIdOf(to), message, [port2]).catch(() => port1.close());
  }

  #use(port: MessagePortLike, of: number): void {
    this.#port = port;
    this.#janitor = of;
    usedPorts.add(port);
    port.on('message', () => this.#help());
    onceClosed(port, () => {
      if (this.#closed || this.#port !== port) return;
      this.#port = undefined;
      threadState().kindListeners.delete(this.#tellKind);
      this.#deaths.noteUnlinked();
      this.#afterEndOf(of);
    });
    port.unref();
    this.#send({ linked: threadState().unique });
    if (this.#attached) this.noteAttached();
    threadState().kindListeners.add(this.#tellKind);
    for (const kind of threadState().kinds.values()) this.#tellKind(kind);
  }

  /** Goes on with what others could not finish, and says so where they may get further now. */
  #help(): void {
    if (this.#closed) return;
    if (this.#deaths.recover().othersMayContinue) this.askForHelp();
  }

  #afterEndOf(ended: number): void {
    if (this.#word() === ended) {
      const starter = this.#deaths.parentOf(ended);
      // The starter first: while the janitor's row is there, others can go on with this.
      if (starter !== 0 && starter !== threadState().unique) this.#deaths.declareDead(starter);
      this.#deaths.declareDead(ended);
    }
    void this.#connectWhenReady(true);
  }

  /** Waits for the janitor that somebody starts, or starts one where nobody does. */
  async #connectWhenReady(mayStart = false): Promise<void> {
    const { words, platform } = this.#segment;
    while (!this.#closed && !this.#port) {
      const word = this.#word();
      if (word > 0) return this.#sendPort(word);
      if (word < 0) await new Waiter(words, janitor, platform).waitAsync(word, { ref: false });
      else if (mayStart) this.start();
      else return;
    }
  }

  #send(message: LinkMessage): void {
    this.#port?.postMessage(message);
  }

  #word(): number {
    return this.#segment.platform.atomics.load(this.#segment.words, janitor);
  }
}
