import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DescriptorFormat, MAX_SLOTS } from './descriptor.js';
import {
  chunkByteLength,
  chunkSteps,
  type GrowthParameters,
  paddingOf,
  strideOf,
} from './growth-arithmetic.js';
import { generationOfLease, idOfLease, isHeldIn, LEASE, leaseWord, stateOfLease } from './lease.js';
import { addWide, readWide, writeWide } from './wide-word.js';

const MIB = 2 ** 20;

const parametersOf = (options: Partial<GrowthParameters>): GrowthParameters => ({
  elemSize: 64,
  align: 64,
  alignOffset: 0,
  elemsPerChunk: 8,
  growFactor: 1,
  maxChunkBytes: 128 * MIB,
  guardBytes: 0,
  ...options,
});

describe('growth', () => {
  it('goes the steps that UCX goes', () => {
    expect(chunkSteps(parametersOf({}), 25, 100)).toEqual([8, 8, 8, 1]);
    expect(
      chunkSteps(parametersOf({ elemSize: MIB, growFactor: 2, maxChunkBytes: 32 * MIB }), 25, 100),
    ).toEqual([8, 16, 1]);
    expect(chunkSteps(parametersOf({ growFactor: 1.5 }), 100, 100)).toEqual([8, 12, 18, 27, 35]);
  });

  it('stays at the clip once it was clipped', () => {
    const parameters = parametersOf({ elemSize: MIB, growFactor: 4, maxChunkBytes: 11 * MIB });
    expect(chunkSteps(parameters, 50, 100)).toEqual([8, 10, 10, 10, 10, 2]);
  });

  const anyParameters = fc.record({
    elemSize: fc.integer({ min: 1, max: 2 ** 33 }),
    align: fc.integer({ min: 0, max: 16 }).map((bits) => 2 ** bits),
    alignOffset: fc.integer({ min: 0, max: 1000 }),
    elemsPerChunk: fc.integer({ min: 1, max: 10_000 }),
    growFactor: fc.double({ min: 1, max: 8, noNaN: true }),
    maxChunkBytes: fc.integer({ min: 2 ** 34, max: 2 ** 40 }),
    guardBytes: fc.constantFrom(0, 64),
  });

  it('uses the quota up, in chunks within their limit', () => {
    fc.assert(
      fc.property(anyParameters, fc.integer({ min: 1, max: MAX_SLOTS }), (parameters, quota) => {
        const steps = chunkSteps(parameters, quota, 5000);
        const sum = steps.reduce((total, elems) => total + elems, 0);
        expect(steps.every((elems) => elems >= 1)).toBe(true);
        expect(steps.length === 5000 ? sum <= quota : sum === quota).toBe(true);
        for (const elems of steps.slice(0, 20)) {
          expect(elems * strideOf(parameters) + parameters.align).toBeLessThanOrEqual(
            parameters.maxChunkBytes,
          );
        }
      }),
      { numRuns: 50 },
    );
  });

  it('PL-11 finds each slot again, at offsets beyond 2, 4 and 8 GiB', () => {
    fc.assert(
      fc.property(
        anyParameters,
        fc
          .constantFrom(0, 2 ** 31, 2 ** 32, 2 ** 33, 2 ** 40)
          .chain((start) => fc.tuple(fc.constant(start), fc.integer({ min: 0, max: 2 ** 20 }))),
        fc.integer({ min: 0, max: 5000 }),
        (parameters, [start, lines], index) => {
          const stride = strideOf(parameters);
          const base =
            start + lines * parameters.align - ((start + lines * parameters.align) % parameters.align);
          const first = base + paddingOf(parameters) + parameters.guardBytes;
          const offset = first + index * stride;
          expect(Number.isSafeInteger(offset)).toBe(true);
          expect((offset + parameters.alignOffset) % parameters.align).toBe(0);
          expect((offset - first) / stride).toBe(index);
          expect(chunkByteLength(parameters, index + 1)).toBeGreaterThanOrEqual(
            offset - base + parameters.elemSize + parameters.guardBytes,
          );
        },
      ),
    );
  });

  it('PL-11 keeps offsets of 53 bits in two words', () => {
    const words = new Int32Array(2);
    for (const value of [0, 1, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 33 + 64, 2 ** 53 - 1]) {
      writeWide(words, 0, value);
      expect(readWide(words, 0)).toBe(value);
    }
    writeWide(words, 0, 2 ** 32 - 1);
    addWide(words, 0, 2);
    expect(readWide(words, 0)).toBe(2 ** 32 + 1);
    addWide(words, 0, -2);
    expect(readWide(words, 0)).toBe(2 ** 32 - 1);
  });
});

describe('a descriptor', () => {
  it('names a slot and a generation, and is never negative', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: MAX_SLOTS }),
        fc.nat(),
        fc.nat(),
        (slots, someSlot, someGeneration) => {
          const format = new DescriptorFormat(slots);
          const slot = someSlot % slots;
          const generation = someGeneration & format.generationMask;
          const descriptor = format.descriptor(slot, generation);
          expect(descriptor).toBeGreaterThanOrEqual(0);
          expect(format.isDescriptor(descriptor)).toBe(true);
          expect(format.slotOf(descriptor)).toBe(slot);
          expect(format.generationOf(descriptor)).toBe(generation);
          expect(format.next(format.generationMask)).toBe(0);
          const lease = leaseWord(generation, LEASE.held, 512);
          expect([generationOfLease(lease), stateOfLease(lease), idOfLease(lease)]).toEqual([
            generation,
            2,
            512,
          ]);
          expect(isHeldIn(lease, generation)).toBe(true);
          expect(isHeldIn(lease, format.next(generation))).toBe(false);
        },
      ),
    );
  });

  it('passes again after so many re-uses of its slot as the limits say', () => {
    expect(new DescriptorFormat(1).generations).toBe(2 ** 19);
    expect(new DescriptorFormat(4096).generations).toBe(2 ** 19);
    expect(new DescriptorFormat(65_536).generations).toBe(2 ** 15);
    expect(new DescriptorFormat(2 ** 20).generations).toBe(2 ** 11);
    expect(new DescriptorFormat(MAX_SLOTS).generations).toBe(2 ** 7);
  });
});
