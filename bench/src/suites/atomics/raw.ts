import type { Comparison } from '../../core/suite.js';
import { alone } from './alone.js';

const module = new URL('./raw.worker.js', import.meta.url);

export const raw: Comparison = {
  name: 'raw',
  title: 'operations on an Int32Array over shared memory, one thread',
  metric: 'time',
  operation: 'operation',
  baseline: 'load',
  module,
  variants: [
    alone('loop', 'loop'),
    alone('plain-read', 'plainRead'),
    alone('plain-write', 'plainWrite'),
    alone('load', 'load'),
    alone('store', 'store'),
    alone('add', 'add'),
    alone('exchange', 'exchange'),
    alone('cas-hit', 'casHit'),
    alone('cas-miss', 'casMiss'),
    alone('notify-nobody', 'notifyNobody'),
  ],
};

export const wide: Comparison = {
  name: 'wide',
  title: 'the same on a BigInt64Array, each against its twin of 32 bits',
  metric: 'time',
  operation: 'operation',
  baseline: 'load',
  module,
  variants: [
    alone('load', 'load'),
    alone('load-64', 'load64', { against: 'load' }),
    alone('store', 'store'),
    alone('store-64', 'store64', { against: 'store' }),
    alone('add', 'add'),
    alone('add-64', 'add64', { against: 'add' }),
    alone('cas-miss', 'casMiss'),
    alone('cas-miss-64', 'casMiss64', { against: 'cas-miss' }),
  ],
};
