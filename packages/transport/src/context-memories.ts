import { registerKind, type Segment, type StructureInfo } from '@heddle/memory';
import { Mpool } from '@heddle/mpool';
import { isMade, type PoolMaking, poolNameOf, takeBackAfterDeath } from './context-making.js';
import { ContextMemory } from './context-memory.js';
import type { ContextPlan } from './context-options.js';
import { recoverContext } from './recovery.js';
import { contextLayout, readShape } from './transport.layout.js';
import { isClosed } from './transport-errors.js';

/** One for each context that this thread uses, or recovers, by its slot in the directory: one that is made stays there. */
const memories = new WeakMap<Segment, Map<number, ContextMemory>>();

/** The memory of a context in this thread. */
export function contextMemoryOf(segment: Segment, info: StructureInfo): ContextMemory {
  let bySlot = memories.get(segment);
  if (!bySlot) {
    bySlot = new Map();
    memories.set(segment, bySlot);
  }
  let memory = bySlot.get(info.slot);
  if (!memory) {
    const words = segment.wordsAt(info.byteOffset, info.byteLength);
    memory = new ContextMemory({
      segment,
      slot: info.slot,
      words,
      memory: new Uint8Array(segment.buffer),
      memoryWords: new Int32Array(segment.buffer),
      byteOffset: info.byteOffset,
      shape: readShape(words),
      openPool: (size) => Mpool.open(segment, poolNameOf(info, size)),
      wakePool: (size) => Mpool.wake(segment, poolNameOf(info, size)),
    });
    bySlot.set(info.slot, memory);
  }
  return memory;
}

/** This thread's use of a context has ended. */
export function forgetContextMemory(segment: Segment, { slot }: StructureInfo): void {
  memories.get(segment)?.delete(slot);
}

/** The pools of a context that is being made. */
export function poolMakingOf(segment: Segment, plans: ContextPlan['pools']): PoolMaking {
  return {
    create: (name, size) => void Mpool.create(segment, { name, ...plans[size]! }),
    remove: (name) => removePool(segment, name),
  };
}

function removePool(segment: Segment, name: string): void {
  if (!segment.directory.find(name)) return;
  try {
    Mpool.open(segment, name).close({ force: true });
  } catch (error) {
    // Somebody who began with this died: what is left goes with the last of its users.
    if (!isClosed(error)) throw error;
  }
}

registerKind({
  layout: contextLayout,
  module: import.meta.url,
  recover({ segment, info, dead }) {
    takeBackAfterDeath(segment, info, dead.token, {
      ...poolMakingOf(segment, []),
      remove(name) {
        Mpool.recover(segment, name, dead);
        removePool(segment, name);
      },
    });
    // Of one that is not made nobody has anything.
    if (!isMade(segment, info)) return;
    const memory = contextMemoryOf(segment, info);
    // First, so that those who are woken find the slots that came back.
    for (const size of memory.shape.slotBytes.keys()) {
      Mpool.recover(segment, poolNameOf(info, size), dead);
    }
    recoverContext(memory, dead.token);
  },
});
