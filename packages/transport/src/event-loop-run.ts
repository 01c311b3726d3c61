import type { Platform } from '@heddle/memory';

/** What receiving on the event loop needs of a worker. */
export interface LoopReceiver {
  /** Whether it is closed here. */
  isOver(): boolean;
  progress(): number;
  /** Polls for a while. Returns whether there is something. */
  poll(): boolean;
  /** Sleeps on the event loop until there is something. */
  sleep(): Promise<unknown>;
}

/** Milliseconds of work after which the event loop has its turn. */
const SLICE_MS = 5;

/**
 * Receives until the worker is over or the signal aborts: progress while there is something, poll for a while, sleep.
 *
 * @throws (rejects) with what `progress` threw.
 */
export async function runOnEventLoop(
  receiver: LoopReceiver,
  signal: AbortSignal | undefined,
  platform: Platform,
): Promise<void> {
  const isOver = () => receiver.isOver() || signal?.aborted === true;
  while (!isOver()) {
    const sliceEnd = platform.now() + SLICE_MS;
    do {
      // What handlers resolved goes on at once, not only when the slice is over.
      while (receiver.progress() > 0 && platform.now() < sliceEnd && !isOver()) await undefined;
    } while (!isOver() && platform.now() < sliceEnd && receiver.poll());
    if (isOver()) return;
    if (platform.now() < sliceEnd) await receiver.sleep();
    else await new Promise<void>((resolve) => platform.schedule(resolve, 0));
  }
}
