import { HeddleError } from '@heddle/memory';
import type { WorkerAddress } from './address.js';
import type { ContextMemory, Lane } from './context-memory.js';
import { endAsSender, takeBackLeftOver } from './lane-ends.js';
import type { LeftOver } from './lane-left-over.js';
import { PHASE, phaseOf, type WorkerPlace } from './lane-life.js';
import { LaneWriter } from './lane-writer.js';
import { MessageWriter } from './message-writer.js';
import { SendQueue } from './send-queue.js';
import { THREAD_MODES } from './thread-mode.js';
import { closedError, WORKER_GONE, waitsForItself } from './transport-errors.js';

/**
 * The lane from a worker, as this thread uses it, to another worker: shared by all its endpoints that lead there.
 *
 * **Death** of the receiver: its lane is closed, so sending fails, and what nobody read came back to the pool; this side
 * counts it, and frees the lane, as soon as it looks: from `progress`, or when it connects there again.
 */
export class OutboundLane {
  readonly lane: Lane;
  readonly writer: LaneWriter;
  readonly messages: MessageWriter;
  readonly queue: SendQueue;
  readonly to: WorkerPlace;
  /** Endpoints that use it. */
  users = 0;
  /** What the receiver left, when this side has left too because of that. */
  leftOver: LeftOver | undefined;
  readonly #memory: ContextMemory;
  #left = false;
  /** How much was handled when this side left. */
  #handled = 0;

  private constructor(memory: ContextMemory, lane: Lane, to: WorkerPlace) {
    this.#memory = memory;
    this.lane = lane;
    this.to = to;
    const bell = memory.row(to.row).doorbell.ofLane(lane.index);
    this.writer = new LaneWriter(lane.words, lane.bytes, bell, memory.platform);
    this.messages = new MessageWriter(memory, this.writer);
    this.queue = new SendQueue(lane.words, memory.platform);
  }

  /**
   * Makes a lane to a worker.
   *
   * @throws HeddleError `ERR_HEDDLE_CLOSED` where the worker is gone, `ERR_HEDDLE_EXHAUSTED` where all lanes are in use.
   */
  static open(memory: ContextMemory, address: WorkerAddress, from: WorkerPlace): OutboundLane {
    const to = { row: address.row, generation: address.generation };
    const row = memory.row(to.row);
    const what = `The worker in row ${to.row} of generation ${to.generation}`;
    if (memory.closed) throw closedError('The context');
    if (!row.isOpen(to.generation)) throw closedError(what, { ...to }, WORKER_GONE);
    const lane = claimLane(memory);
    lane.life.open(to, from);
    const outbound = new OutboundLane(memory, lane, to);
    // Whoever shuts the row looks for open lanes afterwards: it saw this one, or is seen here.
    if (memory.closed || !row.isOpen(to.generation)) {
      outbound.#abandon();
      throw closedError(what, { ...to }, WORKER_GONE);
    }
    row.callAttention();
    return outbound;
  }

  /** Whether this side has left. */
  get left(): boolean {
    return this.#left;
  }

  /** Whether so much of what is written is handled, as far as this side knows. 1 load, 0 after it has left. */
  hasHandled(written: number): boolean {
    return (this.#left ? this.#handled : this.writer.handled) >= written;
  }

  /** Leaves, where the receiver has. Returns whether this side has left. 1 load, 0 afterwards. */
  sweep(): boolean {
    if (this.#left) return true;
    if (phaseOf(this.lane.life.state) !== PHASE.receiverGone) return false;
    this.leftOver = this.#end();
    this.wakeWaiting();
    return true;
  }

  /** Leaves: what was sent is still read. */
  leave(): void {
    if (this.#left) return;
    this.writer.uncork();
    this.leftOver = this.#end();
    this.wakeWaiting();
  }

  /** Makes what waits in this thread look whether it still can be done: sends and flushes, and who wants a slot. */
  wakeWaiting(): void {
    this.queue.wake();
    this.#memory.slots.wake();
  }

  /** Takes back a lane to a worker that shut its row, perhaps before it saw the lane. */
  #abandon(): void {
    const { life } = this.lane;
    if (life.abandon(this.#memory.token)) {
      this.#left = true;
      life.free();
    } else {
      this.leave();
    }
  }

  /**
   * For who is about to block until the receiver moves, without a limit of time.
   *
   * @throws HeddleError `ERR_HEDDLE_MUST_NOT_BLOCK` where only this thread could make it move: it alone may receive
   *   there, or it is inside.
   */
  assertOthersReceive(): void {
    const row = this.#memory.row(this.to.row);
    const isMe = (token: number) => token === this.#memory.token;
    const mode = THREAD_MODES[row.threadMode]!;
    const alone =
      mode === 'single'
        ? isMe(row.owner)
        : (mode === 'multi' ? this.lane.entry : this.#memory.rowEntry(this.to)).isOccupied(isMe);
    if (alone && row.isOpen(this.to.generation)) throw waitsForItself(this.to, mode);
  }

  /** @throws HeddleError `ERR_HEDDLE_CLOSED`. */
  throwClosed(): never {
    const what = `The way to the worker in row ${this.to.row}`;
    throw closedError(what, { ...this.to, ...(this.leftOver ?? {}) }, WORKER_GONE);
  }

  #end(): LeftOver | undefined {
    // The lane may be somebody else's afterwards.
    this.#handled = this.writer.handled;
    this.#left = true;
    this.writer.leave();
    const { published, position } = this.writer;
    // Whoever closes the lane does not see what was held back; what was not, its receiver may still read.
    if (position !== published) takeBackLeftOver(this.#memory, this.lane, position, published);
    return endAsSender(this.#memory, this.lane, this.lane.life.state, position);
  }
}

/** @throws HeddleError `ERR_HEDDLE_EXHAUSTED`. */
function claimLane(memory: ContextMemory): Lane {
  const { shape, token } = memory;
  const { maxLanes } = shape;
  // The first that is free: so that lanes are used again, and those never used take no memory.
  for (let index = 0; index < maxLanes; index++) {
    memory.countUsed(index);
    const lane = memory.lane(index);
    if (lane.life.claim(token)) return lane;
  }
  throw new HeddleError(
    'ERR_HEDDLE_EXHAUSTED',
    `All ${maxLanes} lanes of the context are in use: close endpoints, or create the context with a larger maxLanes`,
    { maxLanes },
  );
}
