import { MessageChannel } from 'node:worker_threads';
import type { Prepared } from '../../core/suite.js';

/** A port for each of the first two threads, and a word that counts what arrived. */
export function preparePorts(): Prepared {
  const { port1, port2 } = new MessageChannel();
  const own = [port1, port2].map((port) => ({ value: port, transfer: [port] }));
  return { shared: new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT), own };
}
