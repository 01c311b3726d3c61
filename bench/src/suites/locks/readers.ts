import type { Comparison, Target, ThreadVariant } from '../../core/suite.js';
import { type ReadWriteName, shareReadWrite } from './read-write.js';

const module = new URL('./reader.worker.js', import.meta.url);

/** Steps of a section. */
const INSIDE = 100;

/** Four times as many threads as cores. */
const OVERLOAD = 4;

const names: readonly ReadWriteName[] = ['rwlock', 'seqlock', 'mutex', 'multithreading-rwlock'];

/** Two readers against one, nobody writes: what readers do to each other. */
export const readers: Comparison = {
  name: `readers-cs${INSIDE}`,
  title: `sections of ${INSIDE} steps that only read`,
  metric: 'rate',
  operation: 'section',
  baseline: 'mutex-1r',
  module,
  roundMs: 250,
  variants: [
    ...names.map((name) => {
      const one = reading(`${name}-1r`, name, 1, 0);
      // A partner that sleeps: one thread alone would be timed in another way than two.
      return { ...one, threads: [...one.threads, { workload: 'asleep' }] };
    }),
    ...names.map((name) => ({
      ...reading(`${name}-2r`, name, 2, 0),
      against: `${name}-1r`,
      targets: name === 'rwlock' || name === 'seqlock' ? [{ atLeast: 1.7 }] : [],
    })),
  ],
};

/** Every tenth section writes, at one thread a core and at four. */
export function readersAndWriters(cores: number): Comparison {
  const few = Math.max(2, cores);
  const many = few * OVERLOAD;
  const keepsRate: Target = { atLeast: 0.5 };
  return {
    name: `readers-writers-cs${INSIDE}`,
    title: `sections of ${INSIDE} steps, one in ten writes`,
    metric: 'rate',
    operation: 'section',
    baseline: `mutex-${few}t`,
    module,
    roundMs: 250,
    variants: [
      ...names.map((name) => reading(`${name}-${few}t`, name, few, 10)),
      ...names.map((name) => ({
        ...reading(`${name}-${many}t`, name, many, 10),
        against: `${name}-${few}t`,
        targets: name === 'rwlock' ? [keepsRate] : [],
      })),
    ],
  };
}

function reading(name: string, strategy: ReadWriteName, count: number, writeEvery: number): ThreadVariant {
  return {
    name,
    threads: [{ workload: 'reader', count, parameters: { inside: INSIDE, writeEvery } }],
    prepare: (threads) => ({ shared: shareReadWrite(strategy, threads) }),
  };
}
