import type { Link, LinkParameters } from '../messages/link.js';

/** Messages that a reader of bytes takes at once. */
const READ_AHEAD = 64;

/**
 * Messages over bytes without borders. Since both ends write and read whole messages, and the room is a multiple of
 * one, no part of a message is ever alone.
 *
 * @param write writes as much as there is room for, and @param read reads as much as there is; both return how many
 *   bytes.
 */
export function streamLink(
  write: (bytes: Uint8Array) => number,
  read: (bytes: Uint8Array) => number,
  message: Uint8Array,
  { messageBytes, batch = 1 }: LinkParameters,
): Link {
  const gathered = new Uint8Array(batch * messageBytes);
  const arrived = new Uint8Array(READ_AHEAD * messageBytes);
  const words = new Int32Array(arrived.buffer);
  const wordsEach = messageBytes / 4;
  let sum = 0;

  function writeAll(bytes: Uint8Array): void {
    let rest = bytes;
    for (;;) {
      const written = write(rest);
      if (written === rest.length) return;
      if (written > 0) rest = rest.subarray(written);
    }
  }

  return {
    send(count) {
      if (count === 1) return writeAll(message);
      for (let i = 0; i < count; i++) gathered.set(message, i * messageBytes);
      writeAll(count === batch ? gathered : gathered.subarray(0, count * messageBytes));
    },
    poll() {
      const count = read(arrived) / messageBytes;
      for (let i = 0; i < count; i++) sum = (sum + words[i * wordsEach]!) | 0;
      return count;
    },
    get sum() {
      return sum;
    },
  };
}
