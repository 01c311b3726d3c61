import type { Audit } from '@heddle/mpool';
import type { ContextMemory } from './context-memory.js';
import { isStale } from './transport-errors.js';

/** Bytes at the end of each slot: which descriptor is kept, and since when. */
export const KEPT_NOTE_BYTES = 8;

/** A message that some thread keeps. */
export interface KeptMessage {
  readonly descriptor: number;
  /** Of its slot, 0 for the smallest. */
  readonly size: number;
  /** Id of the thread whose lease it is; of the one that handed it over, where nobody has taken it yet. */
  readonly threadId: number;
  /** Whether it was handed over, and nobody has taken it yet. */
  readonly handedOver: boolean;
  /** Milliseconds since `keep`, by the clock of all threads; wraps after 24 days. */
  readonly ageMs: number;
}

/** Notes that a slot is kept from now on. Plain: its holder writes, reports read it as a hint. */
export function noteKept(memory: ContextMemory, size: number, descriptor: number): void {
  const at = noteAt(memory, size, descriptor);
  memory.memoryWords[at] = descriptor;
  memory.memoryWords[at + 1] = nowOf(memory);
}

/** Those of the slots of a size that are kept; the others that are out are on their way, or loans. */
export function keptOf(memory: ContextMemory, size: number, { holders }: Audit): KeptMessage[] {
  const { memoryWords } = memory;
  const kept: KeptMessage[] = [];
  for (const { descriptor, threadId, state } of holders) {
    try {
      const at = noteAt(memory, size, descriptor);
      if (memoryWords[at] !== descriptor) continue;
      const ageMs = Math.max((nowOf(memory) - memoryWords[at + 1]!) | 0, 0);
      kept.push({ descriptor, size, threadId, handedOver: state !== 'held', ageMs });
    } catch (error) {
      // Released meanwhile.
      if (!isStale(error)) throw error;
    }
  }
  return kept;
}

function noteAt({ slots }: ContextMemory, size: number, descriptor: number): number {
  const pool = slots.of(size);
  return (pool.offset(descriptor) + pool.elemSize - KEPT_NOTE_BYTES) / Int32Array.BYTES_PER_ELEMENT;
}

function nowOf({ platform }: ContextMemory): number {
  return Math.trunc(platform.now()) | 0;
}
