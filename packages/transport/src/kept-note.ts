import type { ContextMemory } from './context-memory.js';

/** Bytes at the end of each slot: which descriptor is kept, and since when. */
export const KEPT_NOTE_BYTES = 8;

/** A message that some thread keeps. */
export interface KeptMessage {
  readonly descriptor: number;
  /** Id of the thread whose lease it is; of the one that handed it over, where nobody has taken it yet. */
  readonly threadId: number;
  /** Whether it was handed over, and nobody has taken it yet. */
  readonly handedOver: boolean;
  /** Milliseconds since `keep`, by the clock of all threads; wraps after 24 days. */
  readonly ageMs: number;
}

/** Notes that a slot is kept from now on. Plain: its holder writes, reports read it as a hint. */
export function noteKept(memory: ContextMemory, descriptor: number): void {
  const at = noteAt(memory, descriptor);
  memory.segmentWords[at] = descriptor;
  memory.segmentWords[at + 1] = nowOf(memory);
}

/** How long a slot is kept, undefined where it is out for another reason. */
export function keptForMs(memory: ContextMemory, descriptor: number): number | undefined {
  const at = noteAt(memory, descriptor);
  if (memory.segmentWords[at] !== descriptor) return undefined;
  return Math.max((nowOf(memory) - memory.segmentWords[at + 1]!) | 0, 0);
}

function noteAt({ pool }: ContextMemory, descriptor: number): number {
  return (pool.offset(descriptor) + pool.elemSize - KEPT_NOTE_BYTES) / Int32Array.BYTES_PER_ELEMENT;
}

function nowOf({ platform }: ContextMemory): number {
  return Math.trunc(platform.now()) | 0;
}
