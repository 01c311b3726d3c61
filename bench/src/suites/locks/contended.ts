import type { Comparison, Target, ThreadVariant } from '../../core/suite.js';
import { court } from './court.layout.js';
import type { Arena } from './section.worker.js';
import { type StrategyName, shareLock } from './strategies.js';

const sectionModule = new URL('./section.worker.js', import.meta.url);
const handOverModule = new URL('./hand-over.worker.js', import.meta.url);

/** How many steps a thread works with the lock, and then without it. */
interface Lengths {
  readonly inside: number;
  readonly outside: number;
}

/** Four times as many threads as cores: some holder or waiter is always off its core. */
const OVERLOAD = 4;

/** What is aimed at where there are more threads than cores. */
const keepsRate: Target = { atLeast: 0.5 };
const keepsPace: Target = { atLeast: 0.5, against: 'hand-over' };
const fair: Target = { jainAtLeast: 0.95, overMs: 1000 };

interface Contender {
  readonly name: StrategyName;
  readonly targets?: readonly Target[];
}

const contenders: readonly Contender[] = [
  { name: 'cas-exchange' },
  { name: 'futex' },
  { name: 'mutex', targets: [keepsRate, fair] },
  { name: 'spinlock', targets: [keepsRate] },
  { name: 'ticket', targets: [keepsPace, fair] },
  { name: 'mcs', targets: [keepsPace, fair] },
  { name: 'rwlock-write', targets: [keepsRate] },
  { name: 'multithreading-mutex' },
];

/**
 * Every strategy at one thread a core and at four, all against raw Atomics at one thread a core or against
 * themselves there.
 */
export function contended(cores: number): Comparison[] {
  return [
    comparison(cores, { inside: 10, outside: 40 }, 1000),
    comparison(cores, { inside: 100, outside: 100 }, 250),
  ];
}

function comparison(cores: number, lengths: Lengths, roundMs: number): Comparison {
  const few = Math.max(2, cores);
  const many = few * OVERLOAD;
  return {
    name: `cs${lengths.inside}-ncs${lengths.outside}`,
    title: `sections of ${lengths.inside} steps inside and ${lengths.outside} outside; a step is about 2 ns`,
    metric: 'rate',
    operation: 'section',
    baseline: variantName('cas-exchange', few),
    module: sectionModule,
    roundMs,
    variants: [
      handOver,
      ...contenders.map(({ name }) => variant(name, few, lengths)),
      ...contenders.map(({ name, targets = [] }) => ({
        ...variant(name, many, lengths),
        against: variantName(name, few),
        // Short sections are the case that tempts a lock to be unfair, and the one that has rounds of a second.
        targets: targets.filter((target) => !('overMs' in target) || target.overMs <= roundMs),
      })),
    ],
  };
}

const handOver: ThreadVariant = {
  name: 'hand-over',
  module: handOverModule,
  threads: [{ workload: 'handOverDriver' }, { workload: 'handOverPartner' }],
  prepare: () => ({ shared: new SharedArrayBuffer(128) }),
};

function variantName(strategy: StrategyName, threads: number): string {
  return `${strategy}-${threads}t`;
}

function variant(strategy: StrategyName, count: number, lengths: Lengths): ThreadVariant {
  return {
    name: variantName(strategy, count),
    threads: [{ workload: 'section', count, parameters: { ...lengths } }],
    prepare: (threads) => ({ shared: arena(strategy, threads) }),
  };
}

function arena(strategy: StrategyName, threads: number): Arena {
  return { ...shareLock(strategy, threads), court: new SharedArrayBuffer(court.byteLength) };
}
