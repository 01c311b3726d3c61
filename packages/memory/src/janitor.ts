import { HeddleError } from './errors.js';
import type { LinkMessage, MessagePortLike } from './janitor.worker.js';
import type { Kind } from './kind.js';
import type { Segment, SegmentHandle } from './segment.js';
import { segmentLayout } from './segment.layout.js';
import { threadIdOf, threadState, uniqueOfThreadId } from './thread-state.js';
import { Waiter } from './waiter.js';

/**
 * The janitor: a thread that sees the deaths of the others.
 *
 * Every attached thread gives it one end of a message channel. When a thread ends, in whatever way, the engine
 * closes its ends, and the janitor declares it dead; no store of the dead thread follows. Neither the event loop
 * of the dead thread nor that of its parent is needed for that.
 *
 * The port reaches the janitor, in this order: from the thread that started it, directly; in a {@link Lifeline};
 * else through the engine's messages between threads, which need one turn of the main thread's event loop.
 *
 * The word `janitor` in the segment's header: 0 none, negative the unique number of the thread that is starting
 * one, positive that of the janitor's thread, which writes it when it is ready to be sent ports. A janitor that ends (its starter ended) is replaced by the
 * first linked thread whose event loop notices.
 */

interface NodeWorker {
  readonly threadId: number;
  postMessage(message: unknown, transferList?: readonly unknown[]): void;
  unref(): void;
  on(event: 'error', listener: (error: Error) => void): void;
}

interface WorkerThreads {
  Worker: new (url: URL, options: { name?: string; workerData: unknown }) => NodeWorker;
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

function workerThreads(): WorkerThreads | undefined {
  const host = globalThis as { process?: { getBuiltinModule?: (name: string) => unknown } };
  return host.process?.getBuiltinModule?.('node:worker_threads') as WorkerThreads | undefined;
}

/** This thread's link to the janitor of a segment. */
export class JanitorLink {
  readonly #segment: Segment;
  #port: MessagePortLike | undefined;
  #attached = false;
  #closed = false;
  #tellKind = (kind: Kind) => {
    if (kind.module) this.#send({ module: kind.module });
  };

  constructor(segment: Segment) {
    this.#segment = segment;
    threadState().kindListeners.add(this.#tellKind);
  }

  get linked(): boolean {
    return this.#port !== undefined;
  }

  /** Links to the janitor that there is, through a port whose other end it has already, or by sending it one. */
  connect(port?: unknown): void {
    const word = this.#word();
    if (port) this.#use(port as MessagePortLike, word);
    else if (word > 0) this.#sendPort(word);
    else if (word < 0) void this.#replace(0);
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
    const { atomics } = this.#segment.platform;
    const { unique } = threadState();
    if (atomics.compareExchange(this.#segment.words, janitor, 0, -unique) !== 0) {
      if (!this.linked) this.connect();
      return;
    }
    try {
      const worker = new threads.Worker(new URL('./janitor.worker.js', import.meta.url), {
        name: 'heddle janitor',
        workerData: { heddleJanitor: this.#segment.handle },
      });
      worker.unref();
      worker.on('error', (error) => {
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
    return { handle: { ...this.#segment.handle, port: port2 }, transferList: [port2] };
  }

  close(): void {
    this.#closed = true;
    threadState().kindListeners.delete(this.#tellKind);
    this.#port?.close();
  }

  #sendPort(to: number): void {
    const threads = workerThreads();
    if (!threads?.postMessageToThread) return;
    const { port1, port2 } = new threads.MessageChannel();
    this.#use(port1, to);
    const message = { heddleJanitor: this.#segment.id, port: port2 };
    threads.postMessageToThread(threadIdOf(to), message, [port2]).catch(() => {
      // It ended before the message came. The close brings a replacement.
      port1.close();
    });
  }

  #use(port: MessagePortLike, of: number): void {
    this.#port = port;
    port.on('close', () => {
      if (this.#port !== port) return;
      this.#port = undefined;
      if (!this.#closed) void this.#replace(of);
    });
    port.on('message', () => {
      if (this.#segment.attached) this.#segment.recover();
    });
    port.unref();
    this.#send({ linked: threadState().unique });
    if (this.#attached) this.noteAttached();
    for (const kind of threadState().kinds.values()) this.#tellKind(kind);
  }

  /** After the janitor ended: one of the threads that notice starts another, the others link to that. */
  async #replace(ended: number): Promise<void> {
    const { words, platform } = this.#segment;
    if (ended > 0) platform.atomics.compareExchange(words, janitor, ended, 0);
    while (!this.#closed && !this.linked) {
      const word = this.#word();
      if (word === 0) this.start();
      else if (word > 0) return this.connect();
      else await new Waiter(words, janitor, platform).waitAsync(word, { ref: false });
    }
  }

  #send(message: LinkMessage): void {
    this.#port?.postMessage(message);
  }

  #word(): number {
    return this.#segment.platform.atomics.load(this.#segment.words, janitor);
  }
}

/** The janitor is ready. */
export function announceJanitor(segment: Segment, starter: number): void {
  const { atomics } = segment.platform;
  atomics.compareExchange(segment.words, janitor, -starter, threadState().unique);
  atomics.notify(segment.words, janitor);
}

/** After a death: a janitor, or one who was starting it, is no more. */
export function forgetJanitor(segment: Segment, deadUnique: number): void {
  const { atomics } = segment.platform;
  for (const word of [deadUnique, -deadUnique]) {
    if (atomics.compareExchange(segment.words, janitor, word, 0) === word) {
      atomics.notify(segment.words, janitor);
    }
  }
}
