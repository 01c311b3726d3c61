import type { Comparison } from '../../core/suite.js';
import { alone } from './alone.js';

export function growable(): Comparison[] {
  const module = new URL('./growable.worker.js', import.meta.url);
  const skip =
    'growable' in SharedArrayBuffer.prototype ? '' : 'this engine has no growable SharedArrayBuffer';
  const base = { metric: 'time', operation: 'access', baseline: 'fixed', module } as const;
  return [
    {
      ...base,
      name: 'growable-read',
      title: 'plain reads of a fixed and of a growable SharedArrayBuffer',
      variants: [
        alone('fixed', 'readFixed'),
        alone('growable', 'readGrowable', { skip }),
        alone('growable-tracking', 'readTracking', { skip }),
      ],
    },
    {
      ...base,
      name: 'growable-write',
      title: 'plain writes',
      variants: [
        alone('fixed', 'writeFixed'),
        alone('growable', 'writeGrowable', { skip }),
        alone('growable-tracking', 'writeTracking', { skip }),
      ],
    },
    {
      ...base,
      name: 'growable-load',
      title: 'Atomics.load',
      variants: [alone('fixed', 'loadFixed'), alone('growable', 'loadGrowable', { skip })],
    },
  ];
}
