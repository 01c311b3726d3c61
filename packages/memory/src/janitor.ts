import type { Segment } from './segment.js';
import { segmentLayout } from './segment.layout.js';
import { threadState } from './thread-state.js';

/**
 * The janitor: a thread that sees the deaths of the others.
 *
 * Every attached thread gives it one end of a message channel. When a thread ends, in whatever way, the engine
 * closes its ends, and the janitor declares it dead; no store of the dead thread follows. Neither the event loop
 * of the dead thread nor that of its parent is needed for that. A thread that detaches says so before it closes.
 *
 * The port reaches the janitor, in this order: from the thread that started it, directly; in a {@link Lifeline};
 * else through the engine's messages between threads, which need one turn of the main thread's event loop.
 *
 * **States** of the word `janitor` in the segment's header:
 *
 * | word | meaning                                                                                   |
 * |------|-------------------------------------------------------------------------------------------|
 * | 0    | there is none                                                                             |
 * | -s   | the thread s is starting one                                                              |
 * | j    | the thread j is the janitor. It writes this itself, when it is ready to be sent ports     |
 *
 * **Death**. A janitor that comes to an end by itself clears the word. One that is gone without that was taken along
 * by the end of the thread that started it, as workers are: so the first linked thread whose event loop notices
 * declares both dead, and starts another.
 */

const { janitor } = segmentLayout.offsets;

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
