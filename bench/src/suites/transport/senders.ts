import type { Comparison, Target, ThreadVariant } from '../../core/suite.js';
import { prepareContext } from './thread-of-context.js';

/** What a message costs all threads together, by how many send. */
export function senders(messageBytes: number): Comparison {
  const variant = (name: string, count: number, ...targets: readonly Target[]): ThreadVariant => ({
    name,
    threads: [{ workload: 'send', count, parameters: { messageBytes } }, { workload: 'receive' }],
    // One sender as well, so that it has no advantage.
    placement: 'free',
    targets,
    prepare: prepareContext,
  });
  return {
    name: 'senders',
    title: `${messageBytes} bytes from many senders to one receiver; all sleep where there is nothing to do`,
    metric: 'cpu',
    operation: 'message',
    baseline: 'senders-1',
    module: new URL('./senders.worker.js', import.meta.url),
    variants: [variant('senders-1', 1), variant('senders-8', 8), variant('senders-32', 32, { atMost: 1.5 })],
  };
}
