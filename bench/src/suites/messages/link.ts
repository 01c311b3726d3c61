/**
 * A way to another thread and back, as one end of it sees it: what every transport and every ring looks like to the
 * workloads. Messages are all of one size, and begin with a number that whoever receives them adds up.
 */
export interface Link {
  /** Sends the message so many times, published together. Looks again and again where there is no room. */
  send(count: number): void;
  /** Takes what is there. Returns how many messages. */
  poll(): number;
  /** Of the numbers in the messages taken so far. */
  readonly sum: number;
}

/** What the threads of a variant are told. */
export interface LinkParameters {
  readonly messageBytes: number;
  /** Messages that are published together at most. Default 1. */
  readonly batch?: number;
}

/** A kind of link: made once, opened by both threads, of index 0 and 1. */
export interface LinkKind<Shared = unknown> {
  /** What the threads are given, and how to let go of it. */
  create(parameters: LinkParameters): { readonly shared: Shared; readonly release?: () => void };
  open(shared: Shared, index: number, message: Uint8Array, parameters: LinkParameters): Link | Promise<Link>;
}

/** Bytes that a ring has room for: what those of Heddle have unless told otherwise. */
export const RING_BYTES = 65_536;

/** A message with the number 1 in front. */
export function messageOf(byteLength: number): Uint8Array<ArrayBuffer> {
  const message = new Uint8Array(byteLength).fill(7);
  new Int32Array(message.buffer)[0] = 1;
  return message;
}
