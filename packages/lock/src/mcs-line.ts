import { HeddleError, idOf } from '@heddle/memory';
import type { Line } from './line.js';
import {
  idOfReference,
  mcsLockLayout,
  NODE_GIVEN_UP,
  NODE_STATE,
  NODE_THROUGH,
  NODE_WAITS,
  NODE_WATCHED,
  NODE_WORDS,
  nextTurn,
  nodeIndex,
  reference,
  statusOf,
  turnOfReference,
  turnOfStatus,
} from './mcs-lock.layout.js';
import type { StateWord } from './state-word.js';

const { tail } = mcsLockLayout.offsets;
const BEFORE = 1;

/**
 * A line of nodes, one for each thread, in which each looks at the one before it.
 *
 * **Layout**: `mcs-lock.layout.ts`. **States** of a node in its turn: WAITS, in line; WATCHED, the same, and the one
 * behind sleeps on it or is about to; GIVEN_UP, to be passed over by the one behind, which makes it THROUGH; THROUGH,
 * not in line. A reference to an older turn is to one that is through.
 *
 * **One commit**: a node joins by one CAS of `tail`, after it has written whom it stands behind. The links point
 * forward in line, and so are complete at that moment; those of the textbook are written after `tail` was exchanged,
 * and a thread that dies between the two takes everyone behind it along.
 *
 * **Ownership**: `before` by the thread of the node; its status by that thread, and to WATCHED and from GIVEN_UP to
 * THROUGH by the one behind it. A thread that comes again while its node is still given up takes its old place.
 *
 * **Ordering**: L1: status to THROUGH or GIVEN_UP, then notify where it was WATCHED ↔ the status to WATCHED, then the
 * wait on it.
 *
 * **Death**: recovery gives up the node of the dead thread. One that dies while it passes over another may leave two
 * that believe to be first.
 *
 * After: Mellor-Crummey and Scott (1991) for the queue; Craig (1993), Landin and Hagersten (1994) for the links; Java's
 * `AbstractQueuedSynchronizer` for nodes that are given up.
 */
export class McsLine implements Line {
  readonly #state: StateWord;
  readonly #node: number;
  readonly #id: number;
  inLine = false;
  expected = 0;
  #reference = 0;
  #before = 0;

  constructor(state: StateWord, token: number) {
    this.#state = state;
    this.#id = idOf(token);
    this.#node = nodeIndex(this.#id);
  }

  /** Threads that have a node in these words. */
  static capacityOf(words: Int32Array): number {
    return Math.floor((words.length - mcsLockLayout.wordCount) / NODE_WORDS);
  }

  /** @throws HeddleError `ERR_HEDDLE_THREADS_FULL` where the lock has no node for this thread. */
  join(): void {
    const { atomics, words } = this.#state;
    this.#assertNode();
    this.inLine = true;
    const status = this.#load(this.#node);
    if ((status & NODE_STATE) === NODE_GIVEN_UP) {
      const turn = turnOfStatus(status);
      this.#before = this.#load(this.#node + BEFORE);
      this.#reference = reference(turn, this.#id);
      if (this.#change(this.#node, status, statusOf(turn, NODE_WAITS))) return;
    }
    const turn = nextTurn(status);
    this.#reference = reference(turn, this.#id);
    atomics.store(words, this.#node, statusOf(turn, NODE_WAITS));
    for (;;) {
      this.#before = this.#load(tail);
      atomics.store(words, this.#node + BEFORE, this.#before);
      if (this.#change(tail, this.#before, this.#reference)) return;
    }
  }

  waitFor(sleeps: boolean): number {
    const { atomics, words } = this.#state;
    while (this.#before !== 0) {
      const index = nodeIndex(idOfReference(this.#before));
      const status = this.#load(index);
      const standing =
        turnOfStatus(status) === turnOfReference(this.#before) ? status & NODE_STATE : NODE_THROUGH;
      if (isInLine(standing)) {
        this.expected = sleeps ? status | NODE_WATCHED : status;
        if (status === this.expected || this.#change(index, status, this.expected)) return index;
        continue;
      }
      let further = 0;
      if (standing === NODE_GIVEN_UP) {
        further = this.#load(index + BEFORE);
        const through = statusOf(turnOfStatus(status), NODE_THROUGH);
        if (!this.#change(index, status, through)) continue;
      }
      atomics.store(words, this.#node + BEFORE, further);
      this.#before = further;
    }
    return 0;
  }

  leave(): void {
    this.inLine = false;
    this.#end(turnOfReference(this.#reference), this.#before === 0 ? NODE_THROUGH : NODE_GIVEN_UP);
  }

  /** Its node is in line only if it has the lock by it: a thread that blocks releases nothing. */
  leaveAsOwner(): void {
    this.inLine = false;
    if (this.#id > McsLine.capacityOf(this.#state.words)) return;
    const status = this.#load(this.#node);
    if (isInLine(status)) this.#end(turnOfStatus(status), NODE_THROUGH);
  }

  #end(turn: number, state: number): void {
    const { atomics, words } = this.#state;
    const before = atomics.exchange(words, this.#node, statusOf(turn, state));
    if ((before & NODE_STATE) === NODE_WATCHED) atomics.notify(words, this.#node);
  }

  /** Walks over the nodes that are given up at the end of the line. */
  isEmpty(): boolean {
    let node = this.#load(tail);
    while (node !== 0) {
      const status = this.#load(nodeIndex(idOfReference(node)));
      if (turnOfStatus(status) !== turnOfReference(node)) return true;
      if ((status & NODE_STATE) !== NODE_GIVEN_UP) return (status & NODE_STATE) === NODE_THROUGH;
      node = this.#load(nodeIndex(idOfReference(node)) + BEFORE);
    }
    return true;
  }

  recover(deadToken: number): void {
    const { atomics, words } = this.#state;
    const capacity = McsLine.capacityOf(words);
    for (let id = 1; id <= capacity; id++) {
      const index = nodeIndex(id);
      let status = id === idOf(deadToken) ? this.#load(index) : NODE_THROUGH;
      while (isInLine(status)) {
        // The one behind it may begin to watch it at this moment, once.
        this.#change(index, status, statusOf(turnOfStatus(status), NODE_GIVEN_UP));
        status = this.#load(index);
      }
      atomics.notify(words, index);
    }
  }

  #assertNode(): void {
    const capacity = McsLine.capacityOf(this.#state.words);
    if (this.#id <= capacity) return;
    throw new HeddleError(
      'ERR_HEDDLE_THREADS_FULL',
      `The lock has nodes for threads 1 to ${capacity}, this is thread ${this.#id}: create it with a larger maxThreads`,
      { id: this.#id, capacity },
    );
  }

  #load(index: number): number {
    return this.#state.atomics.load(this.#state.words, index);
  }

  #change(index: number, found: number, wanted: number): boolean {
    return this.#state.atomics.compareExchange(this.#state.words, index, found, wanted) === found;
  }
}

function isInLine(status: number): boolean {
  const state = status & NODE_STATE;
  return state === NODE_WAITS || state === NODE_WATCHED;
}
