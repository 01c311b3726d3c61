// A small program of two threads. from-source.test.ts runs it from source and from the build: apart from where the
// code came from, both must say the same.

import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { describeThread } from './describe-thread.js';

const words = new Int32Array(new SharedArrayBuffer(4));
words[0] = 21;
const worker = new Worker(new URL('./program.test-worker.js', import.meta.url), { workerData: words });
const [inWorker] = await once(worker, 'message');
await once(worker, 'exit');

console.log(JSON.stringify({ word: words[0], inMain: describeThread(import.meta.url), inWorker }, null, 2));
if (words[0] !== 42) process.exitCode = 1;
