import { parentPort, workerData } from 'node:worker_threads';
import { Mutex, Segment } from '@heddle/lock';

Mutex.open(Segment.attach(workerData), 'mutex').lock();
parentPort!.postMessage('locked');
