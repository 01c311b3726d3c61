import type { ContextMemory } from './context-memory.js';
import { clean, endAsSender, endLanesTo, endOrphans } from './lane-ends.js';
import { PHASE, phaseOf, tokenOf } from './lane-life.js';
import { THREAD_MODES } from './thread-mode.js';

/**
 * Leaves in the name of a dead thread: its workers shut, so that nobody connects any more; lanes to them end; then
 * its own lanes. Everyone is woken, since it may have died between a record and the doorbell.
 *
 * Each step can be repeated; a row is freed last, so that whoever starts again finds the lanes that are left.
 *
 * **Cost**: some Atomics calls for each row, and for each lane that was ever in use; as many more for each worker of the
 * dead thread.
 */
export function recoverContext(memory: ContextMemory, deadToken: number): void {
  const { maxWorkers } = memory.shape;
  memory.lock.recover(deadToken);
  for (let index = 0; index < maxWorkers; index++) {
    const row = memory.row(index);
    const { generation } = row;
    const entry = memory.rowEntry({ row: index, generation });
    entry.recover(deadToken);
    if (row.owner !== deadToken) continue;
    // Who is named by it and has left meanwhile finds the owner dead, and ends the worker: H1.
    const heir = THREAD_MODES[row.threadMode] === 'serialized' ? entry.heirOf(deadToken, memory.isAlive) : 0;
    if (heir > 0) row.passOn(deadToken, heir);
    if (heir !== 0) continue;
    row.shut(generation);
    endLanesTo(memory, { row: index, generation });
    // A sender may not have been told that a lane ended before this run.
    tellSourcesOf(memory, index);
    row.free(deadToken);
  }
  const { lanesUsed } = memory;
  for (let index = 0; index < lanesUsed; index++) {
    const lane = memory.lane(index);
    lane.entry.recover(deadToken);
    const word = lane.life.state;
    if (tokenOf(word) !== deadToken) continue;
    const phase = phaseOf(word);
    if (phase === PHASE.claimed) lane.life.dropClaim(word);
    else if (phase === PHASE.cleaning) {
      if (lane.life.takeOverCleaning(word, memory.token)) clean(memory, lane);
    } else endAsSender(memory, lane, word);
  }
  endOrphans(memory);
  for (let index = 0; index < maxWorkers; index++) memory.row(index).wakeAfterDeath();
}

function tellSourcesOf(memory: ContextMemory, row: number): void {
  const { lanesUsed } = memory;
  for (let index = 0; index < lanesUsed; index++) {
    const { life } = memory.lane(index);
    if (phaseOf(life.state) !== PHASE.receiverGone || life.receiver.row !== row) continue;
    memory.row(life.source.row).callAttention();
  }
}
