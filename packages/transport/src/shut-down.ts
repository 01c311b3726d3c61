import type { ContextMemory } from './context-memory.js';
import { PHASE, phaseOf } from './lane-life.js';

/**
 * Ends all traffic of a context. The one commit is `closed`; then nothing is published any more, then everyone is woken.
 *
 * **Ordering**: S1: lanes are closed before receivers are told ↔ a receiver that was told reads what is there to its
 * end, and knows that nothing comes after it.
 */
export function shutDown(memory: ContextMemory): void {
  const { maxWorkers } = memory.shape;
  memory.markClosed();
  const { lanesUsed } = memory;
  for (let index = 0; index < lanesUsed; index++) {
    const { life } = memory.lane(index);
    // A lane that somebody claims at this moment is found closed by its claimant.
    if (phaseOf(life.state) !== PHASE.free) life.close();
  }
  memory.slots.wake();
  for (let row = 0; row < maxWorkers; row++) memory.row(row).callAttention();
}
