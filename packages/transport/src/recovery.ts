import type { ContextMemory } from './context-memory.js';
import type { Entry } from './entry.js';
import { clean, endAsSender, endLanesTo, endOrphans } from './lane-ends.js';
import { PHASE, phaseOf, tokenOf } from './lane-life.js';
import { THREAD_MODES } from './thread-mode.js';
import type { WorkerRow } from './worker-row.js';

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
    const serialized = THREAD_MODES[row.threadMode] === 'serialized';
    const owner = serialized ? passOn(row, entry, deadToken, memory.isAlive) : deadToken;
    if (owner === 0) continue;
    row.shut(generation);
    endLanesTo(memory, { row: index, generation });
    // A sender may not have been told that a lane ended before this run.
    tellSourcesOf(memory, index);
    row.free(owner);
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

/**
 * Makes the thread the owner of a serialized worker that goes on with it.
 *
 * **Ordering** H1: a thread becomes the owner, then it is looked whether it has left for good ↔ it leaves, then looks
 * whether it is the owner. Death of this thread between its two steps, while the heir is between its own: the worker stays
 * the heir's, who does not receive on it, until that thread ends.
 *
 * @returns 0 where one does; else the owner in whose name the worker ends: nobody enters it any more.
 */
function passOn(row: WorkerRow, entry: Entry, deadToken: number, isAlive: ContextMemory['isAlive']): number {
  let owner = deadToken;
  // Each round but the last saw another thread come, or the heir leave.
  for (;;) {
    const heir = entry.heirOf(deadToken, isAlive);
    if (heir === 0) return owner;
    if (heir === owner) return 0;
    row.passOn(owner, heir);
    owner = heir;
  }
}

function tellSourcesOf(memory: ContextMemory, row: number): void {
  const { lanesUsed } = memory;
  for (let index = 0; index < lanesUsed; index++) {
    const { life } = memory.lane(index);
    if (phaseOf(life.state) !== PHASE.receiverGone || life.receiver.row !== row) continue;
    memory.row(life.source.row).callAttention();
  }
}
