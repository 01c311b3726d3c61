import type { Comparison, ThreadVariant } from '../../core/suite.js';
import { manyWriterKinds } from './many-writers.worker.js';

/** So many threads write to one that reads. */
export function manyWriters(writers: number): Comparison {
  const variant = (name: keyof typeof manyWriterKinds, write: string, read: string): ThreadVariant => ({
    name,
    threads: [{ workload: write, count: writers }, { workload: read }],
    prepare: () => manyWriterKinds[name](writers),
  });
  return {
    name: `many-writers-${writers}t`,
    title: `8 bytes from ${writers} writers, which sleep while there is no room, to a reader that polls`,
    metric: 'rate',
    operation: 'message',
    baseline: 'spsc-ring-each',
    module: new URL('./many-writers.worker.js', import.meta.url),
    variants: [
      variant('spsc-ring-each', 'writeOwn', 'readEach'),
      variant('mpsc-ring', 'writeMpsc', 'readMpsc'),
      variant('mpmc-queue', 'writeQueue', 'readQueue'),
    ],
  };
}
