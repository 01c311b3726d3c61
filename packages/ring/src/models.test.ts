import { exploreTests } from '@heddle/explore/vitest';
import brokenRings from './broken-rings.explore.js';
import mpmcQueue from './mpmc-queue.explore.js';
import mpscRing from './mpsc-ring.explore.js';
import spscRing from './spsc-ring.explore.js';
import spscStream from './spsc-stream.explore.js';

exploreTests([...brokenRings, ...spscRing, ...spscStream, ...mpscRing, ...mpmcQueue]);
