import type { Platform, StructureInfo, StructureOptions } from '@heddle/memory';
import { contextByteLength, contextLayout, readShape, type Shape, writeShape } from './transport.layout.js';

const { maker } = contextLayout.offsets;

/** What making a context needs of a segment: `Segment` has it. */
export interface MakingPlace {
  readonly platform: Platform;
  readonly thread: { readonly token: number };
  readonly space: { isLive(range: StructureInfo['range']): boolean };
  createStructure(options: StructureOptions): StructureInfo;
  removeStructure(info: StructureInfo): boolean;
  wordsAt(byteOffset: number, byteLength: number): Int32Array<SharedArrayBuffer>;
}

/** How the pools of a context are made and removed. */
export interface PoolMaking {
  create(name: string, size: number): void;
  /** Nothing where there is none. Can be repeated. */
  remove(name: string): void;
}

/** Bytes of the longest name of a context: those of its pools are longer. */
export const MAX_NAME_BYTES = 47;

/**
 * Name of the pool with slots of a size that belongs to a context, and to no other of that name, earlier or later: it
 * tells the range of the context and the generation of that, up to 16 and 20 bits.
 */
export function poolNameOf({ name, range }: Pick<StructureInfo, 'name' | 'range'>, size: number): string {
  return `${name}.pool.${size}.${range.index.toString(36)}.${range.generation.toString(36)}`;
}

/**
 * Makes a context: its structure, which takes the name, then its pools.
 *
 * **One commit**: `maker`, the token of this thread at first, becomes 0. Nobody uses the context before, and nobody
 * removes it afterwards.
 *
 * **Death** of the maker before it: recovery takes back what there is, as does a failure, and the name is free again.
 *
 * @throws what creating its structure or a pool throws. Nothing is left behind then.
 */
export function makeContext(place: MakingPlace, name: string, shape: Shape, pools: PoolMaking): void {
  const info = place.createStructure({
    name,
    layout: contextLayout,
    byteLength: contextByteLength(shape),
    init: ({ byteOffset, byteLength }) => {
      const words = place.wordsAt(byteOffset, byteLength);
      writeShape(words, shape);
      words[maker] = place.thread.token;
    },
  });
  let made = 0;
  try {
    for (; made < shape.slotBytes.length; made++) pools.create(poolNameOf(info, made), made);
  } catch (error) {
    takeBack(place, info, made, pools);
    throw error;
  }
  const { byteOffset, byteLength } = info;
  place.platform.atomics.store(place.wordsAt(byteOffset, byteLength), maker, 0);
}

/** Whether a context is made, and so there for good. 2 loads. */
export function isMade(place: MakingPlace, info: StructureInfo): boolean {
  // In this order: what is 0 may be of something else by now.
  return makerOf(place, info) === 0 && place.space.isLive(info.range);
}

/** Takes back a context that a dead thread did not get done with. Can be repeated; nothing where it was made. */
export function takeBackAfterDeath(
  place: MakingPlace,
  info: StructureInfo,
  deadToken: number,
  pools: PoolMaking,
): void {
  if (makerOf(place, info) !== deadToken) return;
  const { slotBytes } = readShape(place.wordsAt(info.byteOffset, info.byteLength));
  takeBack(place, info, slotBytes.length, pools);
}

/** The structure last: whoever begins anew finds by it what is left. */
function takeBack(place: MakingPlace, info: StructureInfo, count: number, pools: PoolMaking): void {
  for (let size = 0; size < count; size++) pools.remove(poolNameOf(info, size));
  place.removeStructure(info);
}

function makerOf(place: MakingPlace, { byteOffset, byteLength }: StructureInfo): number {
  return place.platform.atomics.load(place.wordsAt(byteOffset, byteLength), maker);
}
