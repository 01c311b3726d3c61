import type { ContextMemory } from './context-memory.js';
import { Doorbell } from './doorbell.js';
import { InboundLane } from './inbound-lane.js';
import { endLaneTo } from './lane-ends.js';
import { PHASE, phaseOf, type WorkerPlace } from './lane-life.js';
import { LookedAt } from './looked-at.js';
import * as messages from './message.js';
import { MessageCursor } from './message.js';
import type { WorkerRow } from './worker-row.js';

const { COOL_AFTER } = LookedAt;
const { INLINE, LOST } = messages;

/**
 * Messages of one lane that are handled before the next lane has its turn. As many small ones as a lane holds, unless it
 * was made larger: a sender that sleeps until there is room is woken once for all of them.
 */
const LANE_SHARE = 256;

/** What a receive queue counts. */
export interface ReceiveCounts {
  /** Messages given to a handler, or refused for want of one. */
  handled: number;
  /** Messages whose slot came back to the pool before they were read, because their sender ended. */
  lost: number;
  /** Messages that a thread of this worker had begun to handle when it died. */
  skipped: number;
}

/**
 * All lanes that lead to one worker, as one thread sees them.
 *
 * **Fairness**: lanes have their turn one after the other, {@link LANE_SHARE} messages each, and of each only what was
 * there when its turn came: a sender that floods its own lane delays the others by that much.
 *
 * **Many lanes**: {@link LookedAt} says which are looked at, so that idle ones cost nothing.
 *
 * **Thread mode multi**: a thread enters a lane, reads a batch, and leaves; nobody else is at it meanwhile. So the order
 * of an endpoint holds for the starts of handlers. Who wants to sleep takes a lane that another thread is at for empty:
 * **Ordering** M1: it has announced its sleep before it looks who is at the lane ↔ who leaves a lane looks once more
 * for messages afterwards, and rings.
 *
 * **At most once**: that handling of a message begins is noted before anything else.
 *
 * **Cost** of `poll`, in Atomics calls: none where nothing is new; 1 load and 1 exchange for each lane that has something,
 * however many messages; for each message in a slot 1 load and 2 CAS, and what the pool takes for a put, 0 mostly. In
 * thread mode multi 2 CAS and 3 loads more a lane. 1 load more while lanes are cold. No object is made.
 */
export class ReceiveQueue {
  readonly counts: ReceiveCounts = { handled: 0, lost: 0, skipped: 0 };
  readonly #cursor: MessageCursor;
  readonly #memory: ContextMemory;
  readonly #row: WorkerRow;
  readonly #place: WorkerPlace;
  readonly #shared: boolean;
  readonly #lanes: LookedAt;
  #attention: number;
  #turn = 0;

  /**
   * @param shared thread mode multi: other threads read the same lanes.
   * @param hotLanes for the models: see {@link LookedAt}.
   */
  constructor(memory: ContextMemory, place: WorkerPlace, shared = false, hotLanes?: number) {
    this.#memory = memory;
    this.#shared = shared;
    this.#row = memory.row(place.row);
    this.#place = place;
    this.#lanes = new LookedAt(shared ? Infinity : hotLanes);
    this.#cursor = new MessageCursor(memory);
    // Different from what it is: the first poll looks at all lanes.
    this.#attention = ~this.#row.attention;
  }

  /** Whether lanes came or ended since the last look. 1 load. */
  get needsAttention(): boolean {
    return this.#row.attention !== this.#attention;
  }

  /** The same by a plain read: a hint, a late answer costs time. */
  get mayNeedAttention(): boolean {
    return this.#row.attentionHint !== this.#attention;
  }

