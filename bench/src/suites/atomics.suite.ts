import { defineSuite } from '../core/suite.js';
import { copies } from './atomics/copy.js';
import { growable } from './atomics/growable.js';
import { raw, wide } from './atomics/raw.js';
import { seam, seamLoad } from './atomics/seam.js';
import { views } from './atomics/view.js';
import { wakeUp } from './atomics/wake-up.js';

/** What the engine offers, before anything of Heddle is built on it. */
export default defineSuite({
  name: 'atomics',
  summary: 'raw Atomics, the seam, wake-ups between threads, copies to and from shared memory',
  limits:
    'Words are touched by one thread, except in the wake-ups: contention is measured with the locks. All copies run ' +
    'over the same memory again and again: they find it in a cache, and no page is cold. The wake-ups run with nothing else ' +
    'to do in either event loop. A loop over one operation lets the processor overlap what real code may not.',
  comparisons: ({ cores }) => [
    raw,
    wide,
    seam,
    seamLoad,
    wakeUp(cores),
    ...copies(),
    ...growable(),
    ...views,
  ],
});
