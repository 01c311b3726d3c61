import { HeddleError, Segment } from '@heddle/memory';
import { expect, it } from 'vitest';
import { Mpool } from './mpool.js';

const MIB = 2 ** 20;
const GIB = 2 ** 30;

/** A segment of so many bytes, undefined where this engine or machine does not reserve it. */
function reserve(byteLength: number): Segment | undefined {
  try {
    return Segment.create({ byteLength });
  } catch (error) {
    if (error instanceof HeddleError && error.code === 'ERR_HEDDLE_OUT_OF_SPACE') return undefined;
    throw error;
  }
}

it('PL-11 has elements beyond 2 and 4 GiB at exact offsets, which do not overlap', ({ skip }) => {
  const segment = reserve(4.5 * GIB);
  if (!segment) skip('this engine does not reserve 4.5 GiB of shared memory');
  const elemSize = 96 * MIB + 8;
  const pool = Mpool.create(segment!, { name: 'p', elemSize, maxElems: 45, elemsPerChunk: 1 });
  const descriptors: number[] = [];
  expect(pool.getMany(45, descriptors)).toBe(45);
  const offsets = descriptors.map((descriptor) => pool.offset(descriptor)).sort((a, b) => a - b);
  for (const [i, offset] of offsets.entries()) {
    if (i > 0) expect(offset - offsets[i - 1]!).toBeGreaterThanOrEqual(elemSize);
    expect(offset % 64).toBe(0);
  }
  for (const limit of [2 * GIB, 4 * GIB]) {
    expect(offsets.some((offset) => offset < limit && offset + elemSize > limit)).toBe(true);
    expect(offsets.at(-1)).toBeGreaterThanOrEqual(limit);
  }
  // Only the first and the last byte of each is touched, so only two pages of each take memory.
  for (const [i, descriptor] of descriptors.entries()) {
    const bytes = pool.bytes(descriptor);
    expect([bytes.byteOffset, bytes.length]).toEqual([pool.offset(descriptor), elemSize]);
    bytes[0] = i + 1;
    bytes[elemSize - 1] = 255 - i;
  }
  const other = Mpool.open(segment!, 'p');
  for (const [i, descriptor] of descriptors.entries()) {
    const bytes = other.bytes(descriptor);
    expect([bytes[0], bytes[elemSize - 1]]).toEqual([i + 1, 255 - i]);
    other.put(descriptor);
  }
  expect(pool.audit()).toMatchObject({ outstanding: 0, put: 45, consistent: true });
  segment!.detach();
});

it('has all of its elements in a segment of its own, where the space rounds their size up', () => {
  const pool = Mpool.create({ elemSize: 64 * MIB + 128, maxElems: 3, elemsPerChunk: 1 });
  expect(pool.getMany(4, [])).toBe(3);
  pool.segment.detach();
});
