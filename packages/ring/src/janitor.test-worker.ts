import { workerData } from 'node:worker_threads';
import { MpscRing, type MpscRingHandle } from './mpsc-ring.js';

/** Claims room, says so, and ends without a word. */
const { handle, told } = workerData as { readonly handle: MpscRingHandle; readonly told: SharedArrayBuffer };
MpscRing.from(handle).producer().tryClaim(8, 1);
const words = new Int32Array(told);
Atomics.store(words, 0, 1);
Atomics.notify(words, 0);
process.exit();
