import type { ContextMemory, Lane } from './context-memory.js';
import { type LeftOver, leftOver } from './lane-left-over.js';
import { PHASE, phaseOf, type WorkerPlace } from './lane-life.js';

/** The receiver leaves: the sender is woken, and told. What nobody read comes back to the pool. */
function endAsReceiver(memory: ContextMemory, lane: Lane, place: WorkerPlace): void {
  const { source } = lane.life;
  if (lane.life.leaveAsReceiver(place, memory.token, () => takeBackLeftOver(memory, lane)))
    clean(memory, lane);
  else {
    memory.row(source.row).callAttention();
    // The sender may wait for a slot, of any size.
    memory.slots.wake();
  }
}

/**
 * The sender leaves: the receiver reads what is left. Where that has gone, what nobody read is taken back.
 *
 * @param word the state in which its use of the lane was seen.
 * @param upTo position behind what was written last, published or not.
 */
export function endAsSender(
  memory: ContextMemory,
  lane: Lane,
  word: number,
  upTo?: number,
): LeftOver | undefined {
  const { receiver } = lane.life;
  if (lane.life.leaveAsSender(memory.token, word)) return clean(memory, lane, upTo);
  memory.row(receiver.row).callAttention();
  return undefined;
}

/** Takes back what is left in a lane that this thread cleans, and frees it. */
export function clean(memory: ContextMemory, lane: Lane, upTo?: number): LeftOver {
  const left = takeBackLeftOver(memory, lane, upTo);
  lane.life.free();
  return left;
}

/** Of several threads that do this at once, each slot comes back by one. */
export function takeBackLeftOver(memory: ContextMemory, lane: Lane, upTo?: number, from?: number): LeftOver {
  const left = leftOver(
    lane.words,
    memory.shape.laneBytes,
    (size, descriptor) => memory.takeBack(size, descriptor),
    memory.platform,
    upTo,
    from,
  );
  memory.flushPools();
  return left;
}

/** Ends every lane that leads to a worker which has shut its row, but for those that a living thread is at. */
export function endLanesTo(memory: ContextMemory, place: WorkerPlace): void {
  const { lanesUsed } = memory;
  for (let index = 0; index < lanesUsed; index++) endLaneTo(memory, memory.lane(index), place);
}

/**
 * Ends a lane, if it leads to this worker, which has shut its row. A living thread that is at it, or ends it already, is
 * left to end it.
 */
export function endLaneTo(memory: ContextMemory, lane: Lane, place: WorkerPlace): void {
  if (!leadsTo(lane, place) || !lane.entry.takeToClose(memory.isAlive)) return;
  // Between the look and the entry the lane may have come to lead elsewhere.
  if (leadsTo(lane, place)) {
    endAsReceiver(memory, lane, place);
    return;
  }
  lane.entry.reopen();
  // To one that was closed meanwhile, and whose closer found this thread at the lane.
  endOrphan(memory, lane);
}

/**
 * Ends every lane whose receiver has shut its row and that nobody living is ending: its sender may have opened it after
 * the last look of the receiver, and died; or whoever ended it died.
 */
export function endOrphans(memory: ContextMemory): void {
  const { lanesUsed } = memory;
  for (let index = 0; index < lanesUsed; index++) {
    const lane = memory.lane(index);
    endOrphan(memory, lane);
    // It may have closed what it found used again, and died before it found that.
    lane.entry.reopenAfterDeath(memory.isAlive);
  }
}

/** The same for one lane. For who was at it by mistake: whoever shut that row may have left the lane to this thread. */
export function endOrphan(memory: ContextMemory, lane: Lane): void {
  if (!hasReceiver(lane)) return;
  const { receiver } = lane.life;
  if (!memory.row(receiver.row).isOpen(receiver.generation)) endLaneTo(memory, lane, receiver);
}

function leadsTo(lane: Lane, place: WorkerPlace): boolean {
  return hasReceiver(lane) && lane.life.leadsTo(place);
}

function hasReceiver({ life }: Lane): boolean {
  const phase = phaseOf(life.state);
  return phase === PHASE.open || phase === PHASE.closing || phase === PHASE.senderGone;
}
