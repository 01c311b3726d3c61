/** What a thread sends over its link. */
export type LinkMessage =
  /** The first message: whose death the close of this port is. */
  | { readonly linked: number }
  /** The row is claimed. */
  | { readonly attached: number }
  /** A module that registers a kind which the thread uses. */
  | { readonly module: string }
  /** The end of another thread's link. */
  | { readonly port: MessagePortLike }
  /** A recovery was left with structures that somebody else may have the code of. */
  | { readonly help: true }
  /** The last message: the thread has detached, the close of this port is nobody's death. */
  | { readonly left: true };

/** What the janitor sends: somebody has to go on with a recovery who has the code of some structure. */
export interface JanitorMessage {
  readonly help: true;
}

/** What is used of a `MessagePort`. */
export interface MessagePortLike {
  postMessage(message: LinkMessage | JanitorMessage, transferList?: readonly unknown[]): void;
  on(event: 'message', listener: (message: LinkMessage) => void): void;
  on(event: 'close', listener: () => void): void;
  hasRef?(): boolean;
  unref(): void;
  close(): void;
}

/**
 * Calls back when a port on which this thread listens for messages is closed, also where that was before: the engine
 * tells only those who listen at the time.
 *
 * What was sent before the close is heard before it: the engine keeps a close in its place among the messages of a port,
 * and closes a port that nobody has listened on yet only where it is the first of them.
 */
export function onceClosed(port: MessagePortLike, listener: () => void): void {
  port.on('close', listener);
  // Listening keeps the event loop alive, unless the port is closed.
  if (port.hasRef?.() === false) void Promise.resolve().then(listener);
}
