import type { Comparison } from '../../core/suite.js';
import { alone } from './alone.js';

const module = new URL('./seam.worker.js', import.meta.url);

export const seam: Comparison = {
  name: 'seam',
  title: 'one CAS and one exchange in a class, with injected atomics',
  metric: 'time',
  operation: 'pair',
  baseline: 'direct',
  module,
  variants: [
    alone('direct', 'crossDirect'),
    alone('injected', 'crossInjected', { targets: [{ atMost: 1.05 }] }),
    alone('injected-platform', 'crossPlatform'),
    // What it would cost if two implementations met in one thread: no target, nobody ships that.
    alone('injected-two-seen', 'crossTwoSeen'),
  ],
};

export const seamLoad: Comparison = {
  name: 'seam-load',
  title: 'one load in a class, with injected atomics',
  metric: 'time',
  operation: 'load',
  baseline: 'direct',
  module,
  variants: [
    alone('direct', 'lookDirect'),
    // A field is read and its shape checked: about 0.2 ns, which shows beside a bare load and nowhere else.
    alone('injected', 'lookInjected', { targets: [{ atMost: 1.1 }] }),
    alone('injected-platform', 'lookPlatform'),
  ],
};
