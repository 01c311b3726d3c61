import type { ContextMemory, Lane } from './context-memory.js';
import { REFUSED, SAME } from './entry.js';
import { laneLayout } from './lane.layout.js';
import { endOrphan } from './lane-ends.js';
import { PHASE, phaseOf, type WorkerPlace } from './lane-life.js';
import { LaneReader } from './lane-reader.js';
import { record } from './record.js';

const { KIND, kindOf, SLOT_RECORD } = record;

const { adopted } = laneLayout.offsets;

/** A lane that leads to a worker of this thread. */
export class InboundLane {
  readonly lane: Lane;
  readonly reader: LaneReader;
  readonly space: Int32Array<SharedArrayBuffer>;
  /** The sender has gone: when what is left is read, this end leaves too. */
  ending = false;
  /** This end has left. */
  ended = false;
  /** Messages that a thread of this worker had begun to handle when it died. */
  skipped = 0;
  /** How often this end looked and found nothing, since there was something. */
  vainLooks = 0;
  readonly #memory: ContextMemory;
  /** State of the lane when this thread entered it last: its use. */
  #use = 0;
  /** The sender of a skipped message asked to be woken. */
  #askedSkipped = false;

  /** @param shared thread mode multi: other threads may be at the lane now. */
  constructor(memory: ContextMemory, lane: Lane, shared: boolean) {
    this.#memory = memory;
    this.lane = lane;
    this.space = lane.words.subarray(laneLayout.wordCount);
    const { shape, platform } = memory;
    this.reader = new LaneReader(lane.words, shape.laneBytes, platform, (at, next) => this.#skip(at, next));
    if (!shared) this.resume();
  }

  /** Goes on behind what another thread read. */
  resume(): void {
    this.reader.resume();
    if (!this.#askedSkipped) return;
    this.#askedSkipped = false;
    this.#memory.tellDone(this.lane.life.source.row);
  }

  /**
   * Thread mode multi: enters the lane, where no other thread is at it, and goes on behind what others read.
   *
   * Cost, in Atomics calls: 1 CAS and 1 load; where another thread was there since 2 CAS and 4 loads.
   *
   * @param place the worker: a lane may lead to another one by now.
   * @returns false where it cannot be entered. `ended` says whether that is for good.
   */
  enter(place: WorkerPlace): boolean {
    const { entry, life } = this.lane;
    const answer = entry.tryEnter();
    if (answer === REFUSED) return false;
    const { state } = life;
    // This thread may have been here last for another worker of its own.
    if (answer === SAME && state === this.#use) return true;
    const phase = phaseOf(state);
    if ((phase === PHASE.open || phase === PHASE.senderGone) && life.leadsTo(place)) {
      this.#use = state;
      this.ending = phase === PHASE.senderGone;
      this.resume();
      return true;
    }
    entry.stepOut();
    // Whoever closed the worker to which it leads now found this thread at it.
    endOrphan(this.#memory, this.lane);
    this.ended = true;
    return false;
  }

  /** Looks whether the sender is still there. */
  refresh(): void {
    this.ending = phaseOf(this.lane.life.state) === PHASE.senderGone;
  }

  /** Counts a message that a thread died in, and takes its slot back where that thread had not adopted it. */
  #skip(at: number, next: number): void {
    this.skipped++;
    const { space } = this;
    if (kindOf(space[at]!) === KIND.asked) this.#askedSkipped = true;
    if (kindOf(space[at]!) === KIND.inline || ((this.lane.words[adopted]! - next) | 0) >= 0) return;
    this.#memory.takeBack(space[at + SLOT_RECORD.size]!, space[at + SLOT_RECORD.descriptor]!);
  }

  /** Leaves a lane whose sender has gone and of which everything is read. */
  leaveBehindSender(place: WorkerPlace): void {
    this.ended = true;
    if (this.lane.life.leaveAsReceiver(place, this.#memory.token)) this.lane.life.free();
  }
}
