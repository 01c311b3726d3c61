import type { Comparison } from '../../core/suite.js';

const KIB = 1024;

/** Source and target offset, modulo 8. */
const offsets = [
  ['0-to-0', 0, 0],
  ['3-to-3', 3, 3],
  ['0-to-1', 0, 1],
  ['0-to-4', 0, 4],
] as const;

export function copies(): Comparison[] {
  const sizes = [
    ['1KiB', KIB],
    ['64KiB', 64 * KIB],
    ['1MiB', 1024 * KIB],
  ] as const;
  return sizes.flatMap(([size, byteLength]) => [
    copy('in', size, `from private into shared memory, ${size}`, 'privateToShared', byteLength),
    copy('out', size, `from shared into private memory, ${size}`, 'sharedToPrivate', byteLength),
  ]);
}

/**
 * Across the border of shared memory at each pair of offsets. The first is divided by the same copy within private
 * memory, the others by the first: what the border costs, what the offsets do, and what `copyBytes` saves.
 */
function copy(
  direction: 'in' | 'out',
  size: string,
  title: string,
  workload: string,
  byteLength: number,
): Comparison {
  const variant = (kind: string, used: string, offset: (typeof offsets)[number]) => {
    const [label, sourceOffset, targetOffset] = offset;
    const parameters = { byteLength, sourceOffset, targetOffset };
    return {
      name: `${kind}-${label}`,
      threads: [{ workload: used, parameters }],
      bytesPerOperation: byteLength,
    };
  };
  const copyBytes = direction === 'in' ? 'copyBytesIn' : 'copyBytesOut';
  const againstFirst = { against: 'shared-0-to-0' };
  return {
    name: `copy-${direction}-${size}`,
    title: `set() and copyBytes() ${title}, by offsets modulo 8`,
    metric: 'bandwidth',
    operation: 'copy',
    baseline: 'private-0-to-0',
    module: new URL('./copy.worker.js', import.meta.url),
    variants: [
      variant('private', 'privateToPrivate', offsets[0]),
      variant('private', 'privateToPrivate', offsets[2]),
      variant('shared', workload, offsets[0]),
      ...offsets.slice(1).map((offset) => ({ ...variant('shared', workload, offset), ...againstFirst })),
      { ...variant('copyBytes', copyBytes, offsets[0]), ...againstFirst },
      { ...variant('copyBytes', copyBytes, offsets[2]), ...againstFirst },
    ],
  };
}
