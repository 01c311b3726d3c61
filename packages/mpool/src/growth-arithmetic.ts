import { roundUp } from '@heddle/memory';

/** By how much a pool grows: UCX's parameters of `ucs_mpool`, with its meaning. */
export interface GrowthParameters {
  /** Bytes of an element as the caller sees it. */
  readonly elemSize: number;
  /** A power of two: the byte at `alignOffset` of each element lies at a multiple of it. */
  readonly align: number;
  readonly alignOffset: number;
  /** Elements of the first chunk. */
  readonly elemsPerChunk: number;
  /** Multiplies the elements of a chunk after each one. From 1. */
  readonly growFactor: number;
  /** Most bytes of a chunk, alignment included. */
  readonly maxChunkBytes: number;
  /** Bytes before and after each element that nobody may write. 0 but in debug mode. */
  readonly guardBytes: number;
}

type Element = Pick<GrowthParameters, 'elemSize' | 'align' | 'alignOffset' | 'guardBytes'>;

/** Bytes from one element to the next. Any size up to 2^53; no bit operator. */
export function strideOf({ elemSize, align, guardBytes }: Element): number {
  return roundUp(elemSize + 2 * guardBytes, align);
}

/** Bytes before the first element, and its guard, of a chunk that begins at a multiple of `align`. */
export function paddingOf({ align, alignOffset, guardBytes }: Element): number {
  return (align - ((guardBytes + alignOffset) % align)) % align;
}

/** Bytes of a chunk of so many elements. */
export function chunkByteLength(parameters: GrowthParameters, elems: number): number {
  return paddingOf(parameters) + elems * strideOf(parameters);
}

/** Most elements that a chunk can hold: UCX counts the alignment and the elements against the limit. */
export function mostElemsOfChunk(parameters: GrowthParameters): number {
  return Math.floor((parameters.maxChunkBytes - parameters.align) / strideOf(parameters));
}

/**
 * Elements of the chunk that is made when `wanted` are wanted and `quota` are left: clipped by the size of a chunk
 * and by the quota. The last chunk may be a partial one.
 */
export function elemsOfChunk(parameters: GrowthParameters, wanted: number, quota: number): number {
  return Math.min(wanted, quota, mostElemsOfChunk(parameters));
}

/** Elements wanted of the chunk after one that wanted `wanted` and got `made`: clipping feeds back, as in UCX. */
export function nextElems(parameters: GrowthParameters, wanted: number, made: number): number {
  return Math.min(Math.round(Math.min(wanted, made) * parameters.growFactor), 2 ** 30);
}

/** The elements of each chunk until the quota is used up, or until there are `maxChunks` of them. */
export function chunkSteps(parameters: GrowthParameters, quota: number, maxChunks: number): number[] {
  const steps: number[] = [];
  let wanted = parameters.elemsPerChunk;
  let left = quota;
  while (left > 0 && steps.length < maxChunks) {
    const made = elemsOfChunk(parameters, wanted, left);
    if (made < 1) break;
    steps.push(made);
    left -= made;
    wanted = nextElems(parameters, wanted, made);
  }
  return steps;
}
