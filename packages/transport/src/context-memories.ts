import { registerKind, type Segment, type StructureInfo } from '@heddle/memory';
import { Mpool } from '@heddle/mpool';
import { ContextMemory } from './context-memory.js';
import { recoverContext } from './recovery.js';
import { contextLayout, readShape } from './transport.layout.js';

/** Name of the pool with slots of a size that belongs to a context. */
export function poolNameOf(contextName: string, size: number): string {
  return `${contextName}.pool.${size}`;
}

/** One for each context that this thread uses, or recovers. */
const memories = new WeakMap<Segment, Map<string, ContextMemory>>();

/** The memory of a context in this thread. */
export function contextMemoryOf(segment: Segment, info: StructureInfo): ContextMemory {
  let byName = memories.get(segment);
  if (!byName) {
    byName = new Map();
    memories.set(segment, byName);
  }
  let memory = byName.get(info.name);
  if (!memory) {
    const words = segment.wordsAt(info.byteOffset, info.byteLength);
    memory = new ContextMemory({
      segment,
      words,
      memory: new Uint8Array(segment.buffer),
      memoryWords: new Int32Array(segment.buffer),
      byteOffset: info.byteOffset,
      shape: readShape(words),
      openPool: (size) => Mpool.open(segment, poolNameOf(info.name, size)),
      wakePool: (size) => Mpool.wake(segment, poolNameOf(info.name, size)),
    });
    byName.set(info.name, memory);
  }
  return memory;
}

/** This thread's use of a context has ended. */
export function forgetContextMemory(segment: Segment, name: string): void {
  memories.get(segment)?.delete(name);
}

registerKind({
  layout: contextLayout,
  module: import.meta.url,
  recover({ segment, info, dead }) {
    const memory = contextMemoryOf(segment, info);
    // First, so that those who are woken find the slots that came back.
    for (const size of memory.shape.slotBytes.keys()) {
      Mpool.recover(segment, poolNameOf(info.name, size), dead);
    }
    recoverContext(memory, dead.token);
  },
});
