import type { Comparison, ThreadVariant } from '../../core/suite.js';

const KIB = 1024;
const BLOCK_BYTES = 64 * KIB;

/** Smaller, since `slice` allocates its result: larger ones measure how the system gives out pages. */
const SLICE_BYTES = 16 * KIB;

function onView(name: string, workload: string, byteLength: number, copiedBytes = byteLength): ThreadVariant {
  return { name, threads: [{ workload, parameters: { byteLength } }], bytesPerOperation: copiedBytes };
}

const base = {
  metric: 'bandwidth',
  operation: 'call',
  baseline: 'private',
  module: new URL('./view.worker.js', import.meta.url),
} as const;

export const views: readonly Comparison[] = [
  {
    ...base,
    name: 'fill-64KiB',
    title: 'fill() on private and shared views, and set() from a block of zeros',
    variants: [
      onView('private', 'fillPrivate', BLOCK_BYTES),
      onView('shared', 'fillShared', BLOCK_BYTES),
      onView('shared-set-zeros', 'zerosShared', BLOCK_BYTES),
    ],
  },
  {
    ...base,
    name: 'slice-16KiB',
    title: 'set() from a shared view into an array that is kept, and the ways that allocate',
    baseline: 'shared-set-into-kept',
    variants: [
      onView('shared-set-into-kept', 'copyIntoKeptShared', SLICE_BYTES),
      onView('shared-set-into-new', 'copyIntoNewShared', SLICE_BYTES),
      onView('shared-slice', 'sliceShared', SLICE_BYTES),
      onView('private-slice', 'slicePrivate', SLICE_BYTES),
    ],
  },
  {
    ...base,
    name: 'copy-within-64KiB',
    title: 'copyWithin() of one half over the other',
    variants: [
      onView('private', 'copyWithinPrivate', BLOCK_BYTES, BLOCK_BYTES / 2),
      onView('shared', 'copyWithinShared', BLOCK_BYTES, BLOCK_BYTES / 2),
    ],
  },
];
