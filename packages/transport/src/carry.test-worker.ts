import type { Context } from './context.js';
import { contextMemoryOf } from './context-memories.js';
import { laneLayout, UNIT, UNIT_BYTES } from './lane.layout.js';
import { contextLayout } from './transport.layout.js';

const { tail, head, begun, adopted } = laneLayout.offsets;

/**
 * Makes each lane that this thread opens begin where one is that has carried so many bytes already, a multiple of 8.
 * Once for a context in a thread.
 *
 * @param carried a number, or what gives it at each opening.
 */
export function carry(context: Context, carried: number | (() => number)): void {
  const { segment, name } = context;
  const memory = contextMemoryOf(segment, segment.openStructure(name, contextLayout));
  for (let index = 0; index < memory.shape.maxLanes; index++) {
    const { life, words } = memory.lane(index);
    const claim = life.claim.bind(life);
    life.claim = (token) => {
      if (!claim(token)) return false;
      const units = (typeof carried === 'number' ? carried : carried()) / UNIT_BYTES;
      // What is behind 2^32 is cut off by the words.
      for (const at of [tail, head, begun, adopted]) words[at] = (units * UNIT) % 2 ** 32;
      return true;
    };
  }
}
