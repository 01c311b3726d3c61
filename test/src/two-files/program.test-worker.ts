import { parentPort, workerData } from 'node:worker_threads';
import { describeThread } from './describe-thread.js';

const words: Int32Array<SharedArrayBuffer> = workerData;
Atomics.store(words, 0, 2 * Atomics.load(words, 0));
parentPort?.postMessage(describeThread(import.meta.url));