  /** Looks at all lanes: which lead here, and which end. Slow: 1 load for each that was ever in use, 4 for those here. */
  attend(): void {
    this.#attention = this.#row.attention;
    const going = this.#lanes.all.filter(({ ended }) => !ended);
    const known = new Map(going.map((inbound) => [inbound.lane.index, inbound]));
    const lanes: InboundLane[] = [];
    const { lanesUsed } = this.#memory;
    for (let index = 0; index < lanesUsed; index++) {
      const { life } = this.#memory.lane(index);
      const phase = phaseOf(life.state);
      if ((phase !== PHASE.open && phase !== PHASE.senderGone) || !life.leadsTo(this.#place)) continue;
      const inbound =
        known.get(index) ?? new InboundLane(this.#memory, this.#memory.lane(index), this.#shared);
      inbound.refresh();
      this.#countSkipped(inbound);
      lanes.push(inbound);
    }
    this.#lanes.reset(lanes);
  }

  /** Another thread was here since: goes on where that stopped. */
  resume(): void {
    this.attend();
    for (const inbound of this.#lanes.all) {
      inbound.resume();
      this.#countSkipped(inbound);
    }
  }

  #countSkipped(inbound: InboundLane): void {
    this.counts.skipped += inbound.skipped;
    inbound.skipped = 0;
  }

  /**
   * Gives what is there to `handle`, up to `budget` messages. Returns how many.
   *
   * What `handle` throws comes through; the message that it was given counts as handled.
   */
  poll(handle: (message: MessageCursor) => void, budget: number): number {
    const { hot } = this.#lanes;
    if (this.#lanes.hasCold) this.#warmReady();
    const count = hot.length;
    let handled = 0;
    let ended = false;
    let idle = false;
    for (let i = 0; i < count && handled < budget; i++) {
      if (++this.#turn >= count) this.#turn = 0;
      const inbound = hot[this.#turn]!;
      if (this.#mayHaveNews(inbound)) {
        inbound.vainLooks = 0;
        handled += this.#drain(inbound, handle, Math.min(LANE_SHARE, budget - handled));
        if (inbound.ended) ended = true;
      } else if (++inbound.vainLooks >= COOL_AFTER) {
        idle = true;
      }
    }
    if (ended) this.#dropEnded();
    else if (idle && count > this.#lanes.hotLanes) this.#lanes.cool();
    return handled;
  }

  #mayHaveNews({ reader, ending }: InboundLane): boolean {
    return ending || (this.#shared ? reader.mayHaveUnread : reader.mayHaveNews);
  }

  /** The engine compiles it in one piece with what it calls for each message, as far as that is short: the rare is apart. */
  #drain(inbound: InboundLane, handle: (message: MessageCursor) => void, most: number): number {
    // A handler that threw kept it from being dropped.
    if (inbound.ended || (this.#shared && !inbound.enter(this.#place))) return 0;
    const { reader } = inbound;
    const cursor = this.#cursor;
    let handled = 0;
    try {
      if (!reader.hasKnown && !reader.look()) return 0;
      while (handled < most && reader.hasKnown) {
        const found = cursor.moveTo(inbound.lane, inbound.space, reader.begin());
        if (found !== INLINE && this.#isLost(inbound, found)) continue;
        handled++;
        handle(cursor);
        cursor.finish();
      }
    } finally {
      this.counts.handled += handled;
      this.#leave(inbound, cursor);
    }
    return handled;
  }

  /** After a message that has a slot: whether that came back to the pool before it could be adopted. */
  #isLost({ reader }: InboundLane, found: number): boolean {
    reader.noteAdopted();
    if (found !== LOST) return false;
    this.counts.lost++;
    return true;
  }

  /** The message that the cursor is at is done: gives back what was read, and looks after the lane. */
  #leave(inbound: InboundLane, cursor: MessageCursor): void {
    cursor.finish();
    inbound.reader.release();
    if (this.#shared || inbound.ending || inbound.skipped > 0 || cursor.anyAsked) {
      this.#lookAfter(inbound, cursor);
    }
  }

  /** Leaves a lane whose sender has gone and of which everything is read; lets other threads at another one. */
  #lookAfter(inbound: InboundLane, cursor: MessageCursor): void {
    const { reader } = inbound;
    if (cursor.takeAsked()) this.#memory.tellDone(inbound.lane.life.source.row);
    if (inbound.ending && !reader.look()) inbound.leaveBehindSender(this.#place);
    else if (this.#shared) this.#stepOut(inbound);
    this.#countSkipped(inbound);
  }

  /** Lets other threads at the lane. Those who found this thread there rely on it for what came since. */
  #stepOut(inbound: InboundLane): void {
    inbound.lane.entry.stepOut();
    if (!this.#row.isOpen(this.#place.generation)) {
      endLaneTo(this.#memory, inbound.lane, this.#place);
      inbound.ended = true;
    } else if (inbound.reader.look()) {
      this.#row.doorbell.ring();
    }
  }

  /**
   * Moves a cursor to the next message, in turn. Returns its lane, undefined where there is none. For reading one by
   * one: then {@link finish}.
   */
  next(cursor: MessageCursor): InboundLane | undefined {
    // Each round but the last takes a message off that was lost.
    for (;;) {
      const inbound = this.#nextLane(cursor);
      if (!inbound) return undefined;
      const found = cursor.moveTo(inbound.lane, inbound.space, inbound.reader.begin());
      if (found === INLINE || !this.#isLost(inbound, found)) {
        this.counts.handled++;
        return inbound;
      }
      this.finish(inbound, cursor);
    }
  }

  #nextLane(cursor: MessageCursor): InboundLane | undefined {
    const { hot } = this.#lanes;
    if (this.#lanes.hasCold) this.#warmReady();
    let found: InboundLane | undefined;
    let ended = false;
    for (let i = 0; i < hot.length && !found; i++) {
      if (++this.#turn >= hot.length) this.#turn = 0;
      const inbound = hot[this.#turn]!;
      if (!this.#mayHaveNews(inbound)) continue;
      if (!inbound.ended && (!this.#shared || inbound.enter(this.#place))) {
        if (inbound.reader.look()) found = inbound;
        else this.#leave(inbound, cursor);
      }
      if (inbound.ended) ended = true;
    }
    if (ended) this.#dropEnded();
    return found;
  }

  /** The message that the cursor is at is done. */
  finish(inbound: InboundLane, cursor: MessageCursor): void {
    this.#leave(inbound, cursor);
    if (inbound.ended) this.#dropEnded();
  }

  /**
   * Whether there is a message that nobody is at, or a lane to look after. 1 load where there is; in thread mode multi 1
   * load for each lane that seems to have something.
   */
  get hasNews(): boolean {
    if (this.#lanes.hasCold && this.#row.doorbell.ready !== 0) return true;
    for (const inbound of this.#lanes.hot) {
      if (!this.#mayHaveNews(inbound)) continue;
      const { reader, ending, lane } = inbound;
      if (this.#shared ? !lane.entry.isOccupied(this.#memory.isAlive) : ending || reader.look()) return true;
    }
    return false;
  }

  /**
   * Announces a sleep, and asks every sender that was not asked yet to ring for its next message. Returns false where
   * there is something already, or a signal: the announcement is taken back then.
   *
   * 1 exchange, and 1 load and 1 CAS for each lane that was looked at lately; 1 load more in thread mode multi, where a lane
   * that another thread is at counts as empty.
   */
  arm(): boolean {
    const { doorbell } = this.#row;
    const seen = doorbell.fallAsleep();
    if (seen !== 0) this.#lanes.warm(seen);
    if ((seen & Doorbell.SIGNALLED) === 0 && this.#armLanes()) return true;
    doorbell.ring();
    return false;
  }

  #armLanes(): boolean {
    if (!this.#shared) return this.#lanes.arm();
    for (const { reader, ending, lane } of this.#lanes.hot) {
      const armed = !ending && reader.arm(reader.handled);
      if (!armed && !lane.entry.isOccupied(this.#memory.isAlive)) return false;
    }
    return true;
  }

  #warmReady(): void {
    const { doorbell } = this.#row;
    if (doorbell.ready !== 0) this.#lanes.warm(doorbell.takeReady());
  }

  #dropEnded(): void {
    this.#lanes.reset(this.#lanes.all.filter((inbound) => !inbound.ended));
    this.#turn = 0;
  }
}
