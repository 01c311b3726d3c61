import type { Comparison, Target, ThreadVariant } from '../../core/suite.js';
import { type StrategyName, shareLock } from './strategies.js';

const module = new URL('./section.worker.js', import.meta.url);

/** Entering and leaving while nobody else is there. */
export const alone: Comparison = {
  name: 'alone',
  title: 'lock and unlock, one thread',
  metric: 'time',
  operation: 'pair',
  baseline: 'cas-exchange',
  module,
  variants: [
    by('cas-exchange'),
    by('futex'),
    by('mutex', { atMost: 1.5 }),
    by('spinlock', { atMost: 1.5 }),
    by('ticket'),
    by('mcs'),
    by('recursive-mutex'),
    by('none'),
    by('rwlock-read'),
    by('rwlock-write'),
    by('seqlock-read'),
    by('seqlock-write'),
    by('multithreading-mutex'),
    by('multithreading-rwlock-read'),
    by('multithreading-rwlock-write'),
  ],
};

function by(strategy: StrategyName, ...targets: Target[]): ThreadVariant {
  return {
    name: strategy,
    threads: [{ workload: 'empty' }],
    prepare: (threads) => ({ shared: shareLock(strategy, threads) }),
    targets,
  };
}
